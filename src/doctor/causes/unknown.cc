#include <fmt/format.h>

#include <algorithm>

#include "doctor/causes/causes.h"
#include "doctor/remedies.h"

namespace vramfit::doctor {

namespace {

// Somebody says that memory ran out, and PyTorch's own message is not here.
void look_at_mention(const Scene& scene, Draft& draft) {
  draft.weigh(0.3).severity(model::Severity::kNote);
  draft.title("Memory of the GPU is said to have run out, and the message itself is not here");
  draft.because(scene.texts.oom_mentions.front(), "this speaks of it, without a number");
  draft.confirm("the whole message, from \"CUDA out of memory\" on, and the traceback above it");
  ask_for_traceback(scene, draft);
  ask_for_snapshot(scene, draft);
  ask_for_script(scene, draft);
}

// What little there is: the line itself and what would tell more. Ranked behind anything that is better founded.
void find_unknown(const Scene& scene, Draft& draft) {
  if (!scene.has_failure()) {
    if (!scene.has_run() && !scene.texts.oom_mentions.empty()) look_at_mention(scene, draft);
    return;
  }
  draft.weigh(0.3).severity(model::Severity::kNote);
  if (scene.has_run() && scene.run()->error) {
    draft.title("The script failed, and not for want of memory");
    draft.because(fmt::format("the run: {}: {}", scene.run()->error->type, scene.run()->error->message));
    if (!scene.run()->error->remedy.empty())
      draft.fix({"Let the script run first", scene.run()->error->remedy, std::nullopt, "", Applicability::kMayBeWrong});
    return;
  }
  if (scene.only_other_errors()) {
    draft.title("There is an error, and nothing says that it is about memory");
    draft.because(scene.texts.library_errors.front().at, "this is no sign of memory that ran out");
    return;
  }
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
