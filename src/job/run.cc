#include "job/run.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/empty_terminal.h"
#include "base/interrupt.h"
#include "base/job_control.h"
#include "base/subprocess.h"
#include "job/another_try.h"
#include "job/borderline.h"
#include "job/job_run.h"
#include "job/python_command.h"
#include "job/run_on.h"
#include "job/so_far.h"

namespace vramfit::job {

using base::Result;

namespace {

// In the zygote that several vramfits share, as in a process of its own. Nothing: the job is not for it.
std::optional<Result<base::Ended>> run_shared(const JobRun& run, const RunRequest& request,
                                              const std::optional<PythonCommand>& python, const base::Tick& tick) {
  const auto path = shared_zygote();
  // A module is mostly a launcher.
  if (!path || !python || python->is_module || request.real) return std::nullopt;
  auto zygote = Zygote::join(*path);
  if (!zygote) return std::unexpected(zygote.error());
  ZygoteJob job = run.for_zygote(*python);
  job.has_our_streams = !request.quiet_child;
  job.grace_seconds = base::Launch{}.grace_seconds;
  auto ended = zygote->run(job, tick);
  if (!ended && ended.error().code == base::ErrorCode::kUnsupported) return std::nullopt;
  return ended;
}

Result<RunOutcome> run_once(const JobSetup& setup, const RunRequest& request, base::ProgressSink& progress) {
  auto run = JobRun::open(setup, request);
  if (!run) return std::unexpected(run.error());
  base::Launch launch;
  launch.argv = setup.job.command;
  launch.environment = run->environment();
  launch.timeout_seconds = request.timeout_seconds;
  launch.enter = run->layer().entry();
  launch.takes_terminal = !request.quiet_child;
  if (request.quiet_child) {
    launch.input = base::background_input();
    launch.output = request.child_output.empty() ? "/dev/null" : request.child_output;
  }
  SoFar so_far(*run);
  const auto python = parse_python_command(setup.job.command);
  const std::string& script = python && !python->argv.empty() ? python->argv.front() : launch.argv.front();
  const auto tick = [&](double seconds) {
    if (!request.quiet_child) so_far.look(progress);
    // The job's own output shares the terminal: a passing line is only shown when the job says nothing.
    if (request.quiet_child) progress.update(fmt::format("running {} ({:.0f} s)", script, seconds));
  };
  const auto shared = run_shared(*run, request, python, tick);
  const auto ended = shared ? *shared : base::run_to_end(launch, tick);
  progress.clear();
  if (!ended) return std::unexpected(ended.error());
  return run->read(*ended);
}

}  // namespace

RunRequest limit_run(RunRequest request, double seconds_used) {
  if (!request.whole_seconds) return request;
  const double left = std::max(0.0, *request.whole_seconds - seconds_used);
  request.timeout_seconds = std::min(request.timeout_seconds.value_or(left), left);
  return request;
}

Result<RunOutcome> ColdRunner::run(const RunRequest& request, base::ProgressSink& progress) {
  const base::InterruptScope interrupts;
  const auto setup = prepare_job(request, progress);
  if (!setup) return std::unexpected(setup.error());
  RunRequest asked = request;
  const std::int64_t started_ns = base::awake_clock().now_ns();
  const auto run_next = [&](const RunRequest& next) {
    const double used = base::seconds_between(started_ns, base::awake_clock().now_ns());
    return run_once(*setup, limit_run(next, used), progress);
  };
  auto outcome = run_with_retries(asked, run_next, [&](std::string_view why) {
    if (!request.quiet_child) progress.say(std::string(why));
  });
  if (!outcome) return outcome;
  if (asked.settles_borderline) settle_borderline(asked, *outcome, run_next);
  const auto run_after = [&](const RunRequest& next) {
    progress.update("running it once more, cut short, to see what comes after");
    return run_next(next);
  };
  outcome = complete(asked, std::move(*outcome), run_after);
  progress.clear();
  return outcome;
}

}  // namespace vramfit::job
