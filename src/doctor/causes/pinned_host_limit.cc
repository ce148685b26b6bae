#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "doctor/causes/causes.h"
#include "doctor/remedies.h"

namespace vramfit::doctor {

namespace {

bool names_pinning(std::string_view text) {
  return mentions(text, {"cudahostalloc", "cudahostregister", "cudamallochost"});
}

void find_pinned_host_limit(const Scene& scene, Draft& draft) {
  const bool numberless = scene.oom != nullptr && !scene.oom_has_numbers;
  const StackEntry* pins = scene.stack.near_end({"pin_memory", "cudahostalloc", "cudahostregister", "pinned"}, 3);
  if (numberless && (scene.at.pin_thread || pins != nullptr)) {
    draft.weigh(0.84).because(scene.oom_line(),
                              "a message without numbers comes from the driver, not from PyTorch's pool");
    if (pins != nullptr) draft.because(*pins, "host memory is being pinned here");
  }
  if (numberless && scene.oom->form == model::OomForm::kNumberless && draft.is_empty() && scene.platform.wsl) {
    draft.weigh(0.42).because(scene.oom_line(),
                              "a message without numbers comes from the driver, not from PyTorch's pool; under WSL it "
                              "is mostly host memory that cannot be pinned");
  }
  if (const model::Remarkable* cured = find_remark(scene, model::SentenceKind::kToldPinCured);
      cured != nullptr && !scene.oom_has_numbers) {
    draft.weigh(0.8).because(cured->at, "without pinned memory it works, says who wrote this");
  }
  for (const model::LibraryError& error : scene.texts.library_errors) {
    if (!names_pinning(error.message) && !names_pinning(error.call)) continue;
    draft.weigh(0.8).because(error.at, "pinning host memory failed");
  }
  // The call by its name, whoever prints it, beside words of trouble.
  for (const auto* lines : {&scene.texts.oom_mentions, &scene.texts.memory_words, &scene.texts.other_errors}) {
    const auto named =
        std::ranges::find_if(*lines, [&](const model::SourceLine& at) { return names_pinning(at.text); });
    if (named == lines->end()) continue;
    draft.weigh(0.8).because(*named, "it is host memory that could not be pinned: this is the call for it");
    break;
  }
  if (numberless && draft.is_empty() && names_pinning(scene.oom->at.text)) {
    draft.weigh(0.8).because(scene.oom_line(), "it is host memory that could not be pinned: this is the call for it");
  }
  // Other programs say it in words of their own: TensorFlow's pool on the host, llama.cpp's buffers.
  for (const model::ForeignDump& dump : scene.texts.foreign) {
    if (dump.kind != model::ForeignKind::kPinned) continue;
    draft.weigh(0.8).because(dump.at, dump.program + " could not pin host memory; the card's own is not meant");
    break;
  }
  // The call that pins fails with whatever the driver says: "invalid argument" where so much can't be pinned.
  if (draft.is_empty() && scene.oom == nullptr && pins != nullptr && !scene.texts.library_errors.empty()) {
    draft.weigh(0.5).because(*pins, "host memory is being pinned here");
    draft.because(scene.texts.library_errors.front().at, "this is what the driver says of it");
  }
  if (draft.is_empty()) return;
  for (const model::HostInfo& info : scene.texts.host) {
    if (info.kind != model::HostTable::kUlimit || !mentions(info.subject, {"locked", "memlock"}) || info.unlimited)
      continue;
    draft.adjust(0.05).because(info.at, "page-locked memory is limited here");
  }
  if (scene.platform.wsl) draft.adjust(0.05).because("under WSL page-locked memory is limited to a part of the host's");
  // DeepSpeed pins what it offloads, and no loader has a part in that.
  if (find_remark(scene, model::SentenceKind::kDeepspeedOffload) != nullptr ||
      scene.stack.in_file({"deepspeed"}) != nullptr) {
    draft.fix({"Do not pin what DeepSpeed offloads",
               "\"offload_optimizer\": {\"device\": \"cpu\", \"pin_memory\": false}  # so in offload_param too",
               std::nullopt, "slower copies to the card", Applicability::kMayBeWrong});
  } else {
    draft.fix({"Do not pin", "DataLoader(..., pin_memory=False)", std::nullopt, "slower copies to the card",
               Applicability::kAsIs});
  }
  draft.fix({"Raise the limit", "ulimit -l unlimited  # docker run --ulimit memlock=-1", std::nullopt, "none",
             Applicability::kMayBeWrong});
  draft.confirm("free -g and ulimit -l, and nvidia-smi: a context that does not fit gives the same words");
}

}  // namespace

const Cause kPinnedHostLimit{"VF503",
                             "pinned_host_limit",
                             "Host memory could not be pinned",
                             "\"CUDA error: out of memory\" without numbers, from a frame that pins memory",
                             "Pinned (page-locked) host memory is a resource of its own: limited under WSL and in "
                             "containers, rounded up to powers "
                             "of two by PyTorch, never given back. When it runs out, the driver says \"out of memory\" "
                             "although the card has room.",
                             "pin_memory=False, smaller batches in flight, a higher memlock limit.",
                             find_pinned_host_limit};

}  // namespace vramfit::doctor
