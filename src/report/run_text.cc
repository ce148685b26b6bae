#include "report/run_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/layout.h"
#include "report/modules_text.h"
#include "report/own_counts.h"
#include "report/reach_text.h"

namespace vramfit::report {

using model::RunResult;
using model::Verdict;

namespace {

constexpr std::size_t kOwnerLineWidth = 22, kLeastOwnerWidth = 13, kOwnerAndNameWidth = 31;

bool went_on_after_oom(const RunResult& result) { return result.oom && result.oom->caught; }

std::string percent(base::Bytes part, base::Bytes whole) {
  if (whole.count() <= 0) return "";
  return fmt::format("{:.0f} %", 100.0 * static_cast<double>(part.count()) / static_cast<double>(whole.count()));
}

// How the job ended where it did not simply succeed.
std::string ending(const RunResult& result) {
  if (result.exit_code > 128) return fmt::format("killed by signal {}", result.exit_code - 128);
  return fmt::format("exit code {}", result.exit_code);
}

// "fits", "fits as far as it ran, on": the card's name follows.
std::string_view fits_on(const RunResult& result) {
  return is_settled(result.reach) ? "fits" : "fits as far as it ran, on";
}

std::string describe_verdict(const RunResult& result) {
  const model::DeviceResult* device = fullest(result);
  const std::string name = device != nullptr ? device->name : "the card";
  switch (result.verdict) {
    case Verdict::kFits:
      if (went_on_after_oom(result)) {
        return fmt::format(
            "ran out of memory on {} and went on: the script caught the error{}{}", name,
            result.oom->tried.count() > 0 ? " (" + to_string(result.oom->tried) + " asked for)" : "",
            device != nullptr && device->total.count() > 0
                ? fmt::format("; {} of {} at the peak", to_string(device->peaks.device), to_string(device->total))
                : "");
      }
      if (device == nullptr || device->total.count() == 0) return "it ran";
      if (const auto* used = find_framework(result, device->index)) {
        return fmt::format("{} {}: {} used {} at its peak, in a pool of most of the card", fits_on(result), name,
                           used->name, to_string(used->peak));
      }
      return fmt::format("{} {}: {} of {} at the peak{}", fits_on(result), name, to_string(device->peaks.device),
                         to_string(device->total), result.peak_phase.empty() ? "" : " (" + result.peak_phase + ")");
    case Verdict::kBorderline:
      return fmt::format("borderline on {}: {}", name, result.reason);
    case Verdict::kOutOfMemory:
      return fmt::format(
          "out of memory on {}{}{}", name,
          result.oom && !result.oom->phase.empty() ? " while in phase " + result.oom->phase : "",
          result.oom && result.oom->tried.count() > 0 ? ": tried to allocate " + to_string(result.oom->tried) : "");
    case Verdict::kNoCard:
      return fmt::format("no card was used: {} ({}), so there is nothing to say of its memory", result.reason,
                         ending(result));
    case Verdict::kFailed:
      break;
  }
  return fmt::format("{}: {} ({})", result.interrupted ? "interrupted" : "failed", result.reason, ending(result));
}

// "/home/me/project/train.py:84 in step": where room is short, the file's own name and the line matter most.
std::string shorten_line(const std::string& line, std::size_t width) {
  if (columns(line) <= width) return line;
  const std::size_t slash = line.rfind('/', line.find(':'));
  return slash == std::string::npos ? line : line.substr(slash + 1);
}

void section(std::string& text, std::string_view title) { text += fmt::format("\n{}\n", title); }

void add_stack(std::string& text, const std::vector<model::StackFrame>& stack) {
  for (const model::StackFrame& frame : stack) {
    text += fmt::format("  {}:{} in {}\n", shorten(frame.file, 50), frame.line, shorten(frame.function, 20));
    if (!frame.code.empty()) text += fmt::format("      {}\n", shorten(frame.code, page_width() - 6));
  }
}

void add_oom(std::string& text, const RunResult& result) {
  if (!result.oom) return;
  if (result.oom->caught) {
    if (result.verdict == Verdict::kFits) return;  // the first line says so
    text += "\n" +
            wrap(fmt::format("[!] The script ran out of memory ({} asked for) and went on by itself.",
                             to_string(result.oom->tried)),
                 kPageWidth, 4) +
            "\n";
    return;
  }
  section(text, "Where it ran out");
  add_stack(text, result.oom->stack);
  if (result.oom->loading) text += "  " + wrap(loading_sentence(*result.oom->loading), kPageWidth - 2, 2) + "\n";
  if (!result.oom->message.empty()) text += "  " + wrap(result.oom->message, kPageWidth - 2, 2) + "\n";
}

void add_error(std::string& text, const RunResult& result) {
  const bool is_of_handler = result.error && result.oom && !result.oom->caught;
  if (!result.error || (result.verdict != Verdict::kFailed && !is_of_handler)) return;
  section(text, is_of_handler ? "What failed while the script handled it" : "Where it failed");
  add_stack(text, result.error->stack);
  text += "  " + wrap(fmt::format("{}: {}", result.error->type, result.error->message), kPageWidth - 2, 2) + "\n";
  if (!result.error->remedy.empty()) text += "  " + wrap("try: " + result.error->remedy, kPageWidth - 2, 4) + "\n";
}

void add_devices(std::string& text, const RunResult& result) {
  std::vector<std::vector<std::string>> rows = {{"card", "allocated", "reserved", "device", "of", "used"}};
  for (const model::DeviceResult& device : result.devices) {
    rows.push_back({fmt::format("{} {}", device.index, device.name), to_string(device.peaks.allocated),
                    to_string(device.peaks.reserved), to_string(device.peaks.device),
                    device.total.count() > 0 ? to_string(device.total) : "?",
                    percent(device.peaks.device, device.total)});
  }
  section(text, "Peaks");
  const Column number{Align::kRight, 10};
  text += table({{Align::kLeft, 26}, number, number, number, number, number}, rows);
  for (const model::DeviceResult& device : result.devices) {
    if (device.needs) {
      std::string line = fmt::format("card {} needs at least {}", device.index, to_string(device.needs->bytes));
      line += device.needs->without_retry ? fmt::format("; {} to never have to empty PyTorch's cache, which costs time",
                                                        to_string(*device.needs->without_retry))
                                          : "";
      text += "  " +
              wrap(fmt::format("{} (to {}, {} runs)", line, to_string(device.needs->resolution), device.needs->runs),
                   kPageWidth - 2, 2) +
              "\n";
    }
    if (device.retries > 0 && result.verdict == Verdict::kFits) {
      text += "  " +
              wrap(fmt::format("card {} was full {} times: PyTorch emptied its cache and went on, which costs time",
                               device.index, device.retries),
                   kPageWidth - 2, 2) +
              "\n";
    }
  }
}

void add_phases(std::string& text, const RunResult& result) {
  if (result.phases.empty()) return;
  const bool several = result.devices.size() > 1;
  std::vector<std::vector<std::string>> rows = {
      {"phase", several ? "card" : "", "steps", "allocated", "reserved", "device"}};
  for (const model::PhaseResult& phase : result.phases) {
    rows.push_back({phase.name, several ? fmt::format("{}", phase.device) : "",
                    phase.steps > 0 ? fmt::format("{}", phase.steps) : "", to_string(phase.peaks.allocated),
                    to_string(phase.peaks.reserved), to_string(phase.peaks.device)});
  }
  section(text, "Phases");
  const Column number{Align::kRight, 10};
  text += table({{Align::kLeft, 10}, {Align::kRight, 4}, {Align::kRight, 6}, number, number, number}, rows);
}

void add_owners(std::string& text, const RunResult& result, std::size_t most) {
  base::Bytes whole;
  std::vector<const model::OwnerRow*> rows;
  for (const model::OwnerRow& row : result.owners_at_peak) {
    if (row.device != result.peak_device) continue;
    whole += row.bytes;
    rows.push_back(&row);
  }
  if (rows.empty()) return;
  section(text, result.verdict == Verdict::kOutOfMemory
                    ? fmt::format("What held card {} when it ran out", result.peak_device)
                    : fmt::format("What held card {} at the peak", result.peak_device));
  std::vector<std::vector<std::string>> cells;
  base::Bytes rest;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i >= most && rows[i]->blocks > 0) {
      rest += rows[i]->bytes;
      continue;
    }
    cells.push_back({to_string(rows[i]->bytes), percent(rows[i]->bytes, whole), rows[i]->owner, rows[i]->name,
                     shorten_line(rows[i]->line, kOwnerLineWidth)});
  }
  if (rest.count() != 0) cells.push_back({to_string(rest), percent(rest, whole), "smaller ones", "", ""});
  std::size_t width = kLeastOwnerWidth;
  for (const auto& row : cells) width = std::max(width, columns(row[2]));
  text += table({{Align::kRight, 10},
                 {Align::kRight, 5},
                 {Align::kLeft, width},
                 {Align::kLeft, kOwnerAndNameWidth - width},
                 {Align::kLeft, kOwnerLineWidth}},
                cells);
}

void add_lines(std::string& text, const RunResult& result, std::size_t most) {
  std::vector<std::vector<std::string>> cells;
  for (const model::LineRow& row : result.lines_at_peak) {
    if (row.device == result.peak_device && cells.size() < most) cells.push_back({to_string(row.bytes), row.line});
  }
  if (cells.empty()) return;
  section(text, "Your lines behind it");
  text += table({{Align::kRight, 12}, {Align::kLeft, 62}}, cells);
}

void add_sentences(std::string& text, std::string_view title, const std::vector<std::string>& sentences) {
  if (sentences.empty()) return;
  section(text, title);
  for (const std::string& sentence : sentences) text += "  - " + wrap(sentence, kPageWidth - 4, 4) + "\n";
}

std::vector<std::string> sentences_of(const std::vector<model::Remark>& remarks) {
  std::vector<std::string> sentences;
  for (const model::Remark& remark : remarks) {
    sentences.push_back(remark.count > 1 ? fmt::format("{} ({} times)", remark.text, remark.count) : remark.text);
  }
  return sentences;
}

std::vector<std::string> sentences_of(const std::vector<model::DataDependence>& reads, std::size_t most) {
  std::vector<std::string> sentences;
  for (const model::DataDependence& read : reads) {
    if (sentences.size() == most) {
      sentences.push_back(fmt::format("and {} more places", reads.size() - most));
      break;
    }
    sentences.push_back(read.line.empty() ? read.what : fmt::format("{} at {}", read.what, read.line));
  }
  return sentences;
}

std::string count_of(std::int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string describe_private_files(const model::FilesResult& files) {
  if (files.created + files.changed + files.removed == 0) return "";
  std::string text = count_of(files.created + files.changed, "file") + " written";
  if (files.changed > 0) text += fmt::format(", {} of them over your own", files.changed);
  if (files.removed > 0) text += fmt::format(", {} removed", files.removed);
  return text + (files.kept.empty() ? ": in a private layer, gone now (--keep-files DIR keeps them)"
                                    : ": in a private layer, kept in " + files.kept);
}

std::vector<std::string> sentences_of(const model::FilesResult& files) {
  std::vector<std::string> sentences;
  if (!files.is_private) sentences.emplace_back("files: shared: what the job wrote and removed are your own files");
  if (std::string text = describe_private_files(files); !text.empty()) sentences.push_back(std::move(text));
  if (files.is_full) {
    sentences.push_back(fmt::format("[!] the private layer was full, and the job may have failed for it ({} held)",
                                    to_string(files.held)));
  }
  for (const std::string& path : files.read_only) {
    sentences.push_back(fmt::format("[!] {} could not be covered, and was read-only for the job", path));
  }
  if (!files.network && files.network_attempts > 0) {
    sentences.push_back(fmt::format("network: off, services told to stay offline; {} refused (--network opens it)",
                                    count_of(files.network_attempts, "attempt")));
  }
  return sentences;
}

void add_reach(std::string& text, const model::Reach& reach, bool verbose) {
  std::vector<std::string> lines = reach_sentences(reach);
  if (reach.whole) lines.clear();
  add_sentences(text, "How far it ran", lines);
  add_sentences(text, "[!] Not reached, and it uses the card", unreached_sentences(reach, verbose ? 100 : 5));
  add_sentences(text, "[!] Open", reach.open);
}

// "torch 2.12.1", or what the job used in its place.
std::string framework_of(const RunResult& result) {
  if (!result.torch.empty() || result.frameworks.empty()) return "torch " + (result.torch.empty() ? "?" : result.torch);
  return fmt::format("{} {}", result.frameworks[0].name, result.frameworks[0].version);
}

void add_context(std::string& text, const RunResult& result, std::int64_t number) {
  text += fmt::format("\n{}{}, Python {}, {:.1f} s, {} of host memory\n",
                      number > 0 ? fmt::format("run {}: ", number) : "", framework_of(result),
                      result.python.empty() ? "?" : result.python, result.wall_seconds, to_string(result.host_peak));
}

}  // namespace

std::string loading_sentence(const model::LoadingFacts& loading) {
  if (!loading.to_come) {
    return fmt::format("{} was being built{}: {} of models were on the card, and more was to come.", loading.root,
                       loading.module.empty() ? "" : ", at " + loading.module, to_string(loading.on_card));
  }
  return fmt::format("{} was being {} to the card{}: {} of it were there, {} were to come.", loading.root, loading.how,
                     loading.module.empty() ? "" : ", at " + loading.module, to_string(loading.on_card),
                     to_string(*loading.to_come));
}

Mark verdict_mark(const RunResult& result) {
  switch (result.verdict) {
    case Verdict::kFits:
      return went_on_after_oom(result) ? Mark::kUnsure : Mark::kGood;
    case Verdict::kBorderline:
      return Mark::kUnsure;
    case Verdict::kNoCard:
      return Mark::kNoCard;
    default:
      return result.interrupted ? Mark::kUnsure : Mark::kBad;
  }
}

std::string verdict_line(const RunResult& result) {
  return wrap(fmt::format("{} {}", sign(verdict_mark(result)), describe_verdict(result)), kPageWidth, 4);
}

std::string run_to_text(const RunResult& result, const TextOptions& options) {
  std::string text = verdict_line(result) + "\n";
  add_oom(text, result);
  add_error(text, result);
  const bool reached = !result.phases.empty();
  if (reached) {
    add_devices(text, result);
    add_phases(text, result);
    add_owners(text, result, options.verbose ? 100 : 12);
    for (const auto& [title, sentences] : own_counts(result)) add_sentences(text, title, sentences);
    add_lines(text, result, options.verbose ? 10 : 4);
    if (options.verbose && result.estimated_step) {
      const model::StepTime& step = *result.estimated_step;
      add_sentences(
          text, "Time, from a model of the card",
          {fmt::format("a training step takes {:.3g} s ({:.3g} to {:.3g})", step.seconds, step.low, step.high)});
    }
    if (result.modules) text += modules_to_text(*result.modules, options.verbose ? std::optional<std::size_t>() : 12);
  }
  add_sentences(text, "Plan applied", result.plan_applied);
  add_sentences(text, "Promised of the plan, not compared", result.plan_promised);
  add_sentences(text, "[!] Parts of the plan that this script refuses", result.plan_refused);
  if (reached) add_reach(text, result.reach, options.verbose);
  add_sentences(text, "Left out of the run (--steps all runs everything)", result.cuts);
  add_sentences(text, "[!] Depends on values that a virtual card does not compute (--values cpu does)",
                sentences_of(result.depends_on_data, options.verbose ? 1000 : 3));
  add_sentences(text, "[!] Not modelled", sentences_of(result.not_modelled));
  add_sentences(text, "Measured", result.measured);
  add_sentences(text, "Assumed", sentences_of(result.assumed));
  add_sentences(text, "[!] Untested", result.untested);
  add_sentences(text, "[!] Warnings", sentences_of(result.warnings));
  add_sentences(text, "[!] Not seen in this run", model::sentences_of(result.losses));
  if (result.files) add_sentences(text, "Files and network", sentences_of(*result.files));
  add_context(text, result, options.number);
  if (reached) text += "\n" + verdict_line(result) + "\n";
  return options.color ? paint_marks(text) : text;
}

}  // namespace vramfit::report
