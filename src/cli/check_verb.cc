// vramfit check: a recording of a real card beside the virtual run of the same job. 0 = the same, but for events that
// change places; 1 = it differs; 4 = it could not be compared.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <memory>

#include "app/check/check.h"
#include "base/clock.h"
#include "base/subprocess.h"
#include "cli/job_options.h"
#include "cli/json_output.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "job/learned.h"
#include "job/run.h"
#include "report/check_report.h"

namespace vramfit::cli {

namespace {

constexpr int kExitDiffers = 1, kExitNotCompared = 4;

struct CheckOptions {
  JobOptions job;
  std::string recording;
  int device = -1;
  bool learn = false;
};

int exit_code_of(model::Agreement agreement) {
  switch (agreement) {
    case model::Agreement::kSame:
    case model::Agreement::kReordered:
      return 0;
    case model::Agreement::kDifferent:
      return kExitDiffers;
    case model::Agreement::kNotCompared:
      break;
  }
  return kExitNotCompared;
}

base::Result<app::CheckRequest> build_check(CheckOptions options, const Command& command,
                                            base::ProgressSink& progress) {
  app::CheckRequest request;
  request.recording = options.recording;
  progress.update("reading " + request.recording.filename().string());
  auto recorded =
      app::read_recorded(request.recording, options.device < 0 ? std::nullopt : std::optional(options.device));
  progress.clear();
  if (!recorded) return std::unexpected(recorded.error());
  if (options.job.gpus.empty() && !recorded->card.empty()) {
    progress.say("the card, from the recording: " + recorded->card);
    options.job.gpus.push_back(recorded->card);
  }
  if (options.job.gpus.empty()) {
    return base::fail(base::ErrorCode::kUsage, "the recording does not name its card", "--gpu",
                      "name it, as in --gpu \"RTX 4060 Ti\"");
  }
  auto job = build_request(options.job, command, progress);
  if (!job) return std::unexpected(job.error());
  if (job->real) {
    return base::fail(base::ErrorCode::kUsage, "check runs the job on a virtual card", "--gpu real",
                      "name the card that was recorded");
  }
  request.job = std::move(*job);
  request.recorded = std::move(*recorded);
  request.learn = options.learn;
  return request;
}

base::Result<void> keep(const app::CheckRequest& request, job::Learned lesson) {
  const auto file = job::find_learned_file(base::current_environment());
  if (!file) {
    return base::fail(base::ErrorCode::kUsage, "there is no place to keep what is learned", "--learn",
                      "unset VRAMFIT_STORE, or name a file with it");
  }
  lesson.recording = request.recording.filename().string();
  lesson.date = fmt::format("{:%Y-%m-%d}", std::chrono::system_clock::now());
  return job::keep_learned(*file, request.job.cards.front().card.key, lesson);
}

base::Result<int> act(const CheckOptions& options, const Command& command) {
  JsonOutput output(options.job.json);
  TerminalProgress progress(stderr_is_terminal(), base::steady_clock());
  const auto request = build_check(options, command, progress);
  if (!request) return std::unexpected(request.error());
  job::ColdRunner runner;
  const auto answer = app::check(*request, runner, progress, base::steady_clock());
  progress.clear();
  if (!answer) return std::unexpected(answer.error());
  const model::CheckResult& result = answer->result;
  if (!answer->lesson.is_empty()) {
    if (auto kept = keep(*request, answer->lesson); !kept) return std::unexpected(kept.error());
  }
  print_page(report::check_to_text(result, {options.job.verbose, wants_color(STDOUT_FILENO), 0}));
  const auto written = output.write(report::check_to_json(result, VRAMFIT_VERSION));
  if (!written) return std::unexpected(written.error());
  return exit_code_of(result.agreement);
}

}  // namespace

Verb add_check_verb(const Parser& parser) {
  auto options = std::make_shared<CheckOptions>();
  const Parser verb =
      parser.add_verb("check", "Run a job on a virtual card and compare it with a recording of a real one");
  verb.add_option("recording", options->recording,
                  "A memory snapshot, a trace of torch.profiler with profile_memory, or a run folder")
      .required();
  options->job.steps = "all";
  add_job_options(verb, options->job);
  verb.option("--gpu").required(false);
  verb.add_option("--device", options->device, "Which device of the recording: the busiest, unless it is said");
  verb.add_flag(
      "--learn", options->learn,
      "Keep for later runs what the recording tells of the card: workspaces of convolutions, order of addresses");
  verb.examples({"vramfit check snapshot.pickle -- python train.py",
                 "vramfit check trace.json --gpu rtx3090 --learn -- python train.py"});
  return {verb, [options](const Command& command) {
            const auto code = act(*options, command);
            return code ? *code : report_error(code.error());
          }};
}

}  // namespace vramfit::cli
