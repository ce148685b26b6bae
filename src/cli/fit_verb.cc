// vramfit fit: the cheapest changes that make a job fit a card. 0 = a plan fits, or the job fits already; 1 = none
// does.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "app/fit/fit.h"
#include "base/clock.h"
#include "cli/job_options.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "history/run_book.h"
#include "job/warm_runner.h"
#include "report/fit_json.h"
#include "report/fit_text.h"

namespace vramfit::cli {

namespace {

struct FitOptions {
  JobOptions job;
  std::string keep = "effective-batch";
  std::string plan_out = "vramfit-plan.json";
  std::vector<std::string> only, deny;
  bool no_verify = false;
  double budget_seconds = 0;  // 0: as long as the job's runs make it worth while
};

base::Result<int> act(const FitOptions& options, const Command& command) {
  TerminalProgress progress(stderr_is_terminal(), base::steady_clock());
  auto run = build_request(options.job, command, progress);
  if (!run) return std::unexpected(run.error());
  if (!run->files.keep.empty()) {
    return base::fail(base::ErrorCode::kUsage, "fit runs the job many times, each time with files of its own",
                      "--keep-files", "vramfit run --plan with the plan, and --keep-files");
  }
  app::FitRequest request;
  request.run = std::move(*run);
  request.gpu = fmt::format("{}", fmt::join(options.job.gpus, ","));
  request.keep_effective_batch = options.keep == "effective-batch";
  request.only = options.only;
  request.deny = options.deny;
  request.budget_is_firm = options.budget_seconds > 0;
  if (request.budget_is_firm) request.budget_seconds = options.budget_seconds;
  request.plan_out = options.plan_out;
  request.verify = !options.no_verify;
  history::RunBook book = history::RunBook::begin(describe_start("fit", options.job, command, ""), progress);
  job::WarmRunner runner;
  const auto result = app::fit(request, runner, progress, base::steady_clock());
  progress.clear();
  if (!result) return std::unexpected(result.error());
  const std::string json = report::fit_to_json(*result, VRAMFIT_VERSION);
  book.finish(history::summarize(*result, json), progress);
  print(report::fit_to_text(*result, {options.job.verbose, wants_color(STDOUT_FILENO), book.number()}));
  const auto written = write_json(options.job.json, json);
  if (!written) return std::unexpected(written.error());
  using model::FitVerdict;
  return result->verdict == FitVerdict::kPlanFits || result->verdict == FitVerdict::kFitsAlready ? 0 : 1;
}

}  // namespace

Verb add_fit_verb(const Parser& parser) {
  auto options = std::make_shared<FitOptions>();
  const Parser verb = parser.add_verb("fit", "Find and prove the cheapest changes that make a job fit a card");
  add_job_options(verb, options->job);
  verb.add_option("--keep", options->keep,
                  "effective-batch (default: a smaller batch is made up for by accumulation) or any")
      .one_of({"effective-batch", "any"});
  verb.add_option("--only,--allow", options->only,
                  "Consider these techniques alone: micro_batch,autocast,checkpoint,resize")
      .separated_by(',');
  verb.add_option("--deny", options->deny, "Leave these techniques out").separated_by(',');
  verb.add_option("--plan-out", options->plan_out, "Where the best plan is written");
  verb.add_flag("--no-verify", options->no_verify,
                "Do not train a few steps with and without the best plan, to see that they are the same");
  verb.add_option("--budget", options->budget_seconds, "Seconds for the whole search (60, or 15 runs of a slow job)")
      .positive();
  return {verb, [options](const Command& command) {
            const auto code = act(*options, command);
            return code ? *code : report_error(code.error());
          }};
}

}  // namespace vramfit::cli
