#include <fmt/format.h>

#include <algorithm>

#include "doctor/causes/causes.h"
#include "doctor/remedies.h"
#include "model/number_text.h"

namespace vramfit::doctor {

namespace {

// True when the run answered the question, either way.
bool find_no_grad_missing_in_run(const Scene& scene, Draft& draft) {
  bool answered = false;
  for (const model::EvaluationForward& forward : scene.runtime().evaluations) {
    if (forward.phase == model::phase::kTrain || forward.phase == model::phase::kLoad) continue;
    answered = true;
    if (!forward.grad_enabled || forward.saved.count() <= 0) continue;
    model::Bytes peak;
    for (const model::PhaseResult& phase : scene.run()->phases) {
      if (phase.name == forward.phase) peak = std::max(peak, phase.peaks.allocated);
    }
    const double part = share(forward.saved, peak);
    if (part < 0.03) continue;
    const bool decides = scene.run_failed_for_memory() && (scene.at.evaluation || scene.at.inference);
    draft.weigh(decides ? std::min(0.96, 0.75 + part / 3) : std::min(0.75, 0.5 + part));
    if (!scene.run_failed_for_memory()) draft.severity(model::Severity::kWarning);
    draft.because(fmt::format(
        "the run: {} is called at {} with gradients on; each call keeps {} of activations that no "
        "backward pass will use ({} of the phase's peak)",
        forward.root.empty() ? "the model" : forward.root, forward.line, show(forward.saved), percent(part)));
    offer_no_grad(scene, draft, forward.saved);
    break;
  }
  return answered;
}

// An evaluation has no backward pass, and so nothing to keep from one batch to the next.
void look_at_told_growth(const Scene& scene, Draft& draft) {
  const model::ToldSentence* told = find_told_growth_of_evaluation(scene);
  if (told == nullptr || speaks_of_no_grad(scene)) return;
  draft.weigh(0.5).because(told->at,
                           "it rises in an evaluation: with gradients on, what a backward pass would need is kept");
}

void find_no_grad_missing(const Scene& scene, Draft& draft) {
  if (find_no_grad_missing_in_run(scene, draft)) return;
  for (const SnapshotFacts& facts : scene.snapshots) {
    model::Bytes saved;
    for (const CallSite& site : facts.sites) {
      const bool evaluates =
          mentions(site.words, {" validate", " evaluate", " eval\n", " test\n", " val_", " validation"});
      if (evaluates && mentions(site.words, {" forward", "nn/modules"})) saved += site.bytes;
    }
    const double part = share(saved, facts.active);
    if (part < 0.3) continue;
    draft.weigh(std::min(0.85, 0.5 + part / 2));
    draft.because(
        model::SourceLine{facts.file, 0, ""},
        fmt::format("{} ({} of what is live) are results of layers called from an evaluation: without gradients "
                    "each is freed as soon as the next is made",
                    show(saved), percent(part)));
  }
  if (scene.oom != nullptr && (scene.at.evaluation || scene.at.inference) && !scene.at.under_no_grad) {
    // A `with torch.no_grad():` does not show in a traceback: its absence proves nothing.
    const StackEntry* last = scene.stack.innermost();
    // Or in a line of the evaluation's own code, between forward passes.
    const bool in_loop = last != nullptr && last->own && scene.at.evaluation_frame &&
                         last->frame.function == scene.at.evaluation_frame->frame.function && !scene.oom_has_numbers;
    const bool in_forward = (scene.at.forward || in_loop) && !scene.at.placing;
    const bool collects = scene.stack.near_end({"torch.cat(", "torch.stack(", "concat"}, 3) != nullptr;
    if (in_forward && !collects && !scene.at.serving) {
      draft.weigh(!scene.at.forward ? 0.42 : scene.at.evaluation ? 0.52 : 0.4);
      if (scene.at.evaluation && scene.steps_done) draft.adjust(0.06);
      if (share(scene.terms.tried, scene.terms.total) >= 0.1) draft.adjust(-0.1);
      const StackEntry* own = scene.stack.innermost_own();
      const StackEntry& frame = scene.at.evaluation_frame ? *scene.at.evaluation_frame
                                : own != nullptr          ? *own
                                                          : *scene.stack.innermost();
      draft.because(frame, "a forward pass outside training, and no frame shows torch.no_grad()");
    }
  }
  if (const model::Remarkable* told = find_remark(scene, model::SentenceKind::kToldNoGrad);
      told != nullptr && (scene.has_failure() || find_remark(scene, model::SentenceKind::kToldEvalFails) != nullptr)) {
    draft.weigh(0.82).because(told->at, "who wrote this says what was missing");
  }
  look_at_told_growth(scene, draft);
  if (draft.is_empty()) return;
  offer_no_grad(scene, draft);
  draft.confirm("whether the loop stands under `with torch.no_grad():`, which a traceback does not show");
  ask_for_script(scene, draft);
}

}  // namespace

const Cause kNoGradMissing{
    "VF204",
    "no_grad_missing",
    "An evaluation runs with gradients on and keeps its activations",
    "a forward pass of an evaluation with grad mode on; saved activations alive in an evaluation's frames",
    "model.eval() does not turn gradients off. Without torch.no_grad() or inference_mode() every forward pass keeps "
    "what "
    "a backward pass would need, although none follows.",
    "Put the loop under torch.inference_mode() (or no_grad, when results go into a later graph).",
    find_no_grad_missing};

}  // namespace vramfit::doctor
