// The use case behind `vramfit run`: one command on virtual cards (or on the real ones), observed from start to end.
#ifndef VRAMFIT_JOB_RUN_H
#define VRAMFIT_JOB_RUN_H

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "base/progress.h"
#include "facts/run_facts.h"
#include "model/asked.h"
#include "model/card.h"
#include "model/layer_workspace.h"
#include "model/patch.h"
#include "model/run_result.h"
#include "model/snapshot.h"
#include "model/told.h"

namespace vramfit::job {

// kAuto: zeros. If the script reads a value that steers it, it is run again with tracked values.
enum class Values { kAuto, kZeros, kCpu };

// What a process held on a real card besides PyTorch's memory: context and libraries.
struct MeasuredOverhead {
  base::Bytes bytes;
  std::string source;                                  // in words: which message of which file
  std::optional<base::Bytes> capacity = std::nullopt;  // of the card that the message is of
  friend bool operator==(const MeasuredOverhead&, const MeasuredOverhead&) = default;
};

// A card as asked for. What a context takes on it is worked out per run: it depends on the job's CUDA version.
struct CardChoice {
  model::Card card;
  std::optional<base::Bytes> total;  // NAME:SIZE; a raised card is the same card with a larger total
  friend bool operator==(const CardChoice&, const CardChoice&) = default;
};

// How long everything is run before anything is left out: by the clock, or for so many batches and steps, on which two
// runs of one script agree. Neither: the short cut alone.
struct Span {
  double seconds = 0;
  std::int64_t count = 0;
  double settled_seconds =
      0;  // after which it may end where memory has long shown nothing new; 0: not before `seconds`
  bool is_empty() const { return seconds <= 0 && count <= 0; }
  friend bool operator==(const Span&, const Span&) = default;
};

// How a script is run again, because it asked for that or because it failed over something that a short run on a
// virtual card leaves out.
struct RetryOptions {
  bool whole_evaluation = false;  // evaluations deliver all their batches, the last one read again and again
  bool tracked_values = false;    // values that may steer the script are followed, and computed where they can be
  friend bool operator==(const RetryOptions&, const RetryOptions&) = default;
};

using OutputSeen = model::told::OutputSeen;

// The parts of the machine that a job on a virtual card may change.
struct FileOptions {
  bool is_private = true;      // --files: its files go to a layer of the run's own
  bool network = false;        // --network: it has the real one
  std::filesystem::path keep;  // --keep-files: where what the layer held is copied to; empty: nowhere
  friend bool operator==(const FileOptions&, const FileOptions&) = default;
};

// For a comparison with another run: what the first optimizer steps do and the first evaluation puts out
// (training_record.h), and then the end. Its seconds are the processor's: whoever else uses the machine must not decide
// how much is compared.
using FirstSteps = model::asked::FirstSteps;

struct RunRequest {
  std::vector<CardChoice> cards;                      // empty with `real`
  base::Bytes occupied;                               // --occupied, on every card
  std::optional<base::Bytes> context;                 // --context, on every card
  std::optional<MeasuredOverhead> measured_overhead;  // --context from:FILE, instead
  std::optional<model::AddressOrder> address_order;   // --address-order; absent: native Linux
  std::string address_order_source;                   // who says so: "--address-order wsl", "learned from ..."
  bool real = false;                                  // --gpu real: the machine's own cards, recorder only
  std::vector<std::string> command;                   // {"python", "train.py", ...}: what stood after --
  std::string steps{model::asked::kStepsAuto};        // auto, all, or a number of batches a pass
  Span span;                                          // --within
  bool tells_lines = true;         // which lines the script ran, and which it did not come to: for who reads the result
  bool span_alone = false;         // no second, short run after it: whoever asks makes one himself
  bool settles_borderline = true;  // with a second run; else whoever asks knows it from another
  RetryOptions retry;
  std::optional<OutputSeen> already_printed;  // by a run that this one repeats: it is not shown twice
  std::optional<std::filesystem::path> plan;
  Values values = Values::kAuto;
  std::optional<double> timeout_seconds;          // of each process
  std::optional<double> patient_seconds;          // the same, less what it waits for a processor; a warm runner's only
  std::optional<double> whole_seconds;            // of everything the request takes: a run may have to be repeated
  std::string cudnn = "auto";                     // --cudnn: auto, zero or a folder: whom to ask about workspaces
  std::vector<model::LayerWorkspace> workspaces;  // learned: they stand over what `cudnn` says
  bool mark_workspaces = false;      // the size of each workspace tells its convolution (virtual_gpu/cudnn/layer_key.h)
  std::optional<std::string> torch;  // --torch: which kept environment to use
  FileOptions files;
  bool diagnose = false;                  // the hooks look for causes too (RunResult::evidence)
  bool modules = false;                   // the hooks watch every module (RunResult::modules)
  bool obstacles = false;                 // without a plan: the hooks note which techniques the script would refuse
  bool snapshots = false;                 // its memory history is kept too (RunOutcome::snapshots)
  bool patch = false;                     // its plan is written into its source too (RunOutcome::patch)
  std::optional<FirstSteps> first_steps;  // needs values that are computed
  bool quiet_child = false;               // its output goes to `child_output` (or nowhere): candidates, floor
  std::filesystem::path child_output;
  int begun = 0;                                          // which of those that Runner::begin started it is; 0: none
  std::function<void(const RetryOptions&)> before_retry;  // told how it is run again, before it is
};

// The request for its next run, which gets what is left of `whole_seconds` after `seconds_used`.
RunRequest limit_run(RunRequest request, double seconds_used);

// What PyTorch's memory history of a run was at one moment (python/vramfit/observe/own_snapshots.py).
struct RunSnapshot {
  std::string name;  // of the file that the script dumped it to; empty: to none
  bool by_script =
      false;  // the script records and dumps it; otherwise we do, from the first use of the card to the end
  int pid = 0;
  model::Snapshot snapshot;
};

// The result and the facts that it was made of.
struct RunOutcome {
  model::RunResult result;
  facts::RunFactsPtr facts = facts::no_facts();
  // The script read a value that steers it and was not computed, and ended itself there: run it again with tracked
  // values. What it had printed by then.
  std::optional<OutputSeen> wants_values;
  std::optional<model::Patch> patch;   // with RunRequest::patch, where a process told one
  std::vector<RunSnapshot> snapshots;  // with RunRequest::snapshots
  bool failed_after_read = false;      // the script failed after the host had read values that were not computed
};

// Anything that runs a request: cold (a new interpreter each time) or warm (forks of one that has imported torch).
class Runner {
 public:
  virtual ~Runner() = default;
  // Makes the environment of a command, which is done once and may take minutes. run() does it if nobody has before.
  virtual base::Result<void> prepare(const RunRequest&, base::ProgressSink&) { return {}; }
  // Starts what run() will be asked for later, beside what runs until then, where processors and memory allow: run()
  // with the request that comes back waits for it. What nobody asks for ends with the runner.
  virtual RunRequest start(RunRequest request) { return request; }
  // An error: vramfit could not run the command. A command that was run and failed is a result.
  virtual base::Result<RunOutcome> run(const RunRequest& request, base::ProgressSink& progress) = 0;
};

// A new process for each run. Stateless.
class ColdRunner final : public Runner {
 public:
  base::Result<RunOutcome> run(const RunRequest& request, base::ProgressSink& progress) override;
};

}  // namespace vramfit::job

#endif
