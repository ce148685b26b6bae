#include "app/doctor/script_run.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/temporary_file.h"
#include "doctor/case.h"
#include "ingest/text/oom_message.h"
#include "ingest/text/read_text.h"

namespace vramfit::app {

using base::Result;

namespace {

constexpr double kSecondsWithValues = 60;

std::string as_typed(const std::vector<std::string>& command) {
  std::string text;
  for (const std::string& word : command) {
    const bool plain = !word.empty() && word.find_first_of(" \t\"'$`\\*?") == std::string::npos;
    text += (text.empty() ? "" : " ") + (plain ? word : "'" + word + "'");
  }
  return text;
}

// What a script prints is nobody's report of what he saw: its sentences say nothing of a cause.
Result<model::Evidence> read_output(const std::filesystem::path& path) {
  std::ifstream printed(path, std::ios::binary);
  if (!printed) return base::fail_errno("what the script printed can't be read", path.string());
  auto evidence = ingest::read_text_evidence(printed, "the run's output");
  if (evidence) evidence->told.clear();
  return evidence;
}

// What a branch keeps, or does not, where its value is one that a virtual card does not compute.
bool hangs_on_values(const job::RunRequest& script, const model::RunResult& result) {
  return !script.real && script.values == job::Values::kAuto && model::find_chosen_branch(result) != nullptr;
}

bool found_something(const model::RunResult& result) { return result.oom || !result.evidence.growth.empty(); }

// The same with values computed, in as much time as somebody waits. It is the answer where it shows more, or as much.
Result<void> run_with_values(job::RunRequest run, job::Runner& runner, base::ProgressSink& progress,
                             model::RunResult& result) {
  run.values = job::Values::kCpu;
  run.whole_seconds = std::min(kSecondsWithValues, run.whole_seconds.value_or(kSecondsWithValues));
  const auto again = runner.run(run, progress);
  progress.clear();
  if (!again) return std::unexpected(again.error());
  const model::RunResult& other = again->result;
  if (other.timed_out || other.verdict == model::Verdict::kFailed) return {};
  if (found_something(other) || other.reach.steps >= result.reach.steps) result = other;
  return {};
}

}  // namespace

Result<void> run_script(const job::RunRequest& script, const std::string& gpu, job::Runner& runner,
                        base::ProgressSink& progress, doctor::Case& into) {
  const base::TemporaryFile output("doctor");  // what a run prints is evidence as any log is
  job::RunRequest run = script;
  run.diagnose = true;
  run.quiet_child = true;
  run.child_output = output.path();
  auto outcome = runner.run(run, progress);
  progress.clear();
  if (!outcome) return std::unexpected(outcome.error());
  // A script that somebody ended has not failed; what it showed until then is still told.
  if (outcome->result.interrupted && !found_something(outcome->result)) {
    return base::fail(base::ErrorCode::kInterrupted, "it was interrupted, and nothing was found until then");
  }
  into.command = as_typed(script.command);
  into.gpu = gpu;
  if (auto printed = read_output(output.path())) {
    ingest::merge_evidence(into.texts, std::move(*printed));
  }
  if (outcome->result.oom && !outcome->result.oom->caught && into.texts.ooms.empty()) {
    into.texts.ooms.push_back(ingest::message_of_run(*outcome->result.oom, outcome->result.evidence.oom));
  }
  into.run = std::move(outcome->result);
  if (hangs_on_values(script, *into.run) && !found_something(*into.run)) {
    return run_with_values(std::move(run), runner, progress, *into.run);
  }
  return {};
}

}  // namespace vramfit::app
