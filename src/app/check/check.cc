#include "app/check/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "app/check/compared_run.h"
#include "app/check/learned_workspaces.h"
#include "base/interrupt.h"

namespace vramfit::app {

namespace {

using base::Result;
using model::Agreement;
using model::CheckResult;

std::string why_it_stopped(const model::RunResult& result) {
  if (result.error) return fmt::format("the job failed: {}: {}", result.error->type, result.error->message);
  if (result.oom) return "the job ran out of memory, and is compared up to there";
  if (result.timed_out) return "the run took too long and was ended";
  if (result.exit_code != 0) return fmt::format("the job ended with exit code {}", result.exit_code);
  return "";
}

void describe(const CheckRequest& request, const ComparedRun& compared, CheckResult& result) {
  const model::RunResult& run = compared.outcome.result;
  result.recording = request.recording.string();
  result.format = name_of(request.recorded.format);
  result.card = request.job.cards.empty() ? request.recorded.card : request.job.cards.front().card.name;
  result.torch = run.torch;
  result.recorded_torch = request.recorded.torch;
  result.notes = request.recorded.notes;
  if (compared.partner && compared.partner->device != request.recorded.device) {
    result.notes.push_back(
        fmt::format("device {} of the recording is compared with device {} of the run, which uses no "
                    "device {}: --gpu with as many cards as the job had",
                    request.recorded.device, compared.partner->device, request.recorded.device));
  }
  if (const std::string why = why_it_stopped(run); !why.empty()) result.notes.push_back(why);
  std::ranges::copy(run.untested, std::back_inserter(result.notes));
}

// What is left of a damaged recording proves nothing, however well it agrees; and that is the first thing to know.
void tell_damage(const std::string& damage, CheckResult& result) {
  if (damage.empty()) return;
  const bool agrees = result.agreement == Agreement::kSame || result.agreement == Agreement::kReordered;
  if (agrees) result.agreement = Agreement::kNotCompared;
  result.text = fmt::format("the recording is damaged ({}); of what is left, {}", damage, result.text);
}

bool is_same(const CheckResult& result) {
  return result.agreement == Agreement::kSame || result.agreement == Agreement::kReordered;
}

// Where all calls of the job are the same, the places of its blocks tell how the driver hands out addresses. What it is
// told of context and libraries is of the card, not of the recording.
void learn_the_rest(const CheckRequest& request, CheckAnswer& answer) {
  CheckResult& result = answer.result;
  if (is_same(result)) answer.lesson.address_order = job::parse_address_order(result.recorded_address_order);
  if (answer.lesson.address_order) {
    result.learned.push_back(
        fmt::format("the order of addresses on {}: {}", result.card, result.recorded_address_order));
  }
  if (request.job.measured_overhead) {
    answer.lesson.measured_overhead = request.job.measured_overhead;
    result.learned.push_back(fmt::format("what context and libraries hold on {}: {}", result.card,
                                         to_string(request.job.measured_overhead->bytes)));
  }
  if (answer.lesson.is_empty()) {
    result.notes.emplace_back(is_same(result)
                                  ? "nothing was learned: the recording does not tell its driver's order of addresses"
                                  : "nothing was learned: the recording is of another run");
  }
}

}  // namespace

Result<CheckAnswer> check(const CheckRequest& request, job::Runner& runner, base::ProgressSink& progress,
                          const base::Clock& clock) {
  const base::InterruptScope interrupts;
  const std::int64_t started_ns = clock.now_ns();
  auto compared = compare_run(request, request.job, runner, progress);
  if (!compared) return std::unexpected(compared.error());
  CheckAnswer answer;
  std::string about_workspaces;
  tell_damage(request.recorded.damage, compared->result);
  const bool may_learn = request.learn && request.recorded.damage.empty();
  if (may_learn && compared->result.agreement == Agreement::kDifferent) {
    auto lesson = learn_workspaces(request, compared->result, runner, progress);
    if (!lesson) return std::unexpected(lesson.error());
    about_workspaces = std::move(lesson->note);
    answer.lesson.workspaces = std::move(lesson->workspaces);
    if (!answer.lesson.workspaces.empty()) *compared = std::move(lesson->run);
  }
  answer.result = std::move(compared->result);
  describe(request, *compared, answer.result);
  auto& told = answer.lesson.workspaces.empty() ? answer.result.notes : answer.result.learned;
  if (!about_workspaces.empty()) told.push_back(std::move(about_workspaces));
  if (request.learn) learn_the_rest(request, answer);
  answer.result.seconds = base::seconds_between(started_ns, clock.now_ns());
  progress.clear();
  return answer;
}

}  // namespace vramfit::app
