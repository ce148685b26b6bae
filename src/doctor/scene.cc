#include "doctor/scene.h"

#include <algorithm>

#include "base/out_of_memory.h"
#include "doctor/handled.h"
#include "doctor/whereabouts.h"
#include "model/number_text.h"
#include "model/oom_figures.h"

namespace vramfit::doctor {

namespace {

using model::OomDevice;
using model::OomForm;
using model::OomMessage;
using model::Traceback;
using model::TracedException;

bool is_of_host(const OomMessage& oom) { return oom.form == OomForm::kHost || oom.device == OomDevice::kHost; }

bool has_numbers(const OomMessage& oom) { return oom.tried && (oom.total || oom.allocated || oom.reserved); }

bool same_speaker(const OomMessage& a, const OomMessage& b) {
  return a.speaker.rank == b.speaker.rank && a.speaker.process == b.speaker.process && a.at.file == b.at.file;
}

// The message to explain: of the last group of failures (each rank once) the first, because the others follow from it;
// within it, one with numbers.
const OomMessage* choose_oom(const std::vector<const OomMessage*>& ooms) {
  if (ooms.empty()) return nullptr;
  std::size_t first = ooms.size() - 1;
  while (first > 0) {
    const bool seen = std::any_of(ooms.begin() + static_cast<std::ptrdiff_t>(first), ooms.end(),
                                  [&](const OomMessage* later) { return same_speaker(*ooms[first - 1], *later); });
    if (seen) break;
    --first;
  }
  for (std::size_t i = first; i < ooms.size(); ++i) {
    if (has_numbers(*ooms[i])) return ooms[i];
  }
  for (const OomMessage* oom : ooms) {
    if (has_numbers(*oom)) return oom;
  }
  return ooms[first];
}

bool holds_line(const Traceback& traceback, const model::SourceLine& at) {
  if (traceback.at.file != at.file) return false;
  return std::any_of(traceback.exceptions.begin(), traceback.exceptions.end(), [&](const TracedException& exception) {
    return exception.first_line <= at.line && at.line <= exception.last_line;
  });
}

bool is_about_memory(const TracedException& exception) {
  if (mentions(exception.message, {"static tls block"})) return false;  // the loader's: a library came too late
  if (base::says_out_of_memory(exception.type) || base::says_out_of_memory(exception.message)) return true;
  // Which traceback is meant is asked here, not whether memory ran out: the host's memory, and errors of libraries that
  // often mean it, count too.
  return mentions(exception.type, {"memoryerror"}) ||
         mentions(exception.message, {"not enough memory", "cannot allocate", "can't allocate", "alloc failed",
                                      "not_initialized", "cudnn", "cublas", "1eb", "cudacachingallocator"});
}

// The traceback that ends in this message; without one that has it, the nearest that speaks of memory.
const Traceback* traceback_of(const model::Evidence& texts, const OomMessage* oom) {
  if (oom != nullptr) {
    for (const Traceback& traceback : texts.tracebacks) {
      if (holds_line(traceback, oom->at)) return &traceback;
    }
  }
  const Traceback* nearest = nullptr;
  for (const Traceback& traceback : texts.tracebacks) {
    const bool speaks = traceback.truncated || traceback.exceptions.empty() ||
                        std::any_of(traceback.exceptions.begin(), traceback.exceptions.end(), is_about_memory);
    if (!speaks) continue;
    const bool before = oom == nullptr || traceback.at.file != oom->at.file || traceback.at.line <= oom->at.line;
    if (before || nearest == nullptr) nearest = &traceback;
  }
  if (nearest == nullptr && oom == nullptr && !texts.tracebacks.empty()) nearest = &texts.tracebacks.back();
  return nearest;
}

Stack stack_of(const Traceback& traceback, const OomMessage* oom) {
  Stack stack;
  // The exception that holds the message was raised first; what handled it or wrapped it was printed around it.
  std::size_t until = traceback.exceptions.size();
  for (std::size_t i = 0; i < traceback.exceptions.size(); ++i) {
    const TracedException& exception = traceback.exceptions[i];
    const bool holds = oom != nullptr && exception.first_line <= oom->at.line && oom->at.line <= exception.last_line;
    if (holds || (oom == nullptr && is_about_memory(exception))) {
      until = i + 1;
      break;
    }
  }
  // An original traceback (of a worker) is inside the message of the outer one: its frames are the inner ones.
  while (until < traceback.exceptions.size() &&
         traceback.exceptions[until].relation == model::TraceRelation::kOriginal) {
    ++until;
  }
  std::size_t from = until == 0 ? 0 : until - 1;
  while (from > 0 && traceback.exceptions[from].relation == model::TraceRelation::kOriginal) --from;
  for (std::size_t i = from; i < until; ++i) {
    const TracedException& exception = traceback.exceptions[i];
    for (const model::TraceFrame& frame : exception.frames) {
      stack.add(frame, {traceback.at.file, exception.first_line, exception.type});
    }
    stack.set_message(exception.message);
  }
  for (const model::PhaseMark& mark : traceback.marks) {
    if (mark.exception >= from && mark.exception < until) stack.add_mark(mark.kind);
  }
  return stack;
}

Stack stack_of(const model::RunResult& run) {
  Stack stack;
  const auto& frames = run.oom ? run.oom->stack : run.error ? run.error->stack : std::vector<model::StackFrame>();
  for (const model::StackFrame& frame : frames) {
    stack.add({frame.file, frame.line, frame.function, frame.code}, {"the run", 0, ""});
  }
  if (run.oom) stack.set_message(run.oom->message);
  return stack;
}

Terms terms_of(const OomMessage& oom) {
  const model::OomArithmetic& sums = oom.arithmetic;
  Terms terms;
  terms.tried = oom.tried;
  terms.tensor = sums.tensor ? sums.tensor : oom.tried;
  terms.total = oom.total;
  terms.free = oom.free;
  terms.allocated = oom.allocated;
  terms.reserved = sums.reserved ? sums.reserved : oom.reserved;
  terms.idle = sums.idle ? sums.idle : oom.unallocated;
  terms.live = sums.live ? sums.live : oom.allocated;
  terms.allowed = oom.allowed;
  terms.outside = sums.outside;
  terms.own_process = sums.own_process ? sums.own_process : oom.this_process;
  terms.context = model::held_outside_pytorch(oom);
  terms.others = sums.others;
  terms.private_pools = oom.private_pools;
  return terms;
}

void read_allocator_setting(const model::SettingSeen& seen, InForce& in_force) {
  const std::string value = lowered(seen.value);
  if (value.contains("expandable_segments:true")) {
    in_force.expandable_segments = true;
    in_force.seen_expandable = seen.at;
  }
  in_force.malloc_async |= value.contains("cudamallocasync");
  in_force.max_split_size |= value.contains("max_split_size_mb");
  in_force.garbage_collection |= value.contains("garbage_collection_threshold");
}

void read_setting(const model::SettingSeen& seen, InForce& in_force) {
  const std::string name = lowered(seen.name);
  if (name.contains("alloc_conf")) {
    read_allocator_setting(seen, in_force);
  } else if (name == "expandable_segments") {
    in_force.expandable_segments |= says_yes(seen.value);
    if (says_yes(seen.value)) in_force.seen_expandable = seen.at;
  } else if (name.contains("batch_size") && !name.contains("eval")) {
    const long long size = std::strtoll(seen.value.c_str(), nullptr, 10);
    if (size > 0 && !in_force.batch_size) {
      in_force.batch_size = size;
      in_force.seen_batch_size = seen.at;
    }
  } else if (name == "fp16" || name == "bf16" || name == "amp" || name.contains("autocast")) {
    in_force.mixed_precision |= says_yes(seen.value);
  } else if (name.contains("precision") || name.contains("dtype")) {
    in_force.mixed_precision |= mentions(seen.value, {"16", "half"});
  } else if (name.contains("checkpointing")) {
    in_force.checkpointing |= says_yes(seen.value);
  } else if (name.contains("benchmark")) {
    in_force.cudnn_benchmark |= says_yes(seen.value);
    in_force.seen_benchmark = seen.at;
  } else if (name.contains("no_grad") || name.contains("inference_mode")) {
    in_force.no_grad = true;
    in_force.seen_no_grad = seen.at;
  } else if (name.contains("memory_fraction")) {
    in_force.memory_fraction = true;
  } else if (name == "torch" || name == "pytorch") {
    in_force.torch = seen.value;
  }
}

InForce find_in_force(const Scene& scene) {
  InForce in_force;
  for (const model::SettingSeen& seen : scene.texts.settings) read_setting(seen, in_force);
  for (const SnapshotFacts& facts : scene.snapshots) {
    in_force.expandable_segments |= facts.expandable;
    read_allocator_setting({{facts.file, 0, facts.settings}, "", facts.settings}, in_force);
  }
  for (const model::Remarkable& remark : scene.texts.remarks) {
    if (remark.kind != model::SentenceKind::kExpandableUnsupported) continue;
    in_force.expandable_segments = false;
    in_force.no_expandable = remark.at;
  }
  in_force.malloc_async |= scene.oom != nullptr && scene.oom->form == OomForm::kMallocAsync;
  in_force.checkpointing |=
      scene.stack.is_marked(model::FramePhase::kRecompute) || scene.stack.in_file({"utils/checkpoint.py"});
  in_force.mixed_precision |= scene.stack.in_function({"amp", "autocast"}) != nullptr ||
                              scene.stack.in_file({"autocast_mode.py", "grad_scaler.py"}) != nullptr ||
                              scene.stack.in_code({"autocast(", "scaler.scale("}) != nullptr;
  if (in_force.torch.empty() && scene.has_run()) in_force.torch = scene.run()->torch;
  return in_force;
}

Platform find_platform(const Scene& scene) {
  Platform platform;
  for (const model::SettingSeen& seen : scene.texts.settings) {
    if (lowered(seen.name) != "platform") continue;
    const std::string value = lowered(seen.value);
    platform.windows |= value.contains("windows");
    platform.wsl |= value.contains("wsl");
    platform.rocm |= value.contains("rocm");
    platform.container |= value.contains("docker") || value.contains("kube") || value.contains("container");
    platform.colab |= value.contains("colab") || value.contains("kaggle");
    platform.jetson |= value.contains("jetson") || value.contains("tegra");
    if (!platform.seen) platform.seen = seen.at;
  }
  platform.rocm |= scene.oom != nullptr && scene.oom->device == OomDevice::kHip;
  for (const StackEntry& entry : scene.stack.entries()) {
    const std::string& file = entry.frame.file;
    platform.windows |= file.contains('\\') || (file.size() > 2 && file[1] == ':' && file[2] == '/');
  }
  for (const model::GpuStatus& status : scene.texts.gpu_status) {
    for (const model::GpuCard& card : status.cards) platform.windows |= card.driver_model == "WDDM";
    platform.rocm |= status.program.contains("rocm");
  }
  return platform;
}

}  // namespace

bool has_room(const Terms& terms) {
  constexpr Bytes kLeast = Bytes::mib(32);
  return surely_above(terms.free, terms.tried) && terms.free->value - terms.tried->value >= kLeast &&
         terms.free->value.count() > terms.tried->value.count() * 3 / 2;
}

bool says_yes(std::string_view value) {
  const std::string low = lowered(value);
  return low == "true" || low == "1" || low == "on" || low == "yes" || low == "y" || low.starts_with("true");
}

Scene::Scene(const Case& the_case)
    : given(the_case),
      without_handled_(without_handled(the_case.texts)),
      texts(without_handled_ ? *without_handled_ : the_case.texts) {
  for (const OomMessage& message : texts.ooms) {
    if (was_handled(message.at)) continue;
    if (!is_of_host(message)) ooms.push_back(&message);
    if (is_of_host(message) && host_oom == nullptr) host_oom = &message;
  }
  oom = choose_oom(ooms);
  if (oom != nullptr) {
    terms = terms_of(*oom);
    oom_has_numbers = has_numbers(*oom);
  }
  for (const SnapshotFile& file : given.snapshots) snapshots.push_back(find_facts(file.file, file.snapshot));
  if (const Traceback* traceback = traceback_of(texts, oom)) {
    stack = stack_of(*traceback, oom);
    for (const TracedException& exception : traceback->exceptions) chain.push_back(&exception);
  }
  if (stack.empty() && has_run()) stack = stack_of(*run());
  in_force = find_in_force(*this);
  at = find_whereabouts(*this);
  in_force.no_grad |= at.under_no_grad;
  platform = find_platform(*this);
  series = find_series(texts);
  for (const model::TrainingLogPoint& point : texts.training) {
    if (!point.step || (oom != nullptr && point.at.file == oom->at.file && point.at.line > oom->at.line)) continue;
    steps_done = point.step;
    steps_seen = point.at;
  }
}

const model::RuntimeEvidence& Scene::runtime() const {
  static const model::RuntimeEvidence kNone;
  if (given.run) return given.run->evidence;
  return given.oom_report ? *given.oom_report : kNone;
}

bool says_failure(const model::ForeignDump& dump) {
  using enum model::ForeignKind;
  switch (dump.kind) {
    case kOutOfMemory:
    case kRefused:
    case kBfcDump:
    case kPoolExceeded:
    case kWarmUp:
    case kKvCache:
    case kWeights:
    case kProgram:
    case kScratch:
    case kDevice:
    case kBuffer:
    case kHost:
      return true;
    case kComputeBuffers:
    case kPinned:
    case kLibrary:
    case kTactic:
    case kCard:
    case kMemoryProfile:
    case kCudaGraphs:
    case kSetting:
      break;
  }
  return mentions(dump.message, {"less than desired", "error in memory profiling"});
}

namespace {

// Ranks whose messages name one card, on which others hold a rank's worth beside each.
bool messages_share_card(const Scene& scene) {
  if (scene.oom == nullptr || !scene.oom->speaker.rank || !scene.terms.total) return false;
  const bool held_by_others =
      share(scene.terms.others ? scene.terms.others : scene.terms.outside, scene.terms.total) > 0.25;
  // A rank on the card of another rank's number, or two ranks that ran out on one card.
  bool two_ranks =
      scene.oom->gpu && *scene.oom->speaker.rank > 0 && *scene.oom->gpu == 0 && !scene.oom->processes.empty();
  for (const OomMessage* other : scene.ooms) {
    two_ranks |= other->speaker.rank && other->speaker.rank != scene.oom->speaker.rank &&
                 other->gpu == scene.oom->gpu && other->at.file == scene.oom->at.file;
  }
  return held_by_others && two_ranks;
}

bool run_shares_card(const Scene& scene) {
  const auto& contexts = scene.runtime().contexts;
  const auto works = [](const model::ContextOnCard& context) {
    return context.world_size > 1 && (context.role == model::JobRole::kRank || context.role == model::JobRole::kMain) &&
           context.peak_allocated > Bytes::mib(64);
  };
  for (const model::ContextOnCard& one : contexts) {
    if (!works(one)) continue;
    for (const model::ContextOnCard& other : contexts) {
      if (works(other) && other.device == one.device && other.rank != one.rank) return true;
    }
  }
  return false;
}

}  // namespace

const model::Remarkable* find_remark(const Scene& scene, model::SentenceKind kind) {
  const auto& remarks = scene.texts.remarks;
  if (model::is_told(kind) && scene.has_run()) return nullptr;  // a run shows it, whoever says what
  const auto found = std::ranges::find(remarks, kind, &model::Remarkable::kind);
  return found == remarks.end() ? nullptr : &*found;
}

bool is_of_host(const Scene& scene, const model::ToldSentence& told) {
  if (told.of != model::ToldOf::kUnknown) return told.of == model::ToldOf::kHost;
  const auto tells_of = [&](model::ToldOf of) {
    return std::ranges::find(scene.texts.told, of, &model::ToldSentence::of) != scene.texts.told.end();
  };
  if (tells_of(model::ToldOf::kHost) && !tells_of(model::ToldOf::kCard)) return true;
  const bool shows_host = std::ranges::any_of(scene.texts.host, [](const model::HostInfo& info) {
    return info.kind == model::HostTable::kFree || info.kind == model::HostTable::kMeminfo;
  });
  return shows_host && scene.oom == nullptr && scene.texts.gpu_status.empty();
}

const model::ToldSentence* find_told_growth_of_evaluation(const Scene& scene) {
  if (scene.has_run()) return nullptr;
  const auto found = std::ranges::find_if(scene.texts.told, [&](const model::ToldSentence& told) {
    return told.kind == model::ToldKind::kRises && !is_of_host(scene, told) &&
           mentions(told.at.text, {"validat", "evaluat", "val loop", "eval loop", "test loop", "testing"});
  });
  return found == scene.texts.told.end() ? nullptr : &*found;
}

bool speaks_of_no_grad(const Scene& scene) {
  return scene.in_force.no_grad || std::ranges::any_of(scene.texts.files, [](const model::TextFile& file) {
           return mentions(file.sample, {"no_grad", "inference_mode"});
         });
}

const model::ForeignDump* find_cache_above_weights(const Scene& scene) {
  Bytes cache, weights, refused;
  double tokens = 0, context = 0;
  const model::ForeignDump* largest = nullptr;
  for (const model::ForeignDump& dump : scene.texts.foreign) {
    if (dump.program != "llama.cpp") continue;
    if (const auto found = dump.numbers.find("cache_tokens"); found != dump.numbers.end()) tokens = found->second;
    if (const auto found = dump.numbers.find("context"); found != dump.numbers.end()) context = found->second;
    for (const model::NamedBytes& size : dump.sizes) {
      if (size.name == "requested") refused = std::max(refused, size.bytes.value);
      if (size.name == "weights") weights += size.bytes.value;
      if (size.name != "kv_cache") continue;
      cache += size.bytes.value;
      if (largest == nullptr) largest = &dump;
    }
  }
  // Where the weights are not in the text, a cache for several requests is known by its tokens.
  const bool is_multiplied = context > 0 && tokens >= 2 * context;
  const bool is_largest = refused.count() > 0 && cache > std::max(weights, refused);
  return is_largest && (weights.count() > 0 || is_multiplied) ? largest : nullptr;
}

bool ranks_share_card(const Scene& scene) { return messages_share_card(scene) || run_shares_card(scene); }

const model::ForeignDump* find_server_layout(const model::Evidence& texts) {
  const model::ForeignDump* fullest = nullptr;
  for (const model::ForeignDump& dump : texts.foreign) {
    const bool lays_out = dump.kind == model::ForeignKind::kMemoryProfile && mentions(dump.program, {"vllm", "sglang"});
    if (lays_out && (fullest == nullptr || dump.sizes.size() > fullest->sizes.size())) fullest = &dump;
  }
  return fullest;
}

bool Scene::has_failure() const {
  const bool snapshot_failed =
      std::any_of(snapshots.begin(), snapshots.end(), [](const SnapshotFacts& facts) { return facts.ooms > 0; });
  const bool report_tells_oom = given.oom_report && given.oom_report->oom;
  return oom != nullptr || host_oom != nullptr || report_tells_oom ||
         (!texts.library_errors.empty() && !only_other_errors()) || !texts.host_kills.empty() ||
         (!texts.shm_errors.empty() && !lacks_open_files()) || snapshot_failed ||
         std::any_of(texts.foreign.begin(), texts.foreign.end(), says_failure) || run_failed_for_memory() ||
         (!kernel_failed() &&
          std::any_of(texts.tracebacks.begin(), texts.tracebacks.end(), [](const Traceback& traceback) {
            return std::any_of(traceback.exceptions.begin(), traceback.exceptions.end(), is_about_memory);
          }));
}

// "Trying batch size 32", "finished batch size finder": a search expects the error, and went on after it.
bool Scene::was_handled(const model::SourceLine& told) const {
  const auto last = std::find_if(texts.remarks.rbegin(), texts.remarks.rend(), [&](const model::Remarkable& remark) {
    return remark.kind == model::SentenceKind::kBatchSizeSearch && remark.at.file == told.file;
  });
  if (last == texts.remarks.rend() || last->at.line < told.line) return false;
  // "No executable batch size found, reached zero.": the search itself failed.
  const bool failed = std::ranges::any_of(texts.oom_mentions, [&](const model::SourceLine& mention) {
    return mention.file == told.file && mention.line > last->at.line && mentions(mention.text, {"batch size f"});
  });
  if (failed) return false;
  const bool ended_it = !texts.tracebacks.empty() && holds_line(texts.tracebacks.back(), told);
  return last->at.line > told.line || !ended_it;
}

bool Scene::lacks_open_files() const {
  return std::any_of(texts.remarks.begin(), texts.remarks.end(),
                     [](const model::Remarkable& remark) { return remark.kind == model::SentenceKind::kOpenFiles; });
}

bool Scene::kernel_failed() const {
  const auto tells = [](std::string_view text) {
    return mentions(text, {"device-side assert", "illegal memory access", "misaligned address", "index out of bounds"});
  };
  // "Loss.cu:115: operator(): block: [0,0,0], thread: [3,0,0] Assertion `input_val >= zero` failed."
  const auto is_assertion = [](const model::SourceLine& told) {
    return told.text.contains("block: [") && told.text.contains("thread: [") && mentions(told.text, {"assertion"});
  };
  return std::ranges::any_of(texts.other_errors, is_assertion) ||
         std::any_of(texts.library_errors.begin(), texts.library_errors.end(),
                     [&](const model::LibraryError& error) {
                       return error.code == "cudaErrorAssert" || tells(error.message) || tells(error.at.text);
                     }) ||
         std::any_of(chain.begin(), chain.end(),
                     [&](const TracedException* exception) { return tells(exception->message); });
}

bool Scene::only_other_errors() const {
  const auto is_of_memory = [](const model::LibraryError& error) {
    return mentions(error.message,
                    {"memory", "alloc", "not_initialized", "internal_error", "insufficient_resources", "not_supported",
                     "unable to find", "nvml_success", "cublas", "cudnn", "unhandled cuda"});
  };
  return oom == nullptr && host_oom == nullptr && texts.host_kills.empty() &&
         (texts.shm_errors.empty() || lacks_open_files()) &&
         std::none_of(texts.foreign.begin(), texts.foreign.end(), says_failure) && !texts.library_errors.empty() &&
         (kernel_failed() || std::none_of(texts.library_errors.begin(), texts.library_errors.end(), is_of_memory));
}

std::string Scene::command_of(std::string_view verb) const {
  std::string command = "vramfit " + std::string(verb);
  command += " --gpu \"" + (given.gpu.empty() ? std::string("YOUR CARD") : given.gpu) + "\"";
  return command + " -- " + (given.command.empty() ? std::string("python YOUR_SCRIPT.py") : given.command);
}

bool Scene::was_cut_within(std::int64_t steps) const {
  if (!has_run() || run_failed_for_memory() || run()->reach.whole || !runtime().measured) return false;
  const bool trained = std::ranges::any_of(run()->phases, [](const model::PhaseResult& phase) {
    return phase.name == model::phase::kTrain && phase.steps > 0;
  });
  return trained && runtime().judged_steps < steps;
}

bool Scene::saw_steps() const {
  return has_run() &&
         std::ranges::any_of(run()->phases, [](const model::PhaseResult& phase) { return phase.steps > 0; });
}

}  // namespace vramfit::doctor
