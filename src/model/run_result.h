// What one run told: plain values, ready to be shown as text or JSON. docs/run.schema.json is the JSON's contract.
#ifndef VRAMFIT_MODEL_RUN_RESULT_H
#define VRAMFIT_MODEL_RUN_RESULT_H

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "model/data_loss.h"
#include "model/reach.h"
#include "model/runtime_evidence.h"

namespace vramfit::model {

using base::Bytes;

struct ModuleTable;  // model/modules.h

enum class Verdict {
  kFits,
  kBorderline,   // the card's limit lies within the uncertainty of the context model
  kOutOfMemory,  // the job died of a CUDA out-of-memory error
  kFailed,       // the job died of something else
  kNoCard        // it ended well and never used a card: nothing was measured
};
std::string_view to_string(Verdict verdict);  // "fits", "borderline", "out_of_memory", "failed", "no_card"

// Three peaks that are never mixed: tensors, PyTorch's reservations, and the card with context and libraries.
struct Peaks {
  Bytes allocated;
  Bytes reserved;
  Bytes device;
  friend bool operator==(const Peaks&, const Peaks&) = default;
};

// The smallest card on which the job runs (--floor).
struct Needs {
  Bytes bytes;                         // PyTorch may empty its cache and retry: slower
  std::optional<Bytes> without_retry;  // no retry ever needed
  Bytes resolution;                    // `bytes` is exact to this
  int runs = 0;
  friend bool operator==(const Needs&, const Needs&) = default;
};

// How long a training step takes on the fullest card; low and high hold it four times in five. source: model
struct StepTime {
  double seconds = 0, low = 0, high = 0;
  friend bool operator==(const StepTime&, const StepTime&) = default;
};

struct DeviceResult {
  std::string name;
  int index = 0;
  Bytes total;
  Bytes occupied;
  Bytes context;              // of all processes on this card
  Bytes context_uncertainty;  // half-width, of all processes
  Bytes libraries;            // modules, NCCL channels ...
  Peaks peaks;
  std::int64_t retries = 0;  // PyTorch emptied its cache and asked again
  std::optional<Needs> needs;
  friend bool operator==(const DeviceResult&, const DeviceResult&) = default;
};

struct PhaseResult {
  std::string name;  // load, train, validate, test, save
  int device = 0;
  Peaks peaks;
  std::int64_t steps = 0;
  friend bool operator==(const PhaseResult&, const PhaseResult&) = default;
};

// One row of "what owns the peak". Rows of one device sum up to its peak.
struct OwnerRow {
  std::string owner;  // weights, gradients, optimizer, buffers, EMA copies, fp32 masters, quantization state,
                      // other models, inputs, activations, KV cache, workspaces, temporaries,
                      // cached, fragmented, context, libraries, occupied, unexplained
  std::string name;   // module for activations; of EMA copies, other models and caches, who holds them; may be empty
  std::string line;   // the script's own line that allocated most of it; may be empty
  int device = 0;
  Bytes bytes;
  std::int64_t blocks = 0;
  friend bool operator==(const OwnerRow&, const OwnerRow&) = default;
};

struct LineRow {
  std::string line;
  int device = 0;
  Bytes bytes;  // live at the peak
  std::int64_t blocks = 0;
  friend bool operator==(const LineRow&, const LineRow&) = default;
};

struct StackFrame {
  std::string file;
  int line = 0;
  std::string function;
  std::string code;
  friend bool operator==(const StackFrame&, const StackFrame&) = default;
};

// A model that was on its way to the card when memory ran out.
struct LoadingFacts {
  std::string how;               // "moved", "loaded", "built"
  std::string root;              // the model's class
  std::string module;            // where it was: "blocks.7.up"; of one being built, its classes: "Net > Block > Linear"
  Bytes on_card;                 // of the model
  std::optional<Bytes> to_come;  // none: nobody knows how large it would have become
  friend bool operator==(const LoadingFacts&, const LoadingFacts&) = default;
};

struct Oom {
  Bytes tried;
  std::string message;
  std::string phase;
  bool caught = false;  // the script went on after it
  std::vector<StackFrame> stack;
  std::optional<LoadingFacts> loading = std::nullopt;
  friend bool operator==(const Oom&, const Oom&) = default;
};

// What a framework other than PyTorch used of a card, by its own count: it takes a pool of most of the card at once.
struct FrameworkMemory {
  std::string name, version;  // "JAX", "0.10.2"
  int device = 0;
  Bytes peak;                 // in use
  std::optional<Bytes> pool;  // none: it does not tell
  friend bool operator==(const FrameworkMemory&, const FrameworkMemory&) = default;
};

// How a server of models divides a card, by its own profiling (vLLM). None: it does not tell.
struct ServerMemory {
  std::string name, version;  // "vLLM", "0.20.2"
  int device = 0;
  std::optional<Bytes> weights, activations, outside, graphs, kv_cache;  // outside: of PyTorch's allocator
  std::optional<std::int64_t> kv_tokens;                                 // that the KV cache holds
  friend bool operator==(const ServerMemory&, const ServerMemory&) = default;
};

// Something to be told once, with how often it happened.
enum class RemarkKind { kOther, kGrowth };  // kGrowth: made of the evidence's growth, and again where that changes

struct Remark {
  std::string text;
  std::int64_t count = 1;
  RemarkKind kind = RemarkKind::kOther;  // of this run: a result that is read again does not tell
  friend bool operator==(const Remark&, const Remark&) = default;
};

struct DataDependence {
  std::string what;
  std::string line;
  std::int64_t count = 1;
  bool is_branch = false;  // of this run, as a remark's kind
  friend bool operator==(const DataDependence&, const DataDependence&) = default;
};

struct TimelinePoint {
  std::int64_t at_ns = 0;
  int device = 0;
  std::string phase;
  Bytes allocated, reserved;
  std::string mark;           // vramfit.mark(text); mostly empty
  std::optional<Bytes> used;  // of the card, by everything on it; none: nothing has told it yet
  friend bool operator==(const TimelinePoint&, const TimelinePoint&) = default;
};

// An exception that ended the script and was not an out-of-memory error.
struct ScriptError {
  std::string type;
  std::string message;
  std::vector<StackFrame> stack;
  bool after_cut = false;  // after an evaluation that was cut, before any more training: the cut may be the cause
  std::string remedy;      // what to try; empty: nothing is known
  friend bool operator==(const ScriptError&, const ScriptError&) = default;
};

enum class FileChange { kCreated, kChanged, kRemoved };
std::string_view to_string(FileChange change);  // "created", "changed", "removed"

struct FileEntry {
  std::string path;
  FileChange change = FileChange::kCreated;
  Bytes bytes;  // its size; of what was removed: 0
  friend bool operator==(const FileEntry&, const FileEntry&) = default;
};

// What the job did to files, and whether the network was there for it. Only jobs on virtual cards have it.
struct FilesResult {
  bool is_private = false;  // in a layer of the run's own, gone with it; else the user's files themselves
  std::string mechanism;    // "overlay", "user_namespace", "supervisor"; empty: nothing was put around the job
  std::int64_t created = 0, changed = 0, removed = 0;  // of a private layer, as all that follows
  Bytes written;                                       // sizes of the files created and changed
  Bytes held;                                          // what the layer took; holes take nothing
  bool is_full = false;                                // it had no room left
  std::vector<FileEntry> entries;                      // some of each kind
  std::vector<std::string> read_only;                  // file systems that could not be covered
  std::string kept;                                    // the folder of --keep-files; empty: nothing was kept
  bool network = false;                                // the job had it
  std::int64_t network_attempts = 0;                   // refused
  friend bool operator==(const FilesResult&, const FilesResult&) = default;
};

struct RunResult {
  Verdict verdict = Verdict::kFailed;
  std::string reason;  // one sentence for failed and borderline; empty otherwise
  int exit_code = 0;   // what a shell would see: 128 + signal for a killed child
  bool timed_out = false;
  bool interrupted = false;
  std::string torch, cuda, python;
  double wall_seconds = 0;
  double waited_seconds = 0;    // of these, for a processor that others had; 0 where nobody counts them
  Bytes host_peak;              // largest resident set of one process
  std::optional<Bytes> margin;  // total - peak of the fullest card, for fits and borderline
  std::vector<DeviceResult> devices;
  std::vector<PhaseResult> phases;
  int peak_device = 0;  // the fullest card
  std::string peak_phase;
  std::vector<OwnerRow> owners_at_peak;
  std::vector<LineRow> lines_at_peak;
  std::vector<FrameworkMemory> frameworks;
  std::vector<ServerMemory> servers;
  std::optional<Oom> oom;
  std::optional<ScriptError> error;
  std::vector<std::string> cuts;  // sentences: what was left out of the run
  std::vector<std::string> plan_applied, plan_refused;
  std::vector<std::string> plan_promised;  // sentences: what the plan is to leave as it is, and nothing compared
  std::vector<DataDependence> depends_on_data;
  std::vector<Remark> not_modelled;
  std::vector<Remark> assumed;
  std::vector<std::string> measured;  // sentences: of real cards, what was measured and how
  std::vector<std::string> untested;  // sentences: releases of torch, CUDA or Python that no test of vramfit has seen
  std::vector<Remark> warnings;
  std::vector<DataLoss> losses;  // what the run failed to see, the worst first
  std::optional<FilesResult> files;
  Reach reach;  // how far it went, and what that leaves open
  std::vector<TimelinePoint> timeline;
  int processes = 0;  // that touched a card
  RuntimeEvidence evidence;
  std::optional<StepTime> estimated_step;      // nothing: no training step was seen, or the card is real
  std::shared_ptr<const ModuleTable> modules;  // --modules; none: it was not asked for, or no module ran
  friend bool operator==(const RunResult&, const RunResult&) = default;
};

// The card that the run is judged by (`peak_device`); null when it is not among the devices.
const DeviceResult* fullest(const RunResult& result);
// A branch that a script took by a value that nothing computed; null where none is known.
const DataDependence* find_chosen_branch(const RunResult& result);
// What one process used most of that card; null where no framework but PyTorch was used.
const FrameworkMemory* find_framework(const RunResult& result, int device);

}  // namespace vramfit::model

#endif
