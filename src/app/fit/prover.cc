#include "app/fit/prover.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "ingest/plan_file.h"
#include "model/number_text.h"
#include "model/snapshot_line.h"
#include "plan/promise.h"

namespace vramfit::app {
namespace {

std::vector<std::string> ids_of(const std::vector<facts::TechniqueNote>& notes) {
  std::vector<std::string> ids;
  for (const facts::TechniqueNote& technique : notes) ids.push_back(technique.id);
  return ids;
}

plan::Outcome outcome_of(model::Verdict verdict) {
  switch (verdict) {
    case model::Verdict::kFits:
      return plan::Outcome::kFits;
    case model::Verdict::kBorderline:
      return plan::Outcome::kBorderline;
    case model::Verdict::kOutOfMemory:
      return plan::Outcome::kOutOfMemory;
    case model::Verdict::kFailed:
    case model::Verdict::kNoCard:
      break;
  }
  return plan::Outcome::kFailed;
}

// How many steps a phase took. Nothing: the run did not reach it.
std::optional<std::int64_t> steps_of(const model::RunResult& result, std::string_view phase) {
  std::optional<std::int64_t> steps;
  for (const model::PhaseResult& seen : result.phases) {
    if (seen.name == phase) steps = std::max(steps.value_or(0), seen.steps);
  }
  return steps;
}

// Why a run is no proof although it ended well. Empty: it is one.
std::string find_gap(const job::RunOutcome& outcome, const model::Plan& plan, const PhaseSteps& phases) {
  const auto applied = ids_of(outcome.facts->told.plan_applied);
  for (const model::Change& change : plan.changes) {
    if (std::ranges::find(applied, change.technique) == applied.end()) {
      return fmt::format("{} never came into force in this run", change.technique);
    }
  }
  for (const auto& [phase, steps_without] : phases) {
    const auto steps = steps_of(outcome.result, phase);
    if (!steps) return fmt::format("the run ended before phase {}", phase);
    if (steps == 0 && steps_without > 0 && phase == model::phase::kTrain)
      return "no optimizer step was taken in this run";
  }
  return "";
}

void add_peaks(const model::RunResult& result, plan::Proof& proof) {
  const model::DeviceResult* device = model::fullest(result);
  if (device == nullptr) return;
  proof.peak_device = device->peaks.device;
  proof.peak_reserved = device->peaks.reserved;
  proof.peak_allocated = device->peaks.allocated;
  proof.retries = device->retries;
}

// "train.py:12", the script's own line that asked; empty where only libraries' are known.
std::string line_that_ran_out(const model::RunResult& result) {
  if (!result.oom) return "";
  const auto& stack = result.oom->stack;
  const auto innermost = [&](const auto& fits) {
    return std::find_if(stack.rbegin(), stack.rend(), [&](const model::StackFrame& frame) { return fits(frame.file); });
  };
  auto told = innermost([](const std::string& file) { return !model::is_library(file); });
  if (told == stack.rend()) told = innermost(model::is_package_beside_torch);
  if (told == stack.rend()) return "";
  return fmt::format("{}:{}", std::filesystem::path(told->file).filename().string(), told->line);
}

// A loop that counts its batches ends too soon when each batch is delivered in several parts.
std::string find_missing_steps(const model::RunResult& result, const model::Plan& plan, std::int64_t wanted) {
  const std::int64_t steps = steps_of(result, model::phase::kTrain).value_or(0);
  if (std::ranges::none_of(plan.changes, plan::accumulates) || !result.reach.whole || steps == wanted) return "";
  return fmt::format("it ends after {} optimizer steps instead of {}: the script counts batches itself", steps, wanted);
}

std::string first_of(const std::vector<std::string>& sentences) { return sentences.empty() ? "" : sentences.front(); }

}  // namespace

plan::Proof judge(const job::RunOutcome& outcome, const model::Plan& plan, const PhaseSteps& phases) {
  const model::RunResult& result = outcome.result;
  plan::Proof proof;
  proof.outcome = outcome_of(result.verdict);
  const bool failed_after_oom = result.verdict == model::Verdict::kFailed && result.oom && !result.timed_out;
  if (failed_after_oom) proof.outcome = plan::Outcome::kOutOfMemory;
  proof.phase = result.oom ? result.oom->phase : result.peak_phase;
  proof.tried = result.oom ? result.oom->tried : base::Bytes(0);
  proof.wall_seconds = result.wall_seconds;
  proof.patch = outcome.patch;
  proof.refused = ids_of(outcome.facts->told.plan_refused);
  add_peaks(result, proof);
  if (!proof.refused.empty()) {
    proof.outcome = plan::Outcome::kRefused;
    proof.detail = first_of(result.plan_refused);
  } else if (result.timed_out) {
    proof.outcome = plan::Outcome::kTimedOut;
    proof.detail = fmt::format("it had not ended after {:.0f} s", result.wall_seconds);
  } else if (proof.outcome == plan::Outcome::kFailed) {
    proof.detail = result.error ? fmt::format("{}: {}", result.error->type, result.error->message) : result.reason;
  } else if (proof.outcome == plan::Outcome::kOutOfMemory) {
    proof.detail = line_that_ran_out(result);
  } else {
    if (proof.outcome == plan::Outcome::kBorderline) proof.detail = result.reason;
    const bool ran_out = proof.outcome == plan::Outcome::kBorderline && result.oom;  // perhaps before its first step
    if (std::string gap = ran_out ? "" : find_gap(outcome, plan, phases); !gap.empty()) {
      proof.outcome = plan::Outcome::kFailed;
      proof.detail = std::move(gap);
    }
  }
  return proof;
}

std::optional<std::int64_t> whole_steps_of(const model::RunResult& result) {
  if (!result.reach.whole) return std::nullopt;
  return steps_of(result, model::phase::kTrain).value_or(0);
}

PhaseSteps phases_to_see(const model::Job& job) {
  PhaseSteps phases;
  for (const model::PhaseFacts& facts : job.phases) {
    if (facts.phase == model::phase::kTrain || model::is_evaluation(facts.phase)) phases[facts.phase] = facts.steps;
  }
  return phases;
}

RunProver::RunProver(job::RunRequest request, PhaseSteps phases, std::filesystem::path folder, job::Runner& runner)
    : request_(std::move(request)), phases_(std::move(phases)), folder_(std::move(folder)), runner_(runner) {}

base::Result<job::RunRequest> RunProver::request_of(const model::Plan& plan, double seconds_left) {
  const std::filesystem::path file = folder_ / fmt::format("plan-{}.json", ++number_);
  if (auto written = ingest::write_plan(file, plan); !written) return std::unexpected(written.error());
  job::RunRequest request = request_;
  if (request.patient_seconds) {
    request.patient_seconds = std::min(*request.patient_seconds, seconds_left);
  } else {
    request.whole_seconds = seconds_left;
  }
  request.plan = file;
  return request;
}

void RunProver::begin(const model::Plan& plan, double seconds_left) {
  auto request = request_of(plan, seconds_left);
  if (!request) return;  // `prove` tells
  *request = runner_.start(std::move(*request));
  if (request->begun != 0) begun_.emplace_back(plan, std::move(*request));
}

base::Result<plan::Proof> RunProver::prove(const model::Plan& plan, double seconds_left) {
  const auto begun = std::ranges::find(begun_, plan, &std::pair<model::Plan, job::RunRequest>::first);
  const auto request =
      begun != begun_.end() ? base::Result<job::RunRequest>(begun->second) : request_of(plan, seconds_left);
  if (!request) return std::unexpected(request.error());
  if (begun != begun_.end()) begun_.erase(begun);
  // The run's own progress would hide which plan is being tried.
  auto outcome = runner_.run(*request, base::silent_progress());
  if (!outcome) return std::unexpected(outcome.error());
  if (outcome->result.interrupted) return base::fail(base::ErrorCode::kInterrupted, "interrupted");
  plan::Proof proof = judge(*outcome, plan, phases_);
  if (proof.outcome == plan::Outcome::kFits && whole_steps_) {
    proof.detail = find_missing_steps(outcome->result, plan, *whole_steps_);
    if (!proof.detail.empty()) proof.outcome = plan::Outcome::kRefused;
  }
  return proof;
}

}  // namespace vramfit::app
