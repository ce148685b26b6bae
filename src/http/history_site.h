// The history of runs as pages: the list, a run (its report; while it goes on, its memory), several side by side.
#ifndef VRAMFIT_HTTP_HISTORY_SITE_H
#define VRAMFIT_HTTP_HISTORY_SITE_H

#include <string>
#include <vector>

#include "base/error.h"
#include "history/live_runs.h"
#include "http/page_guard.h"
#include "http/page_server.h"

namespace vramfit::http {

struct SiteOptions {
  std::string version;  // of vramfit
  GuardRules guard;
  std::string token;  // that a reader has to have; empty: none
};

// Opens the history anew for each page, so that several threads may ask, and what others write is seen.
class HistorySite {
 public:
  explicit HistorySite(SiteOptions options) : options_(std::move(options)) {}

  Page answer(const Request& request) const;

 private:
  Page page_or_error(const Request& request) const;
  base::Result<Page> index(std::string_view query) const;
  base::Result<Page> run(std::int64_t number) const;
  base::Result<Page> live(std::int64_t number, std::string_view query) const;
  base::Result<Page> going() const;
  base::Result<Page> compare(std::string_view query) const;
  base::Result<Page> find(const Request& request) const;

  SiteOptions options_;
  history::LiveRuns live_;
};

// The values of one name in "a=1&b=2&a=3", percent signs and plus signs read. What is malformed stays as it is.
std::vector<std::string> query_values(std::string_view query, std::string_view name);

}  // namespace vramfit::http

#endif
