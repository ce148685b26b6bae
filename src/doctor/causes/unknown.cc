#include <fmt/format.h>

#include <algorithm>

#include "doctor/all_clear.h"
#include "doctor/causes/causes.h"
#include "doctor/remedies.h"

namespace vramfit::doctor {

namespace {

void look_at_doubt(const Doubt& doubt, const Scene& scene, Draft& draft) {
  draft.weigh(0.3).severity(doubt.severity).title(doubt.title);
  if (!doubt.at.file.empty()) {
    draft.because(doubt.at, doubt.reasoning);
  } else {
    draft.because(doubt.reasoning);
  }
  for (const std::string& what : doubt.give) draft.confirm(what);
  if (doubt.next) draft.fix(*doubt.next);
  if (scene.has_run() || doubt.next) return;
  if (!scene.texts.memory_words.empty() || !scene.texts.oom_mentions.empty()) offer_more_pages_to_apu(scene, draft);
  ask_for_traceback(scene, draft);
  ask_for_snapshot(scene, draft);
  ask_for_script(scene, draft);
}

// What little there is: the line itself and what would tell more. Ranked behind anything that is better founded.
void find_unknown(const Scene& scene, Draft& draft) {
  if (!scene.has_failure()) {
    if (const auto doubt = find_doubt(scene)) look_at_doubt(*doubt, scene, draft);
    return;
  }
  draft.weigh(0.3).severity(model::Severity::kNote);
  if (scene.oom != nullptr && !scene.oom_has_numbers) {
    draft.because(scene.oom_line(),
                  scene.oom->form == model::OomForm::kPartial
                      ? "the message is cut off: its numbers are missing"
                      : "this form of the message has no numbers: it may be the card, a context that does "
                        "not fit, or host memory that could not be pinned");
    draft.confirm("the whole message and the traceback above it");
    draft.confirm("nvidia-smi at the time of the failure");
  } else if (scene.oom != nullptr) {
    draft.because(scene.oom_line(), "its numbers fit several causes");
  }
  const auto foreign = std::find_if(scene.texts.foreign.begin(), scene.texts.foreign.end(), says_failure);
  if (scene.oom == nullptr && foreign != scene.texts.foreign.end()) {
    draft.because(foreign->at, foreign->program + " says that memory ran out, and not what held it");
    draft.confirm("nvidia-smi at the time of the failure");
  }
  if (scene.oom == nullptr && foreign == scene.texts.foreign.end() && !scene.texts.library_errors.empty()) {
    draft.because(scene.texts.library_errors.front().at, "it may be memory that ran out, or anything else");
  }
  offer_more_pages_to_apu(scene, draft);
  ask_for_traceback(scene, draft);
  ask_for_snapshot(scene, draft);
  ask_for_script(scene, draft);
}

}  // namespace

const Cause kUnknown{
    "VF001",
    "unknown",
    "What is here does not tell the cause",
    "nothing else is better founded; it says what to give",
    "The text shows that memory ran out and not why. Some messages have no numbers; others fit several causes alike.",
    "Give the whole log, the traceback, nvidia-smi at the time, a memory snapshot, or let vramfit run the script.",
    find_unknown};

}  // namespace vramfit::doctor
