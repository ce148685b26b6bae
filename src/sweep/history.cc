#include "sweep/history.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/file.h"
#include "history/job_identity.h"
#include "ingest/run_file.h"
#include "sweep/local.h"
#include "sweep/variables.h"

namespace vramfit::sweep {

using base::Result;

SweepHistory::SweepHistory(const model::SweepSpec& spec, const std::string& version, base::ProgressSink& progress)
    : spec_(spec), start_(history::describe_job("sweep", spec.command, version)) {
  start_.card = fmt::format("{}", fmt::join(spec.gpus, ","));
  book_ = history::RunBook::begin(start_, progress);
}

void SweepHistory::note(const SweepFolder& folder, const model::Trial& trial, base::ProgressSink& progress) {
  if (book_.number() == 0 || trial.state != model::TrialState::kDone) return;
  model::RunStart start = start_;
  start.verb = "trial";
  start.parent = book_.number();
  if (const auto command = build_trial(spec_, trial.values)) start.command = command->command;
  if (const auto plan = base::read_file(folder.plan_file(trial.index))) start.plan = *plan;
  for (std::size_t i = 0; i < trial.values.size() && i < spec_.variables.size(); ++i) {
    if (spec_.variables[i].name == "gpu") start.card = trial.values[i];
  }
  model::RunEnd end;
  const auto text = base::read_file(folder.result_file(trial.index));
  if (text) end = ingest::parse_run_end(*text).value_or(model::RunEnd{});
  end.verdict = trial.result.verdict;
  end.reason = trial.result.reason;
  end.exit_code = trial.result.exit_code;
  end.wall_seconds = trial.result.wall_seconds;
  history::RunBook book = history::RunBook::begin(start, progress);
  book.finish(end, progress);
  // Without it the sweep's map can't name the run; nothing else is lost.
  if (const auto written = folder.write_run(trial.index, book.uuid()); !written) {
    progress.say(to_string(written.error()));
  }
}

void SweepHistory::finish(const model::SweepResult& result, const std::string& json, base::ProgressSink& progress) {
  model::RunEnd end;
  std::size_t fits = 0;
  for (const model::Trial& trial : result.trials) fits += trial.result.fits() ? 1 : 0;
  const bool is_memory = std::ranges::any_of(
      result.trials, [](const model::Trial& trial) { return trial.result.verdict == "out_of_memory"; });
  end.verdict = result.interrupted ? "interrupted" : fits > 0 ? "fits" : is_memory ? "out_of_memory" : "failed";
  end.reason = fmt::format("{} of {} trials fit", fits, result.trials.size());
  end.exit_code = fits > 0 ? 0 : 1;
  end.wall_seconds = result.seconds;
  end.result = json;
  book_.finish(end, progress);
}

Result<ingest::SweepFile> read_sweep_file(const std::string& path) {
  const auto text = base::read_file(path);
  if (!text) return std::unexpected(text.error());
  return ingest::parse_sweep_toml(*text, path);
}

Result<std::vector<std::string>> words_of_trial(const SweepFolder& folder, std::size_t trial) {
  const auto spec = folder.read_spec();
  if (!spec) return std::unexpected(spec.error());
  const auto values = folder.read_values(trial);
  if (!values) return std::unexpected(values.error());
  const auto command = build_trial(*spec, *values);
  if (!command) return std::unexpected(command.error());
  auto program = own_program();
  if (!program) return std::unexpected(program.error());
  return trial_words(*program, *spec, folder, trial, *command);
}

}  // namespace vramfit::sweep
