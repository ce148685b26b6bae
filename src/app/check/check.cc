#include "app/check/check.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "app/check/partner.h"
#include "base/interrupt.h"
#include "compare/comparison.h"

namespace vramfit::app {

namespace {

using base::Result;
using model::CheckResult;

std::string why_it_stopped(const model::RunResult& result) {
  if (result.error) return fmt::format("the job failed: {}: {}", result.error->type, result.error->message);
  if (result.oom) return "the job ran out of memory, and is compared up to there";
  if (result.timed_out) return "the run took too long and was ended";
  if (result.exit_code != 0) return fmt::format("the job ended with exit code {}", result.exit_code);
  return "";
}

// Of several snapshots of one run, the one with most in common with the recording.
std::optional<std::pair<CheckResult, Partner>> compare_best(const Recorded& recorded, std::vector<Partner> partners) {
  std::optional<std::pair<CheckResult, Partner>> best;
  for (Partner& partner : partners) {
    CheckResult result = compare::compare(recorded.stream, partner.stream);
    const auto rank = [](const CheckResult& one) { return std::pair(one.same + one.moved, -one.only_virtual); };
    if (!best || rank(result) > rank(best->first)) best.emplace(std::move(result), std::move(partner));
  }
  return best;
}

}  // namespace

Result<CheckResult> check(const CheckRequest& request, Runner& runner, base::ProgressSink& progress,
                          const base::Clock& clock) {
  const base::InterruptScope interrupts;
  const std::int64_t started_ns = clock.now_ns();
  RunRequest job = request.job;
  job.snapshots = request.recorded.format == RecordedFormat::kSnapshot;
  const auto outcome = runner.run(job, progress);
  if (!outcome) return std::unexpected(outcome.error());
  if (outcome->result.interrupted) return base::fail(base::ErrorCode::kInterrupted, "interrupted");
  progress.update("comparing with " + request.recording.filename().string());
  auto best =
      compare_best(request.recorded, find_partners(request.recorded, request.recording.filename().string(), *outcome));
  CheckResult result;
  if (best) {
    result = std::move(best->first);
    result.partner = best->second.description;
  } else {
    result.recorded_events = std::ssize(request.recorded.stream.events);
    result.text = "the virtual run used no memory of a card, so there is nothing to compare";
  }
  result.recording = request.recording.string();
  result.format = name_of(request.recorded.format);
  result.card = job.cards.empty() ? request.recorded.card : job.cards.front().card.name;
  result.torch = outcome->result.torch;
  result.recorded_torch = request.recorded.torch;
  result.notes = request.recorded.notes;
  if (const std::string why = why_it_stopped(outcome->result); !why.empty()) result.notes.push_back(why);
  result.seconds = base::seconds_between(started_ns, clock.now_ns());
  progress.clear();
  return result;
}

}  // namespace vramfit::app
