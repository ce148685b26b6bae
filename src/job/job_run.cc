#include "job/job_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/empty_terminal.h"
#include "base/file.h"
#include "devices/overhead.h"
#include "ingest/output_seen.h"
#include "ingest/patch_file.h"
#include "ingest/plan_file.h"
#include "ingest/snapshot/reader.h"
#include "job/assemble.h"
#include "job/child_environment.h"
#include "job/learned.h"
#include "job/missing_module.h"
#include "job/platforms.h"
#include "job/python_command.h"
#include "job/run_on.h"
#include "job/torch_releases.h"
#include "plan/plan_check.h"

namespace vramfit::job {

using base::Result;

namespace {

devices::OverheadOptions overhead_options(const RunRequest& request, const JobSetup& setup) {
  devices::OverheadOptions options;
  options.cuda_major = setup.cuda_major;
  const auto loading = setup.job.environment.find("CUDA_MODULE_LOADING");
  options.eager_loading = loading != setup.job.environment.end() && loading->second == "EAGER";
  options.context = request.context;
  if (request.measured_overhead) {
    options.measured = request.measured_overhead->bytes;
    options.measured_source = request.measured_overhead->source;
  }
  options.occupied = request.occupied;
  return options;
}

std::string describe_overhead(const model::Card& card, const devices::Overhead& overhead, bool is_held) {
  std::string text = fmt::format("{} on {}: {}", is_held ? "CUDA context and libraries" : "CUDA context", card.name,
                                 to_string(overhead.context));
  if (overhead.uncertainty.count() > 0) text += fmt::format(" ± {}", to_string(overhead.uncertainty));
  if (is_held) return text + fmt::format(" a process ({})", overhead.source);
  return text + fmt::format(
                    " a process, {} more from its first kernel on and {} for each library it uses, within half of that "
                    "({})",
                    to_string(overhead.kernels), to_string(overhead.library), overhead.source);
}

// What is assumed of each kind of card: the sizes of its context and libraries.
std::vector<model::Remark> context_remarks(const RunRequest& request, const JobSetup& setup) {
  std::vector<model::Remark> remarks;
  std::string last;
  for (const CardChoice& choice : request.cards) {
    if (choice.card.key == last) continue;
    last = choice.card.key;
    const devices::Overhead overhead = devices::find_overhead(choice.card, overhead_options(request, setup));
    std::string text = describe_overhead(choice.card, overhead, request.measured_overhead.has_value());
    remarks.push_back({std::move(text), 1});
  }
  if (request.address_order) {
    const bool is_wsl = *request.address_order == model::AddressOrder::kWsl;
    remarks.push_back({fmt::format("addresses are handed out as the driver {} does ({})",
                                   is_wsl ? "under WSL2" : "of native Linux", request.address_order_source),
                       1});
  }
  return remarks;
}

// "libtorch_cuda.so: undefined symbol: cudaNewThing, version libcudart.so.13": which one, when it is one of NVIDIA's.
// An extension that was built for another torch misses mangled C++ names.
std::string unknown_symbol(const std::string& message) {
  constexpr std::string_view kWords = "undefined symbol: ";
  const std::size_t begin = message.find(kWords);
  if (begin == std::string::npos) return "";
  const std::size_t first = begin + kWords.size();
  std::string symbol = message.substr(first, message.find_first_of(", \n", first) - first);
  const bool is_nvidias = symbol.starts_with("cu") || symbol.starts_with("nv") || symbol.starts_with("nccl");
  return is_nvidias ? symbol : "";
}

// Most scripts that fail in a new environment fail with "No module named 'datasets'" or the like.
std::string remedy_for(const model::ScriptError& error, const JobEnvironment& job, bool misses_values) {
  if (const std::string symbol = unknown_symbol(error.message); !symbol.empty()) {
    return fmt::format(
        "torch {} needs {}, which vramfit's stand-ins for the NVIDIA libraries do not have: choose a version that was "
        "tested, as --torch {}",
        job.interpreter.torch, symbol, first_class().version);
  }
  const std::size_t begin = error.message.find('\''), end = error.message.rfind('\'');
  if (error.type != "ModuleNotFoundError" || begin >= end) {
    return misses_values ? "--values cpu (slow), if it failed for want of values that it reads from the card" : "";
  }
  return remedy_for_missing_module(job, error.message.substr(begin + 1, end - begin - 1));
}

// Checked before anything is started: the job would run for long before it came to a change that can't be applied.
Result<void> check_plan_of(const RunRequest& request) {
  if (!request.plan) return {};
  const auto plan = ingest::read_plan(*request.plan);
  if (!plan) return std::unexpected(plan.error());
  return plan::check_plan(*plan, request.plan->string());
}

// A job may be run several times, but a pipe can be read only once. And an environment is not made for a script that is
// not there.
Result<void> check_script(const std::vector<std::string>& command) {
  const auto python = parse_python_command(command);
  std::error_code ignored;
  if (!python || python->is_module || python->argv.empty()) return {};
  const std::string& script = python->argv.front();
  const auto status = std::filesystem::status(script, ignored);
  if (status.type() == std::filesystem::file_type::not_found && script != "-" && !script.empty()) {
    return base::fail(
        base::ErrorCode::kNotFound, fmt::format("there is no script \"{}\"", script), {},
        fmt::format("its path from this folder, which is {}", std::filesystem::current_path(ignored).string()));
  }
  if (!std::filesystem::is_fifo(status)) return {};
  return base::fail(base::ErrorCode::kUsage, "the script is a pipe, which can be read only once", python->argv.front(),
                    "save it to a file first");
}

// The snapshots of all processes. One that can't be read, because its process was killed while writing it, is left out.
std::vector<RunSnapshot> read_snapshots(const std::filesystem::path& folder, const facts::Told& told) {
  std::vector<RunSnapshot> snapshots;
  for (const facts::SnapshotNote& kept : told.snapshots) {
    auto snapshot = ingest::read_snapshot(folder / std::filesystem::path(kept.file).filename());
    if (!snapshot) continue;
    snapshots.push_back({kept.name, kept.by_script, kept.pid, std::move(*snapshot)});
  }
  return snapshots;
}

std::optional<OutputSeen> read_values_wanted(const std::filesystem::path& run_folder) {
  const auto text = base::read_file(run_folder / model::told::kValuesWantedFile);
  return text ? ingest::parse_output_seen(*text) : std::nullopt;
}

}  // namespace

Result<JobSetup> prepare_job(const RunRequest& request, base::ProgressSink& progress) {
  if (auto checked = check_plan_of(request); !checked) return std::unexpected(checked.error());
  auto installation = find_installation();
  if (!installation) return std::unexpected(installation.error());
  if (auto readable = check_script(request.command); !readable) return std::unexpected(readable.error());
  EnvironmentRequest wanted;
  wanted.command = request.command;
  wanted.torch = request.torch;
  for (const CardChoice& choice : request.cards) wanted.cards.push_back(choice.card);
  wanted.environment = base::current_environment();
  auto job = choose_environment(wanted, progress);
  if (!job) return std::unexpected(job.error());
  for (const std::string& note : job->notes) progress.say(note);
  JobSetup setup{std::move(*installation), std::move(*job), 0, {}, {}};
  if (!request.real) {
    if (auto known = check_cuda(setup.job.interpreter); !known) return std::unexpected(known.error());
  }
  setup.untested = request.real ? describe_unknown(setup.job.interpreter) : describe_untested(setup.job.interpreter);
  for (const std::string& sentence : setup.untested) progress.say(sentence);
  setup.cuda_major = count_cuda(setup.job.interpreter.cuda) / 1000;  // the driver's own major
  if (auto parts = check_parts(setup.installation, request.real, setup.cuda_major); !parts) {
    return std::unexpected(parts.error());
  }
  auto cudnn = find_cudnn(request.cudnn, setup.job.interpreter, setup.job.environment);
  if (!cudnn) return std::unexpected(cudnn.error());
  setup.cudnn = *cudnn;
  return setup;
}

Result<JobRun> JobRun::open(const JobSetup& setup, const RunRequest& request) {
  SessionOptions options;
  devices::OverheadOptions overhead = overhead_options(request, setup);
  for (const CardChoice& choice : request.cards) {
    overhead.total = choice.total;
    options.cards.push_back(devices::emulate(choice.card, overhead));
  }
  options.driver_version = count_cuda(setup.job.interpreter.cuda);
  options.keep_values = request.values == Values::kCpu;
  options.workspaces = setup.cudnn               ? Workspaces::kAskCudnn
                       : request.cudnn == "zero" ? Workspaces::kZero
                                                 : Workspaces::kRecorded;
  options.address_order = request.address_order.value_or(model::AddressOrder::kLinux);
  options.nccl_channels =
      devices::estimate_nccl_channels(request.cards.empty() ? model::Card{} : request.cards[0].card);
  auto session = Session::create(options);
  if (!session) return std::unexpected(session.error());
  if (!request.workspaces.empty()) {
    const auto written =
        base::write_file((session->run_folder() / kLearnedWorkspaces).string(), to_lines(request.workspaces));
    if (!written) return std::unexpected(written.error());
  }
  SharedPlaces places{session->run_folder(), session->ledger_path(), {}};
  if (setup.cudnn) places.cudnn_answers = setup.cudnn->answers;
  auto layer = FileLayer::open(request, places, setup.job.environment);
  if (!layer) return std::unexpected(layer.error());
  return JobRun(setup, request, options.cards, std::move(*session), std::move(*layer));
}

base::Environment JobRun::environment() const {
  return child_environment(
      setup_->job.environment, setup_->installation, request_,
      {session_.ledger_path(), session_.run_folder(), setup_->cuda_major, setup_->cudnn, layer_.holds_files()});
}

ZygoteJob JobRun::for_zygote(const PythonCommand& command) const {
  ZygoteJob job;
  job.command = command;
  job.folder = std::filesystem::current_path().string();
  job.environment = environment();
  job.input = base::background_input();
  job.output = request_.child_output.empty() ? "/dev/null" : request_.child_output.string();
  job.layer = layer_.spec();
  job.layer_library = setup_->installation.layer_library().string();
  job.timeout_seconds = request_.timeout_seconds;
  job.patient_seconds = request_.patient_seconds;
  return job;
}

Result<RunOutcome> JobRun::read(const base::Ended& ended) {
  auto facts = facts::read_facts(session_.run_folder(), session_.ledger());
  if (!facts) return std::unexpected(facts.error());
  RunOutcome outcome;
  outcome.facts = std::move(*facts);
  FinishedRun run;
  run.ended = ended;
  run.cards = cards_;
  run.facts = outcome.facts;
  run.torch = setup_->job.interpreter.torch;
  run.cuda = setup_->job.interpreter.cuda;
  run.python = setup_->job.interpreter.python;
  run.assumed = context_remarks(request_, *setup_);
  run.untested = setup_->untested;
  run.answers_so_far = std::filesystem::exists(session_.run_folder() / model::told::kSoFarFile);
  outcome.result = assemble(run);
  outcome.result.files = layer_.finish(outcome.result.warnings);
  if (request_.snapshots) outcome.snapshots = read_snapshots(session_.run_folder(), outcome.facts->told);
  if (request_.patch) {
    auto patch = ingest::read_patch(session_.run_folder());
    if (!patch) return std::unexpected(patch.error());
    outcome.patch = std::move(*patch);
  }
  outcome.wants_values = read_values_wanted(session_.run_folder());
  outcome.failed_after_read = outcome.facts->told.failed_after_read;
  if (auto& error = outcome.result.error) {
    const bool misses_values = request_.values != Values::kCpu && !outcome.result.depends_on_data.empty();
    if (outcome.result.files) error->remedy = remedy_for_layer(*error, *outcome.result.files);
    if (request_.real && error->after_cut) error->remedy = "--steps all, if it failed for want of what was cut";
    if (error->remedy.empty()) error->remedy = remedy_for(*error, setup_->job, misses_values);
  }
  return outcome;
}

}  // namespace vramfit::job
