#include "job/warm_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "base/host_memory.h"
#include "base/interrupt.h"
#include "base/job_control.h"
#include "job/another_try.h"
#include "job/borderline.h"
#include "job/run_on.h"

namespace vramfit::job {

using base::Result;

Result<RunOutcome> WarmRunner::run_cold(const RunRequest& request, base::ProgressSink& progress, std::string reason) {
  cold_reason_ = std::move(reason);
  RunRequest quiet = request;
  quiet.quiet_child = true;
  return cold_.run(quiet, progress);
}

Result<void> WarmRunner::start_zygote(const JobRun& run) {
  if (zygote_) return {};
  if (const auto path = shared_zygote(); path && !is_unsuitable_) {
    auto shared = Zygote::join(*path);
    if (!shared) return std::unexpected(shared.error());
    zygote_.emplace(std::move(*shared));
    return {};
  }
  // The zygote belongs to no session: its forks are told theirs one by one.
  base::Environment environment = run.environment();
  for (const char* name : {"VRAMFIT_LEDGER", "VRAMFIT_RUN_DIR", "VRAMFIT_PLAN", "VRAMFIT_VERIFY"})
    environment.erase(name);
  auto zygote = Zygote::start(*python_, environment);
  if (!zygote) return std::unexpected(zygote.error());
  zygote_.emplace(std::move(*zygote));
  return {};
}

void WarmRunner::end_zygote() {
  zygote_.reset();  // first: it ends its jobs, whose sessions go then
  begun_.clear();
}

// Whether another job may run beside this one: there is a processor for it, and memory for several of the largest
// processes that were seen.
bool WarmRunner::has_room() const {
  constexpr std::int64_t kAssumed = std::int64_t{2} << 30, kTimes = 4;
  return std::thread::hardware_concurrency() > 1 &&
         base::available_memory() > kTimes * std::max(most_resident_, kAssumed);
}

RunRequest WarmRunner::start(RunRequest request) {
  const bool is_known = setup_ && command_ == request.command && python_ && !request.real;
  if (!is_known || request.begun != 0 || !has_room()) return request;
  RunRequest asked = limit_run(request, 0);
  if (asked.retry == RetryOptions{}) asked.retry = kept_retry_;
  auto run = JobRun::open(*setup_, asked);
  if (!run || !run->layer().stands_alone() || !start_zygote(*run)) return request;
  const ZygoteJob job = run->for_zygote(*python_);
  const auto id = zygote_->start(job);
  if (!id) return request;
  request.begun = ++last_begun_;
  request.retry = asked.retry;  // what is found from here on came too late for it
  begun_.emplace(request.begun, Begun{std::move(*run), job, *id});
  return request;
}

Result<RunOutcome> WarmRunner::run_warm(const RunRequest& request, base::ProgressSink& progress) {
  const auto tell = [&](double seconds) {
    progress.update(fmt::format("running {} ({:.0f} s)", python_->argv.front(), seconds));
  };
  if (auto begun = begun_.extract(request.begun)) {
    const auto ended = zygote_->wait(begun.mapped().id, begun.mapped().job, tell);
    if (ended) return begun.mapped().run.read(*ended);
    if (ended.error().code != base::ErrorCode::kUnsupported) return std::unexpected(ended.error());
  }
  auto run = JobRun::open(*setup_, request);
  if (!run) return std::unexpected(run.error());
  if (auto ready = start_zygote(*run); !ready) return std::unexpected(ready.error());
  const ZygoteJob job = run->for_zygote(*python_);
  const auto ended = zygote_->run(job, tell);
  if (!ended && zygote_->is_shared() && ended.error().code == base::ErrorCode::kUnsupported) {
    is_unsuitable_ = true;
    end_zygote();
    return run_warm(request, progress);
  }
  if (!ended) return std::unexpected(ended.error());
  most_resident_ = std::max(most_resident_, ended->peak_resident_bytes);
  return run->read(*ended);
}

Result<void> WarmRunner::prepare(const RunRequest& request, base::ProgressSink& progress) {
  if (setup_ && command_ == request.command) return {};
  end_zygote();
  is_unsuitable_ = false;
  kept_retry_ = {};
  auto setup = prepare_job(request, progress);
  if (!setup) return std::unexpected(setup.error());
  setup_ = std::move(*setup);
  command_ = request.command;
  python_ = parse_python_command(setup_->job.command);
  return {};
}

Result<RunOutcome> WarmRunner::run(const RunRequest& request, base::ProgressSink& progress) {
  const base::InterruptScope interrupts;
  if (auto prepared = prepare(request, progress); !prepared) return std::unexpected(prepared.error());
  if (request.real) return run_cold(request, progress, "a real card");
  if (!python_) return run_cold(request, progress, "the command is not a Python script");
  RunRequest asked = request;
  if (asked.retry == RetryOptions{} && !begun_.contains(asked.begun)) asked.retry = kept_retry_;
  const std::int64_t started_ns = base::awake_clock().now_ns();
  const auto run_next = [&](const RunRequest& next) {
    return run_warm(limit_run(next, base::seconds_between(started_ns, base::awake_clock().now_ns())), progress);
  };
  auto outcome = run_with_retries(asked, run_next, [](std::string_view) {});
  if (outcome) {
    kept_retry_ = asked.retry;
    cold_reason_.clear();
    if (asked.settles_borderline) settle_borderline(asked, *outcome, run_next);
    return complete(asked, std::move(*outcome), run_next);
  }
  end_zygote();
  if (outcome.error().code == base::ErrorCode::kInterrupted) return outcome;
  return run_cold(request, progress, outcome.error().what);
}

}  // namespace vramfit::job
