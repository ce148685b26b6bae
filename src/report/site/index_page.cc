#include "report/site/index_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "report/page/html.h"
#include "report/site/site_page.h"

namespace vramfit::report::site {

using model::RunState;
using model::StoredRun;
using page::escape;

namespace {

std::string outcome(const StoredRun& run) {
  return run.state == RunState::kEnded ? run.end.verdict : std::string(to_string(run.state));
}

// As reports colour it; the word says it too.
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
std::string cell(std::string_view html, std::int64_t value) {
  return fmt::format("<td class=\"number\" data-value=\"{}\">{}</td>", value, html);
}

std::string row(const StoredRun& run) {
  const auto peaks = fullest_peaks(run);
  std::string html = fmt::format(
      "<tr data-run=\"{0}\" data-state=\"{1}\"><td><input type=\"checkbox\" name=\"n\" value=\"{0}\" "
      "aria-label=\"choose run {0}\"></td><th scope=\"row\" class=\"number\" data-value=\"{0}\"><a "
      "href=\"/runs/{0}\">{0}</a></th><td data-value=\"{2}\">{3}</td><td>{4}</td>",
      run.number, to_string(run.state), run.started_ms, time_html(run.started_ms), escape(run.start.verb));
  html +=
      fmt::format("<td><span class=\"outcome {}\">{}</span></td><td>{}</td>", mood(run), escape(spaced(outcome(run))),
                  escape(run.end.devices.empty() ? run.start.card : run.end.devices.front().name));
  html += fmt::format("<td class=\"number peak\" data-value=\"{}\">{}</td>", peaks ? peaks->device.count() : -1,
                      peaks ? to_string(peaks->device) : "-");
  html += run.end.wall_seconds > 0 ? cell(fmt::format("{:.1f} s", run.end.wall_seconds),
                                          static_cast<std::int64_t>(run.end.wall_seconds * 1e3))
                                   : cell("-", -1);
  return html + fmt::format("<td class=\"command\"><code>{}</code></td><td>{}</td></tr>\n", escape(command_of(run)),
                            remarks(run));
}

std::string filter_form(const IndexFacts& facts) {
  std::string html = fmt::format(
      "<form class=\"filter\" role=\"search\" action=\"/\" method=\"get\"><label>Filter <input type=\"search\" "
      "name=\"q\" "
      "value=\"{}\" autocomplete=\"off\"></label> ",
      escape(facts.text));
  if (facts.parent) html += fmt::format("<input type=\"hidden\" name=\"of\" value=\"{}\">", *facts.parent);
  return html + "<button>Filter</button> <output class=\"count\"></output></form>\n";
}

constexpr std::string_view kHead =
    "<thead><tr><th scope=\"col\"><span class=\"unseen\">chosen</span></th><th scope=\"col\" class=\"number\" "
    "data-sort=\"number\">run</th><th scope=\"col\" data-sort=\"number\">begun</th><th scope=\"col\" "
    "data-sort=\"text\">verb</th><th scope=\"col\" data-sort=\"text\">outcome</th><th scope=\"col\" "
    "data-sort=\"text\">card</th><th scope=\"col\" class=\"number\" data-sort=\"number\">peak</th><th scope=\"col\" "
    "class=\"number\" data-sort=\"number\">took</th><th scope=\"col\" data-sort=\"text\">command</th><th "
    "scope=\"col\" data-sort=\"text\">tags and note</th></tr></thead>\n";

constexpr std::string_view kKeys =
    "<details class=\"keys\"><summary>Keys</summary>\n<dl class=\"facts\"><dt><kbd>/</kbd></dt><dd>to the filter</dd>"
    "<dt><kbd>j</kbd> <kbd>k</kbd></dt><dd>down and up the runs</dd><dt><kbd>x</kbd></dt><dd>choose the run</dd>"
    "<dt><kbd>Enter</kbd></dt><dd>open it</dd><dt><kbd>c</kbd></dt><dd>compare those chosen</dd></dl></details>\n";

std::string lower(std::string_view text) {
  std::string low(text);
  std::ranges::transform(low, low.begin(), [](unsigned char one) { return static_cast<char>(std::tolower(one)); });
  return low;
}

}  // namespace

bool matches(const StoredRun& run, std::string_view text) {
  std::string shown = fmt::format("{} {} {} {} {} {} {}", run.number, run.start.verb, spaced(outcome(run)),
                                  run.start.card, command_of(run), fmt::join(run.tags, " "), run.note);
  for (const auto& device : run.end.devices) shown += " " + device.name;
  shown = lower(shown);
  const std::string wanted = lower(text);
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
      "</caption>\n{}<tbody>\n",
      escape(facts.stamp), kHead);
  for (const StoredRun& run : facts.runs) body += row(run);
  body += "</tbody></table></div>\n<p><button class=\"compare\">Compare those chosen</button></p></form>\n";
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
