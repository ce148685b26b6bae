// vramfit run: one command on virtual cards, or on the real ones. Returns the command's own exit code.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "app/floor.h"
#include "app/promised.h"
#include "base/clock.h"
#include "base/file.h"
#include "cli/job_options.h"
#include "cli/json_output.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "history/run_book.h"
#include "job/run.h"
#include "job/run_on.h"
#include "job/warm_runner.h"
#include "model/modules.h"
#include "report/page/network_drawing.h"
#include "report/run_json.h"
#include "report/run_text.h"

namespace vramfit::cli {

namespace {

struct RunOptions {
  JobOptions job;
  std::string plan;
  bool floor = false;
  bool diagnose = false;
  bool modules = false;
  std::string svg;
};

// A floor that can't be found is a warning of the result, not the end of it.
base::Result<void> add_floor(job::RunRequest request, model::RunResult& result, base::ProgressSink& progress) {
  request.span = job::span_to_peak(request, result.reach);
  request.span_alone = true;
  job::WarmRunner warm;
  job::RunRequest other = request;
  other.files.keep.clear();  // they are kept of the job's own run
  const auto needs = app::find_floor(warm, other, {}, progress);
  progress.clear();
  if (!needs) {
    if (needs.error().code == base::ErrorCode::kInterrupted) return std::unexpected(needs.error());
    result.warnings.push_back({"--floor: " + needs.error().what, 1});
    return {};
  }
  for (std::size_t i = 0; i < needs->size() && i < result.devices.size(); ++i) result.devices[i].needs = (*needs)[i];
  return {};
}

// A job of which nothing can be drawn is a warning on stderr, not a failure of the job's command.
base::Result<void> write_svg(const std::string& file, const model::RunResult& result) {
  if (file.empty()) return {};
  const std::string svg = result.modules ? report::page::network_svg(*result.modules) : std::string();
  if (!svg.empty()) return base::write_file(file, svg);
  talk("--svg: nothing was written, for no operators of a model were seen\n");
  return {};
}

// The job's own, but never 0 for a job that ran without a part of the plan it was to run with.
int exit_code_of(const model::RunResult& result) {
  constexpr int kPlanRefused = 3;  // as python/vramfit/base/stop.py
  return result.exit_code == 0 && !result.plan_refused.empty() ? kPlanRefused : result.exit_code;
}

base::Result<int> act(const RunOptions& options, const Command& command) {
  TerminalProgress progress(stderr_is_terminal(), base::steady_clock());
  JsonOutput output(options.job.json);
  auto request = build_request(options.job, command, progress);
  if (!request) return std::unexpected(request.error());
  if (!options.plan.empty()) request->plan = options.plan;
  request->diagnose = options.diagnose;
  request->modules = options.modules || !options.svg.empty();
  history::RunBook book = history::RunBook::begin(describe_start("run", options.job, command, options.plan), progress);
  job::ColdRunner runner;
  auto outcome = runner.run(*request, progress);
  progress.clear();
  if (!outcome) return book.fail(outcome.error(), progress);
  app::add_promised(*request, *outcome);
  if (options.floor) {
    if (auto found = add_floor(*request, outcome->result, progress); !found) {
      return book.fail(found.error(), progress);
    }
  }
  const std::string json = report::run_to_json(outcome->result, VRAMFIT_VERSION);
  book.finish(history::summarize(outcome->result, json), progress);
  talk("\n" + report::run_to_text(outcome->result, {options.job.verbose, wants_color(STDERR_FILENO), book.number()}));
  const auto written = output.write(json);
  if (!written) return std::unexpected(written.error());
  if (auto drawn = write_svg(options.svg, outcome->result); !drawn) return std::unexpected(drawn.error());
  return exit_code_of(outcome->result);
}

}  // namespace

Verb add_run_verb(const Parser& parser) {
  auto options = std::make_shared<RunOptions>();
  const Parser verb =
      parser.add_verb("run", "Run a command on virtual cards and say what it used, needed and why it ran out");
  add_job_options(verb, options->job);
  verb.add_option("--plan", options->plan, "Apply this plan file to the job").existing_file();
  verb.add_flag("--floor", options->floor, "Find the smallest card on which the job runs");
  verb.add_flag("--diagnose", options->diagnose,
                "Look for causes too (--json, under \"evidence\"): what grows and who holds it, copies, contexts");
  verb.add_flag("--modules", options->modules,
                "Say of every module what it holds and computes, and what dropping a branch would free");
  verb.add_option("--svg", options->svg, "Draw the network into this file, with the memory of each part (--modules)")
      .written_file();
  verb.examples({"vramfit run --gpu \"GTX 1070\" -- python train.py --batch-size 32",
                 "vramfit run --gpu h100:1g.10gb --modules --json run.json -- python train.py"});
  return {verb, [options](const Command& command) {
            const auto code = act(*options, command);
            return code ? *code : report_error(code.error());
          }};
}

}  // namespace vramfit::cli
