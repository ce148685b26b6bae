#include "report/page/page.h"

#include <fmt/format.h>

#include "report/page/assets.h"
#include "report/page/comparison_section.h"
#include "report/page/html.h"
#include "report/page/palette.h"
#include "report/page/run_section.h"

namespace vramfit::report::page {

namespace {

std::string title_of(const PageFacts& facts) {
  if (facts.runs.size() == 1) return fmt::format("vramfit: run {}", facts.runs.front().stored.number);
  return fmt::format("vramfit: {} runs", facts.runs.size());
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

// Every run's verdict in a line, where there are several.
std::string verdicts(const PageFacts& facts) {
  std::string html = "<nav aria-label=\"Runs\"><ul class=\"verdicts\">\n";
  for (const RunFacts& run : facts.runs) {
    html += fmt::format("<li><a href=\"#run-{0}\">Run {0}</a>: {1}</li>\n", run.stored.number,
                        escape(verdict_sentence(run)));
  }
  return html + "</ul></nav>\n";
}

}  // namespace

std::string page_to_html(const PageFacts& facts) {
  std::string html = head(facts) + "<body>\n" + pattern_definitions() + "<main>\n" + heading(1, title_of(facts));
  if (facts.runs.size() > 1) html += verdicts(facts);
  if (facts.comparison) html += comparison_section(*facts.comparison, 2);
  for (const RunFacts& run : facts.runs) html += run_section(run, 2);
  html += "</main>\n<footer>\n";
  if (facts.is_confidential) {
    html += paragraph("Source lines, file paths, command, host, messages and notes were left out.");
  }
  html += paragraph(fmt::format("Written by vramfit {}. Sizes are in binary units: 1 GiB is 1024 MiB.", facts.version));
  return html + fmt::format("</footer>\n<script>\n{}</script>\n</body>\n</html>\n", kScript);
}

}  // namespace vramfit::report::page
