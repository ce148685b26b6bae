#include "report/page/page.h"

#include <fmt/format.h>

#include "report/page/assets.h"
#include "report/page/comparison_section.h"
#include "report/page/html.h"
#include "report/page/palette.h"
#include "report/page/run_section.h"
#include "report/page/trace_section.h"

namespace vramfit::report::page {

namespace {

std::string title_of(const PageFacts& facts) {
  const std::size_t runs = facts.runs.size(), traces = facts.traces.size();
  if (runs == 0 && traces == 1) return "vramfit: " + facts.traces.front().name;
  const std::string of_traces = traces == 1 ? "1 snapshot" : fmt::format("{} snapshots", traces);
  if (runs == 0) return "vramfit: " + of_traces;
  const std::string of_runs =
      runs == 1 ? fmt::format("run {}", facts.runs.front().stored.number) : fmt::format("{} runs", runs);
  return fmt::format("vramfit: {}{}{}", of_runs, traces > 0 ? " and " : "", traces > 0 ? of_traces : "");
}

// The policy forbids every request; what is allowed is inside the file.
std::string head(const PageFacts& facts) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<meta http-equiv=\"Content-Security-Policy\" "
      "content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; "
      "form-action 'none'\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" "
      "content=\"no-referrer\">\n<title>{}</title>\n<style>\n{}</style>\n</head>\n",
      escape(title_of(facts)), kStyle);
}

// Every part's verdict in a line, where there are several.
std::string verdicts(const PageFacts& facts) {
  std::string html = "<nav aria-label=\"Runs\"><ul class=\"verdicts\">\n";
  for (const ShownRun& run : facts.runs) {
    html += fmt::format("<li><a href=\"#run-{0}\">Run {0}</a>: {1}</li>\n", run.stored.number,
                        escape(verdict_sentence(run)));
  }
  for (std::size_t i = 0; i < facts.traces.size(); ++i) {
    html += fmt::format("<li><a href=\"#snapshot-{}\">{}</a>: {}</li>\n", i + 1, escape(facts.traces[i].name),
                        escape(trace_sentence(facts.traces[i])));
  }
  return html + "</ul></nav>\n";
}

// The link home on a page that a server shows.
std::string home_link(const PageFacts& facts) {
  if (facts.home.empty()) return "";
  return fmt::format("<nav aria-label=\"History\" class=\"history\"><a href=\"{}\">All runs</a></nav>\n",
                     escape(facts.home));
}

}  // namespace

std::string page_to_html(const PageFacts& facts) {
  std::string html =
      head(facts) + "<body>\n" + home_link(facts) + pattern_definitions() + "<main>\n" + heading(1, title_of(facts));
  if (facts.runs.size() + facts.traces.size() > 1) html += verdicts(facts);
  if (facts.comparison) html += comparison_section(*facts.comparison, facts.runs, 2);
  for (const ShownRun& run : facts.runs) html += run_section(run, 2);
  for (std::size_t i = 0; i < facts.traces.size(); ++i) {
    html += trace_section(facts.traces[i], static_cast<int>(i) + 1, 2);
  }
  html += "</main>\n<footer>\n";
  if (facts.is_confidential) {
    html += paragraph("Source lines, file paths, command, host, messages and notes were left out.");
  }
  html += paragraph(fmt::format("Written by vramfit {}. Sizes are in binary units: 1 GiB is 1024 MiB.", facts.version));
  return html + fmt::format("</footer>\n<script>\n{}{}</script>\n</body>\n</html>\n", kScript, kScriptEnd);
}

}  // namespace vramfit::report::page
