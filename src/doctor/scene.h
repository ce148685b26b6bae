// A case seen once through: the failure to explain, its stack, what is in force, how memory moved. Causes ask it.
#ifndef VRAMFIT_DOCTOR_SCENE_H
#define VRAMFIT_DOCTOR_SCENE_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/case.h"
#include "doctor/memory_series.h"
#include "doctor/sizes.h"
#include "doctor/snapshot_facts.h"
#include "doctor/stack.h"

namespace vramfit::doctor {

// The terms of an OOM message: as printed, and as follows from them (T = reserved + free + outside).
struct Terms {
  Size tried;   // as printed: the segment's size, mostly
  Size tensor;  // what it stands for
  Size total, free, allocated, reserved, idle, live;
  Size allowed;      // a fraction's limit
  Size outside;      // total - free - reserved: own context and everybody else
  Size own_process;  // this process, with what is not PyTorch's
  Size context;      // own_process - reserved
  Size others;       // total - free - own_process
  Size private_pools;
};

// Much more is free than was asked for. A few MiB more are no room: the driver hands out pages of 2 MiB, and `free` is
// read after the failure.
bool has_room(const Terms& terms);

// What is known to be in force. Absent: not known, which is not the same as off.
struct InForce {
  bool expandable_segments = false;
  bool malloc_async = false;
  bool max_split_size = false;
  bool garbage_collection = false;
  bool mixed_precision = false;
  bool checkpointing = false;
  bool no_grad = false;
  bool memory_fraction = false;
  bool cudnn_benchmark = false;
  std::optional<std::int64_t> batch_size;
  std::string torch;  // release, "2.6.0"
  std::optional<model::SourceLine> seen_expandable, seen_no_grad, seen_benchmark, seen_batch_size;
  std::optional<model::SourceLine> no_expandable;  // PyTorch's warning that this platform has none
};

// Where the program was when it failed, as far as stack, run and words around it tell.
struct Whereabouts {
  bool training = false;  // a backward pass or an optimizer step is in the stack, or the function says so
  bool backward = false;
  bool optimizer = false;
  bool evaluation = false;  // validation, test, inference of a training program
  bool inference = false;   // a program that only infers: generate, predict, a server
  bool serving = false;     // vLLM and the like
  bool pictures = false;    // a program that draws pictures: ComfyUI, the web UIs of Stable Diffusion
  bool placing = false;     // weights are moved to the card or loaded onto it
  bool checkpoint_load = false;
  bool forward = false;
  bool loss = false;
  bool pin_thread = false;
  bool data_worker = false;
  bool graph_capture = false;
  bool notebook = false;
  bool under_no_grad = false;  // a frame of torch.no_grad / inference_mode, or a library that always does so
  std::optional<StackEntry> evaluation_frame;
};

struct Platform {
  bool windows = false, wsl = false, rocm = false, container = false, colab = false, jetson = false;
  std::optional<model::SourceLine> seen;
};

struct Scene {
  explicit Scene(const Case& given);

  const Case& given;

 private:
  const std::optional<model::Evidence> without_handled_;  // where something was

 public:
  const model::Evidence& texts;                // without what a program told and got over
  std::vector<const model::OomMessage*> ooms;  // on a card, in the order read
  const model::OomMessage* oom = nullptr;      // the one to explain
  const model::OomMessage* host_oom = nullptr;
  bool oom_has_numbers = false;
  Terms terms;                                       // of `oom`
  Stack stack;                                       // of `oom`; without one, of the last error
  std::vector<const model::TracedException*> chain;  // of the traceback of `stack`
  InForce in_force;
  Whereabouts at;
  Platform platform;
  std::vector<MemorySeries> series;  // memory against steps
  std::vector<SnapshotFacts> snapshots;
  std::optional<std::int64_t> steps_done;  // the last step that a log shows before it failed
  std::optional<model::SourceLine> steps_seen;

  const model::RuntimeEvidence& runtime() const;  // of the run, or of a report of the error; else empty
  const model::RunResult* run() const { return given.run ? &*given.run : nullptr; }
  bool has_run() const { return given.run.has_value(); }
  bool saw_steps() const;  // of an optimizer or an evaluation, in the run
  // Something was left out of the run before it had taken so many steps in full.
  bool was_cut_within(std::int64_t steps) const;
  bool run_failed_for_memory() const { return has_run() && given.run->verdict == model::Verdict::kOutOfMemory; }
  // Something ran out, in whatever way: on the card, on the host, in a library's words, in a snapshot.
  bool has_failure() const;
  // Whether the error is of PyTorch's back end for Macs, where settings for NVIDIA's cards do not help.
  bool is_of_mps() const { return oom != nullptr && oom->form == model::OomForm::kMps; }
  // A search for the largest batch met the error of this line, and went on.
  bool was_handled(const model::SourceLine& told) const;
  // The limit of open files was met, which is why shared memory could not be opened.
  bool lacks_open_files() const;
  // The worker's end is told beside that limit, and no signal: it could not open what the others sent it.
  bool is_for_want_of_files(const model::HostKill& kill) const;
  // A kernel checked something and failed, or read out of bounds: every later call fails then, with whatever text.
  bool kernel_failed() const;
  // Errors were read, and none of them is of a kind that memory causes.
  bool only_other_errors() const;
  // Whether the error is of a card of NVIDIA's, as far as is known.
  bool is_of_cuda() const {
    return oom == nullptr || oom->device == model::OomDevice::kUnknown || oom->device == model::OomDevice::kCuda;
  }
  // The arithmetic leaves room for reasoning about the card as full: tried, total and reserved or allocated.
  bool can_reckon() const { return terms.total && (terms.allocated || terms.reserved); }
  const model::SourceLine& oom_line() const { return oom->at; }
  // The command of the run with another verb, for advice: `vramfit fit --gpu "GTX 1070" -- python train.py`.
  std::string command_of(std::string_view verb) const;
};

// Whether another program's report is one of a failure, and not only of its memory.
bool says_failure(const model::ForeignDump& dump);

// The words in which a server of language models lays out the card: weights, activations, cache. Null: none did.
const model::ForeignDump* find_server_layout(const model::Evidence& texts);

// The first remark of a kind; null: none.
const model::Remarkable* find_remark(const Scene& scene, model::SentenceKind kind);

// Whether a sentence speaks of the host's memory: it says so, or only `free -h` is beside it.
bool is_of_host(const Scene& scene, const model::ToldSentence& told);

// Growth that somebody tells of an evaluation; null: of none. Whether the text speaks of torch.no_grad() and its kin.
const model::ToldSentence* find_told_growth_of_evaluation(const Scene& scene);
bool speaks_of_no_grad(const Scene& scene);

// The cache of a language model, where llama.cpp lays out more for it than for the weights and than what was refused.
const model::ForeignDump* find_cache_above_weights(const Scene& scene);

// Whether a setting seen in a text says yes: "True", "1", "on", "yes".
bool says_yes(std::string_view value);

}  // namespace vramfit::doctor

#endif
