// vramfit fit: the cheapest changes that make a job fit a card. 0 = a plan fits, or the job fits already; 1 = none
// does.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "app/catalogue.h"
#include "app/fit/fit.h"
#include "base/clock.h"
#include "base/parse_number.h"
#include "cli/job_options.h"
#include "cli/json_output.h"
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
  std::vector<std::string> only, deny, phases;
  bool no_verify = false;
  std::vector<std::string> budgets;  // seconds, a size of memory, or both
  std::string goal = "same-training", accept = "another";
  double max_slowdown = 0;  // 0: none
};

constexpr std::string_view kBudgetForms = "seconds (90, 90s), memory (7GiB), or both: --budget 90,7GiB";

// Seconds for the search, and what the job may take of a card.
base::Result<void> apply_budgets(const FitOptions& options, app::FitRequest& request) {
  for (const std::string& text : options.budgets) {
    const std::string_view digits = std::string_view(text).substr(0, text.size() - (text.ends_with('s') ? 1 : 0));
    if (const auto seconds = base::parse_number<double>(digits); seconds && *seconds > 0) {
      request.budget_seconds = *seconds;
      request.budget_is_firm = true;
      continue;
    }
    const auto memory = base::parse_bytes(text);
    if (!memory || *memory == base::Bytes(0)) {
      return base::fail(base::ErrorCode::kUsage, fmt::format("\"{}\" is neither a time nor a size", text), "--budget",
                        std::string(kBudgetForms));
    }
    for (job::CardChoice& card : request.run.cards) {
      const base::Bytes whole = card.total.value_or(card.card.memory);
      if (*memory > whole) {
        return base::fail(base::ErrorCode::kUsage,
                          fmt::format("{} is more than {} has ({})", text, card.card.name, to_string(whole)),
                          "--budget", "");
      }
      card.total = *memory;
    }
    request.gpu.clear();  // as --gpu says it with the size
    for (const job::CardChoice& card : request.run.cards) {
      request.gpu += fmt::format("{}{}:{}", request.gpu.empty() ? "" : ",", card.card.key, text);
    }
  }
  return {};
}

base::Result<int> act(const FitOptions& options, const Command& command) {
  JsonOutput output(options.job.json);
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
  request.phases = options.phases;
  if (auto catalogue = app::load_catalogue()) request.catalogue = std::move(*catalogue);
  request.goal = *model::find_goal(options.goal);
  request.accept = *plan::find_tier(options.accept);
  if (options.max_slowdown > 0) request.max_slowdown = options.max_slowdown;
  if (auto applied = apply_budgets(options, request); !applied) return std::unexpected(applied.error());
  request.plan_out = options.plan_out;
  request.verify = !options.no_verify;
  history::RunBook book = history::RunBook::begin(describe_start("fit", options.job, command, ""), progress);
  job::WarmRunner runner;
  const auto result = app::fit(request, runner, progress, base::steady_clock());
  progress.clear();
  if (!result) return book.fail(result.error(), progress);
  const std::string json = report::fit_to_json(*result, VRAMFIT_VERSION);
  book.finish(history::summarize(*result, json), progress);
  print_page(report::fit_to_text(*result, {options.job.verbose, wants_color(STDOUT_FILENO), book.number()}));
  const auto written = output.write(json);
  if (!written) return std::unexpected(written.error());
  using model::FitVerdict;
  return result->verdict == FitVerdict::kPlanFits || result->verdict == FitVerdict::kFitsAlready ? 0 : 1;
}

}  // namespace

Verb add_fit_verb(const Parser& parser) {
  auto options = std::make_shared<FitOptions>();
  const Parser verb = parser.add_verb("fit", "Find and prove the cheapest changes that make a job fit a card");
  options->job.within = "8-20";  // two runs go on for so long, and a user waits for both
  add_job_options(verb, options->job);
  verb.add_option("--keep", options->keep,
                  "effective-batch (default: a smaller batch is made up for by accumulation) or any")
      .one_of({"effective-batch", "any"});
  verb.add_option("--only,--allow", options->only,
                  "Consider these techniques alone: micro_batch,autocast,checkpoint,resize")
      .separated_by(',')
      .suggests(app::known_techniques());
  verb.add_option("--deny,--forbid", options->deny, "Leave these techniques out")
      .separated_by(',')
      .suggests(app::known_techniques());
  verb.add_option("--phase", options->phases, "Change these phases alone: train, validate, test")
      .separated_by(',')
      .suggests({"train", "validate", "test"});
  verb.add_option("--plan-out", options->plan_out, "Where the best plan is written").written_file();
  verb.add_flag("--no-verify", options->no_verify,
                "Do not train a few steps with and without the best plan, to see that they are the same");
  verb.add_option(
          "--budget", options->budgets,
          "Seconds for the whole search (60, or 15 runs of a slow job), and/or memory the job may take: 90,7GiB")
      .separated_by(',');
  verb.add_option("--goal", options->goal,
                  "same-training (default: the plan that takes least from the training), min-time, min-memory, or "
                  "max-batch: the largest batch that fits, to the sample")
      .one_of({"same-training", "min-time", "min-memory", "max-batch"});
  verb.add_option(
          "--accept", options->accept,
          "The most that a plan may take from the training: equal, rounding, precision (fewer bits), statistics "
          "(of batch norms), another (default: another training too, last)")
      .one_of({"equal", "rounding", "precision", "statistics", "another"});
  verb.add_option("--max-slowdown", options->max_slowdown,
                  "Leave out plans whose step is predicted to take so many times as long")
      .positive();
  verb.examples({"vramfit fit --gpu \"RTX 3060\" -- python train.py",
                 "vramfit fit --gpu rtx3090 --goal max-batch -- python train.py"});
  return {verb, [options](const Command& command) {
            const auto code = act(*options, command);
            return code ? *code : report_error(code.error());
          }};
}

}  // namespace vramfit::cli
