#include "report/doctor_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "report/layout.h"

namespace vramfit::report {

namespace {

using model::Check;
using model::CheckState;
using model::Diagnosis;
using model::Finding;
using model::Severity;

constexpr std::size_t kInFull = 3;       // findings that are shown in full without -v
constexpr double kWorthShowing = 0.3;    // less probable ones get one line
constexpr std::size_t kQuoteWidth = 74;  // of a line of the user's text
constexpr std::size_t kMostEvidence = 6, kMostFixes = 4;

Mark mark_of(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return Mark::kBad;
    case Severity::kWarning:
      return Mark::kUnsure;
    default:
      return Mark::kUnknown;
  }
}

std::string_view mark_of(CheckState state) {
  switch (state) {
    case CheckState::kPass:
      return "[✓]";
    case CheckState::kFail:
      return "[✗]";
    case CheckState::kNotApplicable:
      return "[–]";
    case CheckState::kError:
      return "[!]";
    case CheckState::kUnknown:
      break;
  }
  return "[?]";
}

// `text` wrapped to what is left behind `lead`, continuation lines under it.
std::string hanging(std::string_view lead, std::string_view text) {
  const std::size_t indent = columns(lead);
  std::string body = wrap(text, kPageWidth - indent, 0);
  std::string out(lead);
  for (const char c : body) {
    out += c;
    if (c == '\n') out += std::string(indent, ' ');
  }
  return out + "\n";
}

// One line of somebody's text: no line breaks, no control characters, cut.
std::string quoted(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  // Its beginning says what it is.
  const std::size_t width = kQuoteWidth - (kPageWidth - page_width());
  std::size_t end = 0;
  while (end < text.size() && columns(std::string_view(text).substr(0, end + 1)) <= width - 1) ++end;
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
  return end < text.size() ? text.substr(0, end) + "…" : text;
}

void add_evidence(std::string& text, const Finding& finding, std::size_t most) {
  std::string last_place;
  std::size_t shown = 0;
  for (const model::EvidenceItem& evidence : finding.evidence) {
    if (shown++ == most) {
      text += hanging("    ", fmt::format("... and {} more (-v)", finding.evidence.size() - most));
      break;
    }
    const std::string place = evidence.file.empty() || evidence.line == 0
                                  ? evidence.file
                                  : fmt::format("{}:{}", evidence.file, evidence.line);
    if (!place.empty() && place + evidence.text != last_place) {
      text += "    " + shorten(place, page_width() - 4) + "\n";
      if (!evidence.text.empty()) text += "      " + quoted(evidence.text) + "\n";
    }
    last_place = place + evidence.text;
    text += hanging(place.empty() ? "    = " : "      = ", evidence.reasoning);
  }
}

void add_fixes(std::string& text, const Finding& finding, std::size_t most) {
  for (std::size_t i = 0; i < std::min(most, finding.fixes.size()); ++i) {
    const model::Fix& fix = finding.fixes[i];
    text += hanging("  help: ", fix.what);
    std::string_view rest = fix.command;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      text += "        $ " + std::string(rest.substr(0, end)) + "\n";
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    text += hanging("        ", "(" + fix_note(fix) + ")");
  }
}

// The first one with all its advice; a further one with its evidence, and with what cures it best.
void add_finding(std::string& text, const Finding& finding, bool first, bool verbose) {
  text += "\n" + hanging(fmt::format("{} ", sign(mark_of(finding.severity))),
                         fmt::format("{} {} ({}, {:.0f}%)", finding.code, finding.title, finding.label,
                                     finding.confidence * 100));
  add_evidence(text, finding, verbose ? 1000 : first ? kMostEvidence : 2);
  add_fixes(text, finding, verbose ? 1000 : first ? kMostFixes : 1);
  if (!verbose) return;
  for (const std::string& what : finding.would_confirm) text += hanging("  to be sure: ", what);
  for (const model::Withheld& left : finding.withheld) {
    text += hanging("  note: ", fmt::format("not advised: {}: {}", left.what, left.why));
  }
}

void add_findings(std::string& text, const Diagnosis& diagnosis, bool verbose) {
  std::vector<std::string> others;
  for (std::size_t i = 0; i < diagnosis.findings.size(); ++i) {
    const Finding& finding = diagnosis.findings[i];
    const bool in_full = verbose || (i < kInFull && (i == 0 || finding.confidence >= kWorthShowing));
    if (in_full) {
      add_finding(text, finding, i == 0, verbose);
    } else {
      others.push_back(fmt::format("{} {} ({:.0f}%)", finding.code, finding.label, finding.confidence * 100));
    }
  }
  if (others.empty()) return;
  std::string list;
  for (const std::string& other : others) list += (list.empty() ? "" : ", ") + other;
  text += "\n" + hanging("Less probable: ", list);
}

void add_failed_at(std::string& text, const Diagnosis& diagnosis) {
  if (!diagnosis.failed_at) return;
  const model::FailedAt& at = *diagnosis.failed_at;
  const std::string place = at.line > 0 ? fmt::format("{}:{}", at.file, at.line) : at.file;
  text += "\nYour own line where it failed\n    " + shorten(place, page_width() - 4) + "\n";
  if (!at.function.empty()) text += hanging("    ", "in " + at.function);
  if (!at.code.empty()) text += "      " + quoted(at.code) + "\n";
}

void add_checks(std::string& text, const Diagnosis& diagnosis, bool verbose) {
  text += "\nChecked\n";
  std::string well, untold;
  for (const Check& check : diagnosis.checks) {
    const bool collapses = check.state == CheckState::kPass || check.state == CheckState::kNotApplicable;
    if (collapses && !verbose) {
      well += (well.empty() ? "" : ", ") + check.group;
      continue;
    }
    if (check.state == CheckState::kUnknown && check.codes.empty() && !verbose) {
      untold += (untold.empty() ? "" : ", ") + check.group;
      continue;
    }
    text += hanging(fmt::format("  {} {:<14} ", mark_of(check.state), check.group), check.text);
  }
  if (!untold.empty()) text += hanging("  [?] ", "not told by what was given (-v says what would): " + untold);
  if (!well.empty()) text += hanging("  [✓] ", "nothing found: " + well);
}

void add_list(std::string& text, std::string_view title, const std::vector<std::string>& list) {
  if (list.empty()) return;
  text += "\n" + std::string(title) + "\n";
  for (const std::string& one : list) text += hanging("  - ", one);
}

void add_held(std::string& text, const Diagnosis& diagnosis, bool verbose) {
  if (diagnosis.outside_pytorch.empty()) return;
  text += "\nContext and libraries\n";
  bool tells = false;
  for (std::size_t i = 0; i < diagnosis.outside_pytorch.size(); ++i) {
    const model::OutsidePyTorch& outside = diagnosis.outside_pytorch[i];
    tells = tells || outside.held.has_value();
    if (!verbose && i >= kInFull) continue;
    text += "  - " + shorten(fmt::format("{}:{}", outside.file, outside.line), page_width() - 4) + "\n";
    text += hanging("    ", outside.text);
  }
  if (!verbose && diagnosis.outside_pytorch.size() > kInFull) {
    text += hanging("    ", fmt::format("... and {} more (-v)", diagnosis.outside_pytorch.size() - kInFull));
  }
  if (tells) text += hanging("  - ", "to count with it: vramfit run --context from:FILE");
}

std::string finished(std::string text, const DoctorTextOptions& options) {
  return options.ascii ? in_ascii(text) : text;
}

}  // namespace

std::string fix_note(const model::Fix& fix) {
  std::string note;
  const auto add = [&](std::string_view part) { note += (note.empty() ? "" : "; ") + std::string(part); };
  if (fix.saves) add("frees " + to_string(*fix.saves));
  if (!fix.time_cost.empty()) add("costs time: " + fix.time_cost);
  switch (fix.applicability) {
    case model::Applicability::kAsIs:
      add("apply as it is");
      break;
    case model::Applicability::kMayBeWrong:
      add("may be wrong for your job");
      break;
    case model::Applicability::kFillIn:
      add("fill in");
      break;
  }
  return note;
}

Mark diagnosis_mark(const Diagnosis& diagnosis) {
  if (!diagnosis.trouble) return diagnosis.other_failure ? Mark::kOther : Mark::kGood;
  return diagnosis.findings.empty() ? Mark::kUnknown : mark_of(diagnosis.findings.front().severity);
}

std::string diagnosis_to_text(const Diagnosis& diagnosis, const DoctorTextOptions& options) {
  const std::string verdict = hanging(fmt::format("{} ", sign(diagnosis_mark(diagnosis))), diagnosis.verdict);
  std::string text = verdict;
  add_failed_at(text, diagnosis);
  add_findings(text, diagnosis, options.verbose);
  add_list(text, "What would tell more", diagnosis.give);
  if (!diagnosis.checks.empty()) add_checks(text, diagnosis, options.verbose);
  add_held(text, diagnosis, options.verbose);
  add_list(text, "[!] About the reading", diagnosis.warnings);
  if (options.verbose) add_list(text, "Read", diagnosis.read);
  if (!diagnosis.findings.empty() && diagnosis.findings.front().label != "unknown") {
    text += "\n" + hanging("More: ", fmt::format("vramfit explain {}", diagnosis.findings.front().code));
  }
  return finished(text + "\n" + verdict, options);
}

std::string cause_to_text(const model::CausePage& page, std::string_view example, const DoctorTextOptions& options) {
  std::string text = fmt::format("{} {}\n\n", page.code, page.label) + wrap(page.title + ".", kPageWidth, 0) + "\n";
  text += "\nWhat it is\n" + hanging("  ", page.what);
  text += "\nWhat decides it\n" + hanging("  ", page.decides);
  if (!example.empty()) {
    text += "\nThe smallest example\n";
    std::string_view rest = example;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      text += rest.substr(0, end).empty() ? "\n" : "    " + std::string(rest.substr(0, end)) + "\n";
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  text += "\nWhat cures it\n" + hanging("  ", page.cure);
  return finished(text, options);
}

std::string causes_to_text(const std::vector<model::CausePage>& pages) {
  std::string text;
  for (const model::CausePage& page : pages) {
    text += hanging(fmt::format("{:<6} {:<26} ", page.code, page.label), page.title);
  }
  return text;
}

}  // namespace vramfit::report
