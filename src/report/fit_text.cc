#include "report/fit_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/fit/parts.h"
#include "report/layout.h"
#include "report/reach_text.h"

namespace vramfit::report {
namespace {

using model::FitResult;
using model::FitVerdict;

constexpr std::size_t kShownOpen = 2;  // so that an answer fits one screen

// Lines of the script that the job with plenty did not come to, nor any plan.
void add_reach(std::string& text, const model::Reach& reach, bool tells_all) {
  std::vector<std::string> sentences = unreached_sentences(reach, 5);
  sentences.insert(sentences.end(), reach.open.begin(), reach.open.end());
  if (sentences.empty()) return;
  text += "\nLeft open\n";
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    if (!tells_all && i == kShownOpen) {
      text += fmt::format("  and {} more (-v shows all, and these in full)\n", sentences.size() - i);
      return;
    }
    text +=
        "  - " + (tells_all ? wrap(sentences[i], kPageWidth - 4, 4) : shorten(sentences[i], page_width() - 4)) + "\n";
  }
}

// What the job did on the card itself: all that is known where the run with plenty was interrupted.
std::string describe_as_is(const FitResult& result) {
  if (!result.as_is.oom) return result.as_is.verdict == model::Verdict::kFits ? "fits" : "does not fit";
  return fmt::format("runs out of memory in phase {}, asking for {}", result.as_is.oom->phase,
                     to_string(result.as_is.oom->tried));
}

void add_demand(std::string& text, const FitResult& result, bool tells_all) {
  if (!result.free_run) {
    if (result.was_interrupted && result.as_is.oom) {
      const std::string known = describe_as_is(result);
      text += "\n" +
              wrap(fmt::format("As it is, the job {}. What it takes with room was not seen to its end.", known),
                   kPageWidth, 0) +
              "\n";
    }
    return add_reach(text, result.as_is.reach, tells_all);
  }
  const model::DeviceResult* device = fullest(*result.free_run);
  if (device == nullptr) return;
  text += "\n" +
          wrap(fmt::format(
                   "As it is, the job {}{}. With room, it takes {} at its peak ({}); {} of them are tensors.",
                   describe_as_is(result), result.as_is.verdict == model::Verdict::kBorderline ? " (a close call)" : "",
                   to_string(device->peaks.device), result.free_run->peak_phase, to_string(device->peaks.allocated)),
               kPageWidth, 0) +
          "\n";
  // What the run with room warned of is often the cause, and something that no technique changes: memory that grows.
  for (const model::Remark& warning : result.free_run->warnings)
    text += wrap("[!] " + warning.text, kPageWidth, 4) + "\n";
  add_reach(text, result.free_run->reach, tells_all);
}

void add_cause(std::string& text, const FitResult& result) {
  if (!result.cause) return;
  const model::ScriptCause& cause = *result.cause;
  text += "\nWhat is wrong in the script\n";
  text += "  - " + wrap(cause.text, kPageWidth - 4, 4) + "\n";
  if (!cause.line.empty()) text += "    " + wrap("at " + cause.line, kPageWidth - 4, 4) + "\n";
  text += "    " + wrap("help: " + cause.remedy, kPageWidth - 4, 4) + "\n";
}

// Commands are for copying: never wrapped.
void add_commands(std::string& text, const FitResult& result) {
  if (result.plan_file.empty()) {
    if (!result.plans.empty() && !result.reason.empty())
      text += "\n" + wrap("[!] " + result.reason, kPageWidth, 4) + "\n";
    return;
  }
  text += fmt::format("\nThe best plan is in {}. To train, to prove it again, as a diff:\n  {}\n  {}\n  {}\n",
                      result.plan_file, result.train_command, result.prove_command, result.patch_command);
}

std::string describe_ending(const FitResult& result) {
  const bool is_largest = result.goal == model::FitGoal::kMaxBatch;
  if (is_largest && result.cheapest_known) return "";
  const char* what = is_largest                                     ? "a larger batch may fit"
                     : result.goal == model::FitGoal::kSameTraining ? "a cheaper plan may exist"
                                                                    : "a better plan may exist";
  if (result.was_interrupted) return fmt::format("; interrupted, so {}", what);
  if (!result.cheapest_known) return fmt::format("; the search ended early, so {} (--budget SECONDS)", what);
  const char* better = result.goal == model::FitGoal::kSameTraining ? "cheaper" : "better";
  if (result.only_foreseen == 0) return fmt::format("; nothing {} is left that could fit", better);
  return fmt::format("; {} {} ones were not run, which are too large by the forecast alone", result.only_foreseen,
                     better);
}

void add_effort(std::string& text, const FitResult& result, std::int64_t number) {
  std::string line =
      fmt::format("{} in {:.1f} s", count_of(static_cast<std::size_t>(result.runs), "run"), result.seconds);
  if (result.candidates > 0 && result.goal != model::FitGoal::kMaxBatch) {
    line +=
        fmt::format("; {}, {} ruled out without a run", count_of(result.candidates, "combination"), result.ruled_out);
  }
  if (result.verdict == FitVerdict::kPlanFits) line += describe_ending(result);
  if (number > 0) line += fmt::format("; noted as run {} of the history", number);
  text += "\n" + wrap(line, kPageWidth, 0) + "\n";
}

void add_what_is_left_out(std::string& text, const FitResult& result) {
  const auto is_out = [](const model::TechniqueRow& row) { return row.standing != "applicable"; };
  const auto out = std::ranges::count_if(result.techniques, is_out);
  if (result.lost.empty() && out == 0 && result.front.empty()) return;
  const std::string words =
      fmt::format("-v tells why {} and {} are not the answer, and memory against time for {}.",
                  count_of(result.lost.size(), "other plan"), count_of(static_cast<std::size_t>(out), "technique"),
                  count_of(result.front.size(), "plan"));
  text += wrap(words, kPageWidth, 0) + "\n";
}

}  // namespace

std::string fit_to_text(const FitResult& result, const TextOptions& options) {
  std::string text = fit_verdict_line(result) + "\n";
  // Where a plan is the answer, what is not is for those who ask.
  const bool tells_all = options.verbose || result.plans.empty();
  add_demand(text, result, tells_all);
  for (const std::string& sentence : result.as_is.untested)
    text += "\n" + wrap("[!] " + sentence, kPageWidth, 4) + "\n";
  add_cause(text, result);
  add_plans(text, result, tells_all);
  add_consequences(text, result);
  add_source(text, result, options.verbose);
  if (tells_all) {
    add_losers(text, result, options.verbose);
    add_techniques(text, result);
  }
  if (options.verbose) add_times(text, result);
  if (options.verbose) add_front(text, result);
  add_floor(text, result);
  add_advice(text, result);
  if (tells_all) {
    add_hardware(text, result);
  } else {
    add_cheapest_card(text, result);
  }
  add_commands(text, result);
  add_effort(text, result, options.number);
  if (!tells_all) add_what_is_left_out(text, result);
  text += "\n" + fit_verdict_line(result) + "\n";
  return options.color ? paint_marks(text) : text;
}

}  // namespace vramfit::report
