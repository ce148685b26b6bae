#include "http/history_site.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/parse_number.h"
#include "history/history.h"
#include "history/run_groups.h"
#include "report/site/assets.h"
#include "report/site/index_page.h"
#include "report/site/live_json.h"
#include "report/site/live_page.h"
#include "report/site/site_page.h"
#include "views/report.h"

namespace vramfit::http {

using base::Result;
using model::RunState;

namespace {

constexpr std::int64_t kListed = 500;  // the newest so many, unless all are asked for

constexpr std::string_view kHtml = "text/html; charset=utf-8";
constexpr std::string_view kJson = "application/json; charset=utf-8";
// Our own pages load style and script from the server and ask it for numbers.
constexpr std::string_view kSitePolicy =
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'";
// A report carries its own within and asks for nothing.
constexpr std::string_view kReportPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; form-action 'none'; "
    "base-uri 'none'; frame-ancestors 'none'";

Page html_page(std::string html, std::string_view policy = kSitePolicy) {
  return {200, std::string(kHtml), std::move(html), std::string(policy)};
}

std::optional<std::int64_t> parse_number(std::string_view text) {
  const auto number = base::parse_number<std::int64_t>(text);
  return number && *number >= 0 ? number : std::nullopt;
}

int hex_digit(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

std::string decode(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
    if (low >= 0) {
      plain += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      plain += text[i] == '+' ? ' ' : text[i];
    }
  }
  return plain;
}

std::optional<Page> find_asset(std::string_view path) {
  constexpr std::string_view kScript = "text/javascript; charset=utf-8";
  if (path == "/assets/site.css") return Page{200, "text/css; charset=utf-8", report::site::site_style(), {}};
  if (path == "/assets/index.js") return Page{200, std::string(kScript), std::string(report::site::kIndexScript), {}};
  if (path == "/assets/live.js") return Page{200, std::string(kScript), std::string(report::site::kLiveScript), {}};
  if (path == "/favicon.ico") return Page{204, "image/x-icon", {}, {}};
  return std::nullopt;
}

// Splits "/runs/12/live.json" into 12 and "/live.json".
std::optional<std::pair<std::int64_t, std::string_view>> parse_run_path(std::string_view path) {
  constexpr std::string_view kRuns = "/runs/";
  if (!path.starts_with(kRuns)) return std::nullopt;
  path.remove_prefix(kRuns.size());
  const std::size_t slash = std::min(path.find('/'), path.size());
  const auto number = parse_number(path.substr(0, slash));
  if (!number || slash > 18) return std::nullopt;
  return std::pair(*number, path.substr(slash));
}

// Runs that the filter leaves out stay in the peaks of their script.
void keep_matching(report::site::IndexFacts& facts, std::string text) {
  facts.text = std::move(text);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < facts.runs.size(); ++i) {
    if (!report::site::matches(facts.runs[i], facts.text)) continue;
    if (kept != i) facts.runs[kept] = std::move(facts.runs[i]);
    facts.peaks.series_of[kept++] = facts.peaks.series_of[i];
  }
  facts.runs.resize(kept);
  facts.peaks.series_of.resize(kept);
}

std::unexpected<base::Error> no_page() { return base::fail(base::ErrorCode::kNotFound, "there is no such page"); }

}  // namespace

std::vector<std::string> query_values(std::string_view query, std::string_view name) {
  std::vector<std::string> values;
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view part = query.substr(0, end);
    const std::size_t equals = std::min(part.find('='), part.size());
    if (part.substr(0, equals) == name) values.push_back(decode(part.substr(std::min(equals + 1, part.size()))));
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return values;
}

Result<Page> HistorySite::index(std::string_view query) const {
  auto history = history::History::open();
  if (!history) return std::unexpected(history.error());
  report::site::IndexFacts facts{.version = options_.version};
  model::RunFilter filter{.most = kListed + 1, .with_trials = false};
  facts.has_all = !query_values(query, "all").empty();
  if (facts.has_all) filter.most = 0;
  if (auto words = query_values(query, "group"); !words.empty()) facts.group_by = std::move(words.front());
  const auto group_by = history::parse_group_by(facts.group_by);
  if (!group_by) return no_page();
  if (const auto of = query_values(query, "of"); !of.empty()) {
    facts.parent = parse_number(of.front());
    if (!facts.parent) return no_page();
    filter.parent = facts.parent;
    filter.with_trials = true;
  }
  auto stamp = history->store().stamp();
  if (!stamp) return std::unexpected(stamp.error());
  facts.stamp = std::move(*stamp);
  auto runs = history->store().list(filter);
  if (!runs) return std::unexpected(runs.error());
  facts.runs = std::move(*runs);
  if (filter.most > 0 && std::ssize(facts.runs) > kListed) {
    facts.runs.resize(kListed);
    facts.most = kListed;
  }
  facts.peaks = history::peaks_by_script(facts.runs);
  if (auto texts = query_values(query, "q"); !texts.empty()) keep_matching(facts, std::move(texts.front()));
  facts.groups = history::group_runs(facts.runs, *group_by);
  return html_page(report::site::index_page(facts));
}

Result<Page> HistorySite::run(std::int64_t number) const {
  auto history = history::History::open();
  if (!history) return std::unexpected(history.error());
  auto runs = history->load({number}, {});
  if (!runs) return std::unexpected(runs.error());
  if (runs->front().state == RunState::kRunning) {
    const auto process = history->store().process_of(number);
    if (!process) return std::unexpected(process.error());
    return html_page(report::site::live_page(runs->front(), live_.cards_of(*process, 0), options_.version));
  }
  return html_page(views::build_report(std::move(*runs),
                                       {.version = options_.version, .home = "/", .find_run = history->find_run()}),
                   kReportPolicy);
}

Result<Page> HistorySite::live(std::int64_t number, std::string_view query) const {
  auto history = history::History::open();
  if (!history) return std::unexpected(history.error());
  const auto run = history->store().find(number);
  if (!run) return std::unexpected(run.error());
  const auto process = history->store().process_of(number);
  if (!process) return std::unexpected(process.error());
  const auto after = query_values(query, "after");
  const std::int64_t after_ms = after.empty() ? 0 : parse_number(after.front()).value_or(0);
  return Page{
      200, std::string(kJson), report::site::live_run_json(number, run->state, live_.cards_of(*process, after_ms)), {}};
}

Result<Page> HistorySite::going() const {
  auto history = history::History::open();
  if (!history) return std::unexpected(history.error());
  const auto stamp = history->store().stamp();
  if (!stamp) return std::unexpected(stamp.error());
  const auto running = history->store().running();
  if (!running) return std::unexpected(running.error());
  std::vector<report::site::GoingRun> runs;
  for (const std::int64_t number : *running) {
    const auto process = history->store().process_of(number);
    if (!process) return std::unexpected(process.error());
    runs.push_back({number, live_.cards_of(*process, INT64_MAX)});
  }
  return Page{200, std::string(kJson), report::site::going_runs_json(*stamp, runs), {}};
}

Result<Page> HistorySite::compare(std::string_view query) const {
  std::vector<std::int64_t> numbers;
  for (const std::string& text : query_values(query, "n")) {
    const auto number = parse_number(text);
    if (!number) return no_page();
    if (std::ranges::find(numbers, *number) == numbers.end()) numbers.push_back(*number);
  }
  if (numbers.empty() || numbers.size() > report::site::kMostCompared) {
    return base::fail(base::ErrorCode::kUsage,
                      fmt::format("choose 1 to {} runs to compare", report::site::kMostCompared));
  }
  std::ranges::sort(numbers);  // the oldest is what the others are told against
  auto history = history::History::open();
  if (!history) return std::unexpected(history.error());
  auto runs = history->load(numbers, {});
  if (!runs) return std::unexpected(runs.error());
  return html_page(views::build_report(std::move(*runs),
                                       {.version = options_.version, .home = "/", .find_run = history->find_run()}),
                   kReportPolicy);
}

Result<Page> HistorySite::find(const Request& request) const {
  if (request.path == "/") return index(request.query);
  if (request.path == "/live.json") return going();
  if (request.path == "/compare") return compare(request.query);
  if (auto asset = find_asset(request.path)) return std::move(*asset);
  const auto place = parse_run_path(request.path);
  if (place && place->second.empty()) return run(place->first);
  if (place && place->second == "/live.json") return live(place->first, request.query);
  return no_page();
}

Page HistorySite::answer(const Request& request) const {
  if (auto refused = refuse_stranger(request, options_.guard)) return std::move(*refused);
  Entry entry = check_token(request, options_.token);
  if (entry.refused) return std::move(*entry.refused);
  Page page = page_or_error(request);
  page.cookie = std::move(entry.cookie);
  return page;
}

Page HistorySite::page_or_error(const Request& request) const {
  auto page = find(request);
  if (page) return std::move(*page);
  const base::Error& error = page.error();
  int status = 500;
  if (error.code == base::ErrorCode::kNotFound) status = 404;
  if (error.code == base::ErrorCode::kUsage) status = 400;
  const std::string text = error.remedy.empty() ? error.what : fmt::format("{}. {}", error.what, error.remedy);
  return {status,
          std::string(kHtml),
          report::site::message_page("Not to be shown", text, options_.version),
          std::string(kSitePolicy),
          {}};
}

}  // namespace vramfit::http
