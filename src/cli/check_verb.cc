// vramfit check: a recording of a real card beside the virtual run of the same job. 0 = the same, but for events that
// change places; 1 = it differs; 4 = it could not be compared.
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "app/check/check.h"
#include "app/run.h"
#include "base/clock.h"
#include "cli/job_options.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "report/check_report.h"

namespace vramfit::cli {

namespace {

constexpr int kDiffers = 1, kNotCompared = 4;

struct CheckOptions {
  JobOptions job;
  std::string recording;
  int device = -1;
};

int exit_code_of(model::Agreement agreement) {
  switch (agreement) {
    case model::Agreement::kSame:
    case model::Agreement::kReordered:
      return 0;
    case model::Agreement::kDifferent:
      return kDiffers;
    case model::Agreement::kNotCompared:
      break;
  }
  return kNotCompared;
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
  return request;
}

base::Result<int> act(const CheckOptions& options, const Command& command) {
  TerminalProgress progress(stderr_is_terminal(), base::steady_clock());
  const auto request = build_check(options, command, progress);
  if (!request) return std::unexpected(request.error());
  app::ColdRunner runner;
  const auto result = app::check(*request, runner, progress, base::steady_clock());
  progress.clear();
  if (!result) return std::unexpected(result.error());
  print(report::check_to_text(*result, {options.job.verbose, wants_color(STDOUT_FILENO), 0}));
  const auto written =
      write_json(options.job.json, report::check_to_json(*result, VRAMFIT_VERSION)
                                           .dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
                                       "\n");
  if (!written) return std::unexpected(written.error());
  return exit_code_of(result->agreement);
}

}  // namespace

Verb add_check_verb(CLI::App& parser) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* verb =
      parser.add_subcommand("check", "Run a job on a virtual card and compare it with a recording of a real one");
  verb->add_option("recording", options->recording,
                   "A memory snapshot, a trace of torch.profiler with profile_memory, or a run folder")
      ->required();
  options->job.steps = "all";
  add_job_options(*verb, options->job);
  verb->get_option("--gpu")->required(false);
  verb->add_option("--device", options->device, "Which device of the recording: the busiest, unless it is said");
  return {verb, [options](const Command& command) {
            const auto code = act(*options, command);
            return code ? *code : report_error(code.error());
          }};
}

}  // namespace vramfit::cli
