#include "report/site/index_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "base/letters.h"
#include "report/history_text.h"
#include "report/page/html.h"
#include "report/site/site_page.h"
#include "report/site/sparkline.h"

namespace vramfit::report::site {

using model::RunState;
using model::StoredRun;
using page::escape;

namespace {

constexpr int kColumns = 11;

// The colour that reports give a verdict; the word says it too.
std::string_view mood(const StoredRun& run) {
  if (run.state == RunState::kRunning) return "going";
  if (run.state == RunState::kInterrupted) return "unsure";
  const std::string& verdict = run.end.verdict;
  if (verdict == "out_of_memory" || verdict == "failed" || verdict == "nothing_fits") return "bad";
  if (verdict == "fits" || verdict == "fits_already" || verdict == "plan_fits" || verdict == "all_well") return "good";
  return "unsure";
}

std::string spaced(std::string word) {
  std::ranges::replace(word, '_', ' ');
  return word;
}

std::string command_of(const StoredRun& run) { return fmt::format("{}", fmt::join(run.start.command, " ")); }

std::string remarks(const StoredRun& run) {
  std::string html;
  for (const std::string& tag : run.tags) html += fmt::format("<span class=\"tag\">{}</span> ", escape(tag));
  return html + escape(run.note);
}

// `value` is what a column is sorted by.
std::string cell(std::string_view css_class, std::string_view html, std::int64_t value) {
  return fmt::format("<td class=\"number {}\" data-value=\"{}\">{}</td>", css_class, value, html);
}

std::string row(const IndexFacts& facts, std::size_t index) {
  const StoredRun& run = facts.runs[index];
  const auto peak = fullest_peak(run);
  const model::PeakSeries& series = facts.peaks.series.at(facts.peaks.series_of.at(index));
  std::string html = fmt::format(
      "<tr data-run=\"{0}\" data-state=\"{1}\"><td class=\"choice\"><input type=\"checkbox\" name=\"n\" value=\"{0}\" "
      "aria-label=\"choose run {0}\"></td><th scope=\"row\" class=\"number\" data-value=\"{0}\"><a "
      "href=\"/runs/{0}\">{0}</a></th><td class=\"begun\" data-value=\"{2}\">{3}</td><td class=\"verb\">{4}</td>",
      run.number, to_string(run.state), run.started_ms, time_html(run.started_ms), escape(run.start.verb));
  html += fmt::format("<td class=\"came\"><span class=\"outcome {}\">{}</span></td><td class=\"card\">{}</td>",
                      mood(run), escape(spaced(outcome_of(run))),
                      escape(run.end.devices.empty() ? run.start.card : run.end.devices.front().name));
  html += cell("peak", peak ? to_string(*peak) : "-", peak ? peak->count() : -1);
  html += fmt::format("<td class=\"trend\">{}</td>", sparkline(series, run.number));
  html += run.end.wall_seconds > 0 ? cell("took", fmt::format("{:.1f} s", run.end.wall_seconds),
                                          static_cast<std::int64_t>(run.end.wall_seconds * 1e3))
                                   : cell("took", "-", -1);
  return html + fmt::format("<td class=\"command\"><code>{}</code></td><td class=\"remarks\">{}</td></tr>\n",
                            escape(command_of(run)), remarks(run));
}

// All of a group's runs side by side; of many the newest.
std::string compare_link(const IndexFacts& facts, const model::RunGroup& group) {
  std::string query;
  for (const std::size_t run : group.runs | std::views::take(kMostCompared)) {
    query += fmt::format("{}n={}", query.empty() ? "" : "&amp;", facts.runs[run].number);
  }
  if (group.runs.size() < 2) return "";
  return fmt::format(" <a href=\"/compare?{}\">{} side by side</a>", query,
                     group.runs.size() > kMostCompared ? fmt::format("the newest {}", kMostCompared) : "all");
}

std::string group_rows(const IndexFacts& facts, const model::RunGroup& group) {
  std::string html = fmt::format(
      "<tbody class=\"group\">\n<tr class=\"group-head\"><th colspan=\"{}\" scope=\"rowgroup\"><span "
      "class=\"group-title\">{}"
      "</span> <span class=\"muted\">{} run{}</span>{}{}</th></tr>\n",
      kColumns, escape(group.title), group.runs.size(), group.runs.size() == 1 ? "" : "s", sparkline(group.peaks),
      compare_link(facts, group));
  for (const std::size_t run : group.runs) html += row(facts, run);
  return html + "</tbody>\n";
}

std::string all_rows(const IndexFacts& facts) {
  std::string html;
  if (!facts.group_by.empty()) {
    for (const model::RunGroup& group : facts.groups) html += group_rows(facts, group);
    return html;
  }
  for (std::size_t run = 0; run < facts.runs.size(); ++run) html += row(facts, run);
  return "<tbody>\n" + html + "</tbody>\n";
}

std::string group_choice(const std::string& chosen) {
  std::string html = "<label>Group by <select name=\"group\">";
  for (const auto& [word, text] : {std::pair("", "nothing"), std::pair("tag", "tag"), std::pair("script", "script")}) {
    html += fmt::format("<option value=\"{}\"{}>{}</option>", word, chosen == word ? " selected" : "", text);
  }
  return html + "</select></label> ";
}

std::string filter_form(const IndexFacts& facts) {
  std::string html = fmt::format(
      "<form class=\"filter\" role=\"search\" action=\"/\" method=\"get\"><label>Filter <input type=\"search\" "
      "name=\"q\" "
      "value=\"{}\" autocomplete=\"off\"></label> {}",
      escape(facts.text), group_choice(facts.group_by));
  if (facts.parent) html += fmt::format("<input type=\"hidden\" name=\"of\" value=\"{}\">", *facts.parent);
  if (facts.has_all) html += "<input type=\"hidden\" name=\"all\" value=\"1\">";
  return html + "<button>Filter</button> <output class=\"count\"></output></form>\n";
}

constexpr std::string_view kHead =
    "<thead><tr><th scope=\"col\" class=\"choice\"><span class=\"unseen\">chosen</span></th><th scope=\"col\" "
    "class=\"number\" data-sort=\"number\">run</th><th scope=\"col\" data-sort=\"number\">begun</th><th scope=\"col\" "
    "data-sort=\"text\">verb</th><th scope=\"col\" data-sort=\"text\">outcome</th><th scope=\"col\" "
    "data-sort=\"text\">card</th><th scope=\"col\" class=\"number\" data-sort=\"number\">peak</th><th scope=\"col\" "
    "class=\"trend\">peaks until then</th><th scope=\"col\" class=\"number\" data-sort=\"number\">took</th><th "
    "scope=\"col\" data-sort=\"text\">command</th><th scope=\"col\" data-sort=\"text\">tags and "
    "note</th></tr></thead>\n";

constexpr std::string_view kKeys =
    "<details class=\"keys\"><summary>Keys and signs</summary>\n<dl class=\"facts\"><dt><kbd>/</kbd></dt><dd>to the "
    "filter</dd><dt><kbd>j</kbd> <kbd>k</kbd></dt><dd>down and up the runs</dd><dt><kbd>x</kbd></dt><dd>choose the "
    "run</dd><dt><kbd>Enter</kbd></dt><dd>open it</dd><dt><kbd>c</kbd></dt><dd>compare those chosen</dd><dt>peaks "
    "until "
    "then</dt><dd>of runs of the same script, up to this one (the disc); a cross ran out of memory; the scale begins "
    "at "
    "0</dd></dl></details>\n";

}  // namespace

bool matches(const StoredRun& run, std::string_view text) {
  std::string shown = fmt::format("{} {} {} {} {} {} {}", run.number, run.start.verb, spaced(outcome_of(run)),
                                  run.start.card, command_of(run), fmt::join(run.tags, " "), run.note);
  for (const auto& device : run.end.devices) shown += " " + device.name;
  shown = base::lowered(shown);
  const std::string wanted = base::lowered(text);
  for (std::size_t from = 0; from < wanted.size();) {
    const std::size_t end = std::min(wanted.find(' ', from), wanted.size());
    if (shown.find(wanted.substr(from, end - from)) == std::string::npos) return false;
    from = end + 1;
  }
  return true;
}

std::string index_page(const IndexFacts& facts) {
  std::string body = filter_form(facts);
  body += "<p class=\"state\" role=\"status\"></p>\n";
  if (facts.runs.empty()) {
    body += page::paragraph(facts.text.empty() ? "No runs yet: vramfit run, fit, sweep and doctor are noted here."
                                               : "No run holds all of these words.");
  }
  body += fmt::format(
      "<form class=\"runs\" action=\"/compare\" method=\"get\">\n<div class=\"scroll\" tabindex=\"0\" role=\"group\" "
      "aria-label=\"Runs, newest first\"><table class=\"index\" data-stamp=\"{}\"><caption>Runs, newest first"
      "</caption>\n{}{}</table></div>\n<p><button class=\"compare\">Compare those chosen</button></p></form>\n",
      escape(facts.stamp), kHead, all_rows(facts));
  if (facts.most > 0) {
    body += fmt::format("<p>The newest {}. <a href=\"/?all=1\">All runs</a></p>\n", facts.most);
  }
  body += kKeys;
  const std::string title = facts.parent ? fmt::format("Trials of run {}", *facts.parent) : "Runs of vramfit";
  return site_page_to_html(
      {.title = title, .script = "/assets/index.js", .body = body, .is_index = !facts.parent.has_value()},
      facts.version);
}

}  // namespace vramfit::report::site
