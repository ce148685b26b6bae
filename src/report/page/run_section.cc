#include "report/page/run_section.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "report/doctor_text.h"
#include "report/fit_text.h"
#include "report/page/finding_section.h"
#include "report/page/fit_section.h"
#include "report/page/flame_chart.h"
#include "report/page/html.h"
#include "report/page/module_section.h"
#include "report/page/owners_bar.h"
#include "report/page/sweep_section.h"
#include "report/page/timeline_chart.h"
#include "report/reach_text.h"
#include "report/run_text.h"
#include "report/sweep_text.h"

namespace vramfit::report::page {

using model::RunState;
using model::StoredRun;

namespace {

Mark mark_of(const ShownRun& run) {
  if (run.sweep) return report::sweep_verdict_mark(run.sweep->result);
  if (run.diagnosis) return report::diagnosis_mark(*run.diagnosis);
  if (run.fit) return report::fit_verdict_mark(*run.fit);
  return run.result ? report::verdict_mark(*run.result) : Mark::kUnsure;
}

// What the terminal says, in one line: "[✓] fits NVIDIA ...".
std::string marked_verdict(const ShownRun& run) {
  const std::string_view mark = sign(mark_of(run));
  std::string line;
  if (run.sweep) {
    line = report::sweep_verdict_line(run.sweep->result);
  } else if (run.diagnosis) {
    line = fmt::format("{} {}", mark, run.diagnosis->verdict);
  } else if (run.fit) {
    line = report::fit_verdict_line(*run.fit);
  } else if (run.result) {
    line = report::verdict_line(*run.result);
  } else if (run.stored.state != RunState::kEnded) {
    line = fmt::format("{} {}: there is no result", mark, to_string(run.stored.state));
  } else {
    line = fmt::format("{} {}{}{}", mark, run.stored.end.verdict, run.stored.end.reason.empty() ? "" : ": ",
                       run.stored.end.reason);
  }
  // The terminal's line was wrapped for 80 columns.
  std::string flat;
  for (const char character : line) {
    const char shown = character == '\n' ? ' ' : character;
    if (shown != ' ' || !flat.ends_with(' ')) flat += shown;
  }
  return flat;
}

// The mark as a word, for those who don't see it.
std::string_view word_of(Mark mark) {
  if (mark == Mark::kGood) return "good";
  return mark == Mark::kUnsure ? "unsure" : "bad";
}

std::string git_text(const model::GitState& git) {
  if (git.commit.empty()) return "";
  return fmt::format("{}{}{}{}", git.commit.substr(0, 12), git.branch.empty() ? "" : " on ", git.branch,
                     git.has_changes ? ", with changes not committed" : "");
}

std::string fact(std::string_view name, const std::string& value, bool is_code = false) {
  if (value.empty()) return "";
  const std::string shown = is_code ? "<code>" + escape(value) + "</code>" : escape(value);
  return fmt::format("<dt>{}</dt><dd>{}</dd>\n", escape(name), shown);
}

std::string facts_list(const StoredRun& run) {
  std::string html = fact("command", fmt::format("{}", fmt::join(run.start.command, " ")), true) +
                     fact("in", run.start.folder, true) + fact("script", run.start.script, true) +
                     fact("git", git_text(run.start.git)) + fact("card asked for", run.start.card) +
                     fact("plan", run.start.plan, true);
  if (!run.end.torch.empty()) html += fact("torch", run.end.torch);
  if (!run.end.python.empty()) html += fact("Python", run.end.python);
  html += fact("host", run.start.host) + fact("vramfit", run.start.version);
  if (run.state == RunState::kEnded) html += fact("took", fmt::format("{:.1f} s", run.end.wall_seconds));
  html += fact("tags", fmt::format("{}", fmt::join(run.tags, " "))) + fact("note", run.note);
  return html.empty() ? "" : "<dl class=\"facts\">\n" + html + "</dl>\n";
}

std::string card_title(int index, std::string_view name) { return fmt::format("card {}, {}", index, name); }

std::string device_table(const std::vector<model::CardFigures>& devices) {
  const auto bytes = [](const std::optional<base::Bytes>& known) { return known ? to_string(*known) : "unknown"; };
  std::vector<std::vector<std::string>> rows;
  for (const model::CardFigures& device : devices) {
    rows.push_back({escape(card_title(device.index, device.name)), bytes(device.allocated), bytes(device.reserved),
                    bytes(device.device), bytes(device.total), bytes(device.context), bytes(device.libraries),
                    fmt::format("{}", device.retries)});
  }
  return rows.empty() ? ""
                      : table("Peaks of each card",
                              {{"card"},
                               {"allocated", true},
                               {"reserved", true},
                               {"everything", true},
                               {"of", true},
                               {"context", true},
                               {"libraries", true},
                               {"retries", true}},
                              rows);
}

std::string phase_table(const std::vector<model::PhaseResult>& phases) {
  std::vector<std::vector<std::string>> rows;
  for (const model::PhaseResult& phase : phases) {
    rows.push_back({escape(phase.name), fmt::format("{}", phase.device), fmt::format("{}", phase.steps),
                    to_string(phase.peaks.allocated), to_string(phase.peaks.reserved), to_string(phase.peaks.device)});
  }
  return rows.empty() ? ""
                      : table("Peaks of each phase",
                              {{"phase"},
                               {"card", true},
                               {"steps", true},
                               {"allocated", true},
                               {"reserved", true},
                               {"everything", true}},
                              rows);
}

std::string line_table(const std::vector<model::LineRow>& lines) {
  std::vector<std::vector<std::string>> rows;
  for (const model::LineRow& row : lines) {
    rows.push_back({"<code>" + escape(row.line) + "</code>", fmt::format("{}", row.device), to_string(row.bytes),
                    fmt::format("{}", row.blocks)});
  }
  return table("The script's own lines behind what lived at the peak",
               {{"line"}, {"card", true}, {"holds", true}, {"blocks", true}}, rows);
}

std::string stack_list(const std::vector<model::StackFrame>& stack) {
  if (stack.empty()) return "";
  std::string html = "<ol class=\"stack\">\n";
  for (const model::StackFrame& frame : stack) {
    html += fmt::format("<li><code>{}:{} in {}</code>", escape(frame.file), frame.line, escape(frame.function));
    if (!frame.code.empty()) html += fmt::format("<pre tabindex=\"0\"><code>{}</code></pre>", escape(frame.code));
    html += "</li>\n";
  }
  return html + "</ol>\n";
}

std::string message(const std::string& text) {
  return text.empty() ? "" : fmt::format("<pre tabindex=\"0\"><code>{}</code></pre>\n", escape(text));
}

// What ended the job, where something did.
std::string failure(const model::RunResult& result, int level) {
  std::string html;
  if (result.oom) {
    html += heading(level, result.oom->caught ? "Out of memory, and the script went on" : "Out of memory");
    if (result.oom->tried.count() > 0) {
      html += paragraph(fmt::format("It tried to allocate {}{}.", to_string(result.oom->tried),
                                    result.oom->phase.empty() ? "" : " in phase " + result.oom->phase));
    }
    if (result.oom->loading) html += paragraph(loading_sentence(*result.oom->loading));
    html += message(result.oom->message) + stack_list(result.oom->stack);
  }
  if (result.error) {
    html += heading(level, "What ended the script") + paragraph(result.error->type, "strong") +
            message(result.error->message) + paragraph(result.error->remedy) + stack_list(result.error->stack);
  }
  return html;
}

std::vector<std::string> texts_of(const std::vector<model::Remark>& remarks) {
  std::vector<std::string> texts;
  for (const model::Remark& remark : remarks) {
    texts.push_back(remark.count > 1 ? fmt::format("{} ({} times)", remark.text, remark.count) : remark.text);
  }
  return texts;
}

std::string remarks(const model::RunResult& result, int level) {
  std::vector<std::string> reads;
  for (const model::DataDependence& read : result.depends_on_data) {
    reads.push_back(read.line.empty() ? read.what : read.what + " at " + read.line);
  }
  std::string html;
  const auto add = [&](std::string_view title, const std::vector<std::string>& items) {
    if (!items.empty()) html += heading(level, title) + list(items);
  };
  add("Not seen in this run", model::sentences_of(result.losses));
  add("Warnings", texts_of(result.warnings));
  add("Changes applied", result.plan_applied);
  add("Changes refused", result.plan_refused);
  add("Promised of the changes, not compared", result.plan_promised);
  if (!result.reach.whole) add("How far it ran", report::reach_sentences(result.reach));
  add("Not reached, and it uses the card", report::unreached_sentences(result.reach, 100));
  add("Open", result.reach.open);
  add("Left out of the run", result.cuts);
  add("Depends on data", reads);
  add("Not modelled", texts_of(result.not_modelled));
  add("Assumed", texts_of(result.assumed));
  add("Measured", result.measured);
  add("Untested", result.untested);
  return html;
}

// A picture spans what happened on a card, which on a virtual one takes hardly any time: that is not the run's.
std::string span_of(const model::RunResult& result) {
  if (result.timeline.size() < 2 || result.wall_seconds <= 0) return "";
  const auto [first, last] = std::ranges::minmax(result.timeline, {}, &model::TimelinePoint::at_ns);
  const double seconds = static_cast<double>(last.at_ns - first.at_ns) / 1e9;
  if (2 * seconds > result.wall_seconds) return "";
  return paragraph(fmt::format("From the first change of the card's memory to the last: {:.3g} s of a run of {:.1f} s.",
                               seconds, result.wall_seconds),
                   "muted");
}

std::string pictures(const ShownRun& run, int level) {
  std::string timelines, bars;
  for (const model::DeviceResult& device : run.result->devices) {
    const std::string of = fmt::format("{} (run {})", card_title(device.index, device.name), run.stored.number);
    timelines += timeline_chart(*run.result, device, "Memory over time, " + of);
    bars += owners_bar(run, device.index, "At the fullest moment, " + of) +
            flame_chart(run.flames, device.index, "At the fullest moment, part by part, " + of);
  }
  std::string html;
  if (!timelines.empty()) html += heading(level, "Memory over time") + span_of(*run.result) + timelines;
  if (!bars.empty())
    html += heading(level, run.result->oom ? "What held the card when it ran out" : "What held the peak") + bars;
  if (!run.result->lines_at_peak.empty())
    html += heading(level, "Your lines behind it") + line_table(run.result->lines_at_peak);
  return html;
}

std::string findings(const StoredRun& run, int level) {
  std::vector<std::string> items;
  for (const model::StoredFinding& finding : run.end.findings) {
    items.push_back(fmt::format("{} {}: {}", finding.code, finding.label, finding.text));
  }
  return items.empty() ? "" : heading(level, "Findings") + list(items);
}

}  // namespace

std::string verdict_sentence(const ShownRun& run) {
  const std::string marked = marked_verdict(run);
  const std::size_t space = marked.find(' ');
  return space == std::string::npos ? marked : marked.substr(space + 1);
}

std::string run_section(const ShownRun& run, int level) {
  const StoredRun& stored = run.stored;
  const std::string marked = marked_verdict(run);
  std::string html = fmt::format("<section id=\"run-{}\">\n", stored.number);
  html += heading(level, fmt::format("Run {}: {}", stored.number, stored.start.verb));
  html += fmt::format("<p class=\"verdict {}\">{}</p>\n", word_of(mark_of(run)), escape(marked));
  if (!run.unreadable.empty()) html += paragraph(run.unreadable, "note");
  if (run.sweep) html += sweep_section(*run.sweep, stored.number, level + 1);
  if (run.diagnosis) html += finding_section(*run.diagnosis, level + 1);
  if (run.fit) html += fit_section(run, level + 1);
  if (run.fit && run.result)
    html += heading(level + 1, "The job as it is") + paragraph(report::verdict_line(*run.result));
  if (run.result) html += failure(*run.result, level + 1) + pictures(run, level + 1);
  if (run.result && run.result->modules) html += module_section(*run.result->modules, stored.number, level + 1);
  if (!run.diagnosis) html += findings(stored, level + 1);
  // A fit's or a run's own result knows more of its cards than the history's tables.
  const auto devices = run.result ? model::figures_of(*run.result) : stored.end.devices;
  const auto& phases = run.result ? run.result->phases : stored.end.phases;
  if (!phases.empty()) html += heading(level + 1, "Phases") + phase_table(phases);
  if (!devices.empty()) html += heading(level + 1, "Cards") + device_table(devices);
  if (run.result) html += remarks(*run.result, level + 1);
  html += heading(level + 1, "What was run") + facts_list(stored);
  return html + "</section>\n";
}

}  // namespace vramfit::report::page
