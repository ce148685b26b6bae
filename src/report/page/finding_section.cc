#include "report/page/finding_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "report/doctor_text.h"
#include "report/page/html.h"

namespace vramfit::report::page {

using model::Finding;

namespace {

std::string code_block(const std::string& text) {
  return text.empty() ? "" : fmt::format("<pre tabindex=\"0\"><code>{}</code></pre>", escape(text));
}

std::string evidence_html(const Finding& finding) {
  std::string html;
  for (const model::EvidenceItem& item : finding.evidence) {
    const std::string place =
        item.file.empty() || item.line == 0 ? item.file : fmt::format("{}:{}", item.file, item.line);
    html += fmt::format("<li>{}{}{}</li>\n", escape(item.reasoning),
                        place.empty() ? "" : "<br><code>" + escape(place) + "</code>", code_block(item.text));
  }
  return html.empty() ? "" : "<p>It follows from:</p>\n<ul>\n" + html + "</ul>\n";
}

std::string fixes_html(const Finding& finding) {
  std::string html;
  for (const model::Fix& fix : finding.fixes) {
    html += fmt::format("<li>{} <span class=\"muted\">({})</span>{}</li>\n", escape(fix.what), escape(fix_note(fix)),
                        code_block(fix.command));
  }
  return html.empty() ? "" : "<p>What cures it:</p>\n<ol>\n" + html + "</ol>\n";
}

std::string finding_html(const Finding& finding, int level) {
  std::string html = heading(level, fmt::format("{}: {}", finding.code, finding.title));
  html += paragraph(
      fmt::format("{}, {}, {:.0f} % sure", finding.label, to_string(finding.severity), finding.confidence * 100));
  html += evidence_html(finding) + fixes_html(finding);
  if (!finding.would_confirm.empty()) html += "<p>To be sure:</p>\n" + list(finding.would_confirm);
  std::vector<std::string> withheld;
  for (const model::Withheld& left : finding.withheld) withheld.push_back(left.what + ": " + left.why);
  if (!withheld.empty()) html += "<p>Not advised:</p>\n" + list(withheld);
  return html;
}

std::string failed_at_html(const model::Diagnosis& diagnosis, int level) {
  if (!diagnosis.failed_at) return "";
  const model::FailedAt& at = *diagnosis.failed_at;
  return heading(level, "The script's own line where it failed") +
         fmt::format("<p><code>{}{}</code>{}</p>\n", escape(at.file), at.line > 0 ? fmt::format(":{}", at.line) : "",
                     at.function.empty() ? "" : " in <code>" + escape(at.function) + "</code>") +
         code_block(at.code);
}

std::string check_table(const model::Diagnosis& diagnosis, int level) {
  std::vector<std::vector<std::string>> rows;
  for (const model::Check& check : diagnosis.checks) {
    std::string state(to_string(check.state));
    std::ranges::replace(state, '_', ' ');
    rows.push_back({escape(check.group), escape(state), escape(check.text)});
  }
  if (rows.empty()) return "";
  return heading(level, "Checked") + table("Groups of causes", {{"group"}, {"state"}, {"because"}}, rows);
}

}  // namespace

std::string finding_section(const model::Diagnosis& diagnosis, int level) {
  std::string html = failed_at_html(diagnosis, level);
  if (!diagnosis.findings.empty()) html += heading(level, "Findings, most probable first");
  for (const Finding& finding : diagnosis.findings) html += finding_html(finding, level + 1);
  const auto add = [&](std::string_view title, const std::vector<std::string>& items) {
    if (!items.empty()) html += heading(level, title) + list(items);
  };
  add("What would tell more", diagnosis.give);
  html += check_table(diagnosis, level);
  std::vector<std::string> printed;
  for (const model::OutsidePyTorch& outside : diagnosis.outside_pytorch) {
    printed.push_back(fmt::format("{}:{}: {}", outside.file, outside.line, outside.text));
  }
  add("Context and libraries", printed);
  add("About the reading", diagnosis.warnings);
  add("Read", diagnosis.read);
  return html;
}

}  // namespace vramfit::report::page
