#include "job/child_environment.h"

#include "base/json_text.h"
#include "job/asked_json.h"
#include "job/learned.h"
#include "job/offline.h"
#include "job/run_on.h"

namespace vramfit::job {

namespace fs = std::filesystem;
namespace asked = model::asked;

namespace {

void put_first(base::Environment& environment, const std::string& name, const std::string& entry) {
  std::string& value = environment[name];
  value = value.empty() ? entry : entry + ":" + value;
}

void put_values(base::Environment& environment, const RunRequest& request) {
  const bool tracked = request.retry.tracked_values;
  environment["VRAMFIT_VALUES"] = request.values == Values::kCpu ? asked::kValuesCpu
                                  : tracked                      ? asked::kValuesTracked
                                                                 : asked::kValuesZeros;
  environment.erase("VRAMFIT_RESTART");
  if (!request.real && request.values == Values::kAuto && !tracked) environment["VRAMFIT_RESTART"] = "1";
  for (const char* name : {"VRAMFIT_PRINTED", "VRAMFIT_OUTPUT_1", "VRAMFIT_OUTPUT_2"}) environment.erase(name);
  if (const auto& printed = request.already_printed) {
    environment["VRAMFIT_PRINTED"] = base::json_line(
        write(asked::AlreadyPrinted{.stdout_bytes = printed->stdout_bytes, .stderr_bytes = printed->stderr_bytes}));
  }
}

// How long everything is run, and whether the script's lines are watched. In trials, which end as soon as they can,
// they are not; where a loop is counted on, they tell whether an error comes of that.
void put_reach(base::Environment& environment, const RunRequest& request) {
  environment.erase("VRAMFIT_RUN_ON");
  environment.erase("VRAMFIT_COVERAGE");
  if (const std::string span = to_variable(span_of(request)); !span.empty()) environment["VRAMFIT_RUN_ON"] = span;
  const bool is_trial = request.steps == asked::kStepsQuick && request.plan;
  if (request.real || request.steps == asked::kStepsAll || is_trial) return;
  environment["VRAMFIT_COVERAGE"] = request.tells_lines ? asked::kCoverageTold : asked::kCoverageSeen;
}

}  // namespace

base::Environment child_environment(base::Environment user, const Installation& installation, const RunRequest& request,
                                    const ChildPlaces& places) {
  base::Environment environment = std::move(user);
  // The recorder puts them back where the job sets a PYTHONPATH of its own.
  environment["VRAMFIT_HOOKS"] = installation.hook().string() + ":" + installation.python().string();
  put_first(environment, "PYTHONPATH", environment["VRAMFIT_HOOKS"]);
  if (request.real) {
    const bool has_real = fs::exists(installation.real_recorder());
    if (has_real) put_first(environment, "LD_PRELOAD", installation.real_recorder().string());
    put_first(environment, "LD_PRELOAD", installation.recorder().string());
    environment["VRAMFIT_REAL"] = "1";
    environment.try_emplace("VRAMFIT_ON_OOM", asked::kOnOomDoctor);  // a report where it happens: python/vramfit/on_oom
  } else {
    // The library that shows the files of cards comes first, and passes all other files on to the one that reads those.
    const std::string preload =
        installation.preload(places.cuda_major).string() + ":" + installation.recorder().string();
    put_first(environment, "LD_PRELOAD", preload);
    put_first(environment, "LD_LIBRARY_PATH", installation.stand_ins(places.cuda_major).string());
    // The recorder gives them to programs that the job starts in an environment of their own.
    environment["VRAMFIT_PRELOAD"] = preload;
    environment["VRAMFIT_LIBRARIES"] = installation.stand_ins(places.cuda_major).string();
    // Extensions that the job compiles link with -lcudart, and not every machine has the toolkit's.
    put_first(environment, "LIBRARY_PATH", installation.stand_ins(places.cuda_major).string());
    put_first(environment, "PATH", installation.commands().string());  // nvidia-smi answers for the virtual card
    environment["TRITON_LIBCUDA_PATH"] = installation.stand_ins(places.cuda_major).string();
    environment["VRAMFIT_LEDGER"] = places.ledger.string();
    // Kernels do nothing, so OpenMP is left with filling and stacking batches: many parallel regions, all short. Where
    // cores are shared, threads that wait for each other by spinning keep each other from ending them.
    if (request.values != Values::kCpu) environment.try_emplace("OMP_WAIT_POLICY", "PASSIVE");
    // Most of the time that a run spends in the kernel goes to pages of batches, each of which is written once.
    environment.try_emplace("THP_MEM_ALLOC_ENABLE", "1");
    environment.erase("VRAMFIT_NETWORK");
    if (!request.files.network) {
      environment["VRAMFIT_NETWORK"] = "off";  // python/vramfit/steer/uploads.py
      go_offline(environment);
    }
    if (places.cudnn) {
      environment["VRAMFIT_CUDNN_LIBRARY"] = places.cudnn->folder.string();
      environment["VRAMFIT_CUDNN_CACHE"] = places.cudnn->answers.string();
    }
    environment.erase("VRAMFIT_CUDNN_MARK");
    if (request.mark_workspaces) environment["VRAMFIT_CUDNN_MARK"] = "1";
    environment.erase("VRAMFIT_CUDNN_LEARNED");
    if (!request.workspaces.empty()) {
      environment["VRAMFIT_CUDNN_LEARNED"] = (places.run_folder / kLearnedWorkspaces).string();
    }
  }
  environment.erase("VRAMFIT_LAYER");  // of a run around this one
  if (places.is_layered) environment["VRAMFIT_LAYER"] = "1";
  environment["VRAMFIT_RUN_DIR"] = places.run_folder.string();
  environment["VRAMFIT_STEPS"] = request.steps;
  environment["VRAMFIT_EVALUATION"] = request.retry.whole_evaluation ? asked::kEvaluationWhole : asked::kEvaluationCut;
  put_values(environment, request);
  put_reach(environment, request);
  environment.erase("VRAMFIT_DIAGNOSE");
  if (request.diagnose) environment["VRAMFIT_DIAGNOSE"] = "1";
  environment.erase("VRAMFIT_MODULES");
  if (request.modules) environment["VRAMFIT_MODULES"] = "1";
  environment.erase("VRAMFIT_OBSTACLES");
  if (request.obstacles && !request.plan) environment["VRAMFIT_OBSTACLES"] = "1";
  environment.erase("VRAMFIT_SNAPSHOTS");
  if (request.snapshots) environment["VRAMFIT_SNAPSHOTS"] = "1";
  environment.erase("VRAMFIT_PATCH");
  if (request.patch) environment["VRAMFIT_PATCH"] = "1";
  environment.erase("VRAMFIT_VERIFY");
  if (const auto& first = request.first_steps) {
    environment["VRAMFIT_VERIFY"] = base::json_line(write(*first));
  }
  environment.erase("VRAMFIT_PLAN");
  if (request.plan) environment["VRAMFIT_PLAN"] = fs::absolute(*request.plan).string();
  return environment;
}

base::Result<void> check_parts(const Installation& installation, bool real, int cuda_major) {
  std::vector<fs::path> parts = {installation.recorder(), installation.hook()};
  if (!real) parts.push_back(installation.preload(cuda_major));
  for (const fs::path& part : parts) {
    std::error_code problem;
    if (!fs::exists(part, problem)) {
      return base::fail(base::ErrorCode::kNotFound, "this installation of vramfit is incomplete", part.string(),
                        "build or install vramfit again");
    }
  }
  return {};
}

}  // namespace vramfit::job
