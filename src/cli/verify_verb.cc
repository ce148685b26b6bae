// vramfit verify: whether a job trains the same with a plan. 0 = within what the plan promises, 1 = it trains something
// else, or to NaN; 3 = the plan does not apply; 4 = it could not be compared.
#include <unistd.h>

#include <memory>

#include "app/verify.h"
#include "base/clock.h"
#include "cli/job_options.h"
#include "cli/json_output.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "job/warm_runner.h"
#include "report/verify_report.h"

namespace vramfit::cli {

namespace {

constexpr int kTrainsElse = 1, kPlanRefused = 3, kNotCompared = 4;

struct VerifyOptions {
  JobOptions job;
  std::string plan;
};

int exit_code_of(const model::VerifyResult& result) {
  if (result.refused) return kPlanRefused;
  if (is_failed(result.equivalence)) return kTrainsElse;
  return result.equivalence.checked ? 0 : kNotCompared;
}

base::Result<int> act(const VerifyOptions& options, const Command& command) {
  JsonOutput output(options.job.json);
  TerminalProgress progress(stderr_is_terminal(), base::steady_clock());
  auto request = build_request(options.job, command, progress);
  if (!request) return std::unexpected(request.error());
  request->plan = options.plan;
  job::WarmRunner runner;
  const auto result = app::verify(*request, runner, progress, base::steady_clock());
  progress.clear();
  if (!result) return std::unexpected(result.error());
  print_page(report::verify_to_text(*result, {options.job.verbose, wants_color(STDOUT_FILENO), 0}));
  const auto written = output.write(report::verify_to_json(*result, VRAMFIT_VERSION));
  if (!written) return std::unexpected(written.error());
  return exit_code_of(*result);
}

}  // namespace

Verb add_verify_verb(const Parser& parser) {
  auto options = std::make_shared<VerifyOptions>();
  const Parser verb = parser.add_verb(
      "verify", "Train a few steps with a plan and without, values computed, and say whether they are the same");
  verb.add_option("plan", options->plan, "The plan file").required().existing_file();
  add_job_options(verb, options->job);
  verb.examples({"vramfit verify vramfit-plan.json --gpu rtx3060 -- python train.py",
                 "vramfit verify vramfit-plan.json --gpu rtx3060 --json - -- python train.py"});
  return {verb, [options](const Command& command) {
            const auto code = act(*options, command);
            return code ? *code : report_error(code.error());
          }};
}

}  // namespace vramfit::cli
