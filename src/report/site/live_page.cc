#include "report/site/live_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/page/html.h"
#include "report/site/site_page.h"

namespace vramfit::report::site {

using page::escape;

namespace {

// What a page without scripts shows: the numbers of this moment.
std::string numbers(const std::vector<model::LiveCard>& cards) {
  if (cards.empty()) return "";
  std::vector<std::vector<std::string>> rows;
  for (const model::LiveCard& card : cards) {
    rows.push_back({fmt::format("card {}, {}", card.index, escape(card.name)), to_string(card.used),
                    to_string(card.peak), to_string(card.total)});
  }
  return page::table("Memory of its virtual cards", {{"card"}, {"now", true}, {"peak", true}, {"of", true}}, rows);
}

}  // namespace

std::string live_page(const model::StoredRun& run, const std::vector<model::LiveCard>& cards,
                      const std::string& version) {
  std::string body =
      fmt::format("<p class=\"verdict live-state\" role=\"status\" data-run=\"{}\">running</p>\n", run.number);
  body += fmt::format(
      "<dl class=\"facts\"><dt>command</dt><dd><code>{}</code></dd><dt>in</dt><dd><code>{}</code></dd>"
      "<dt>card asked for</dt><dd>{}</dd><dt>begun</dt><dd>{}</dd></dl>\n",
      escape(fmt::format("{}", fmt::join(run.start.command, " "))), escape(run.start.folder), escape(run.start.card),
      time_html(run.started_ms));
  body += "<div class=\"live-cards\"></div>\n<noscript>" + numbers(cards) +
          "<p>Load the page again for newer numbers.</p></noscript>\n";
  body +=
      "<p class=\"live-none\" hidden>No virtual card of this run is in use yet. Runs on real cards are not shown "
      "live: vramfit watch shows those.</p>\n";
  return site_page_to_html({.title = fmt::format("Run {}: {}, going on", run.number, run.start.verb),
                            .script = "/assets/live.js",
                            .body = body},
                           version);
}

}  // namespace vramfit::report::site
