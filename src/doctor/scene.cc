#include "doctor/scene.h"

#include <algorithm>

#include "doctor/failure.h"
#include "doctor/handled.h"
#include "doctor/in_force.h"
#include "doctor/whereabouts.h"
#include "model/number_text.h"

namespace vramfit::doctor {

using model::OomMessage;
using model::Traceback;
using model::TracedException;

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
  // A card that is full kills nobody: what the system ended had filled the host.
  const bool was_killed =
      !scene.texts.host_kills.empty() || find_remark(scene, model::SentenceKind::kToldKilled) != nullptr;
  if (was_killed && scene.oom == nullptr && !tells_of(model::ToldOf::kCard)) return true;
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
         (!texts.library_errors.empty() && !only_other_errors()) ||
         !std::ranges::all_of(texts.host_kills,
                              [&](const model::HostKill& kill) { return is_for_want_of_files(kill); }) ||
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

bool Scene::is_for_want_of_files(const model::HostKill& kill) const {
  return kill.kind == model::HostKillKind::kDataWorker && !kill.signal && lacks_open_files();
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
