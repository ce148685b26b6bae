#include <fmt/format.h>

#include <algorithm>

#include "doctor/causes/causes.h"
#include "doctor/remedies.h"
#include "model/number_text.h"

namespace vramfit::doctor {

namespace {

const model::PhaseResult* phase_of(const model::RunResult& run, std::string_view name) {
  const auto found = std::find_if(run.phases.begin(), run.phases.end(),
                                  [&](const model::PhaseResult& phase) { return phase.name == name; });
  return found == run.phases.end() ? nullptr : &*found;
}

void find_eval_stage_blowup_in_run(const Scene& scene, Draft& draft) {
  if (!scene.has_run()) return;
  const auto* train = phase_of(*scene.run(), model::phase::kTrain);
  for (const std::string_view name : {model::phase::kValidate, model::phase::kTest}) {
    const auto* phase = phase_of(*scene.run(), name);
    if (train == nullptr || phase == nullptr || !scene.run_failed_for_memory() || !scene.at.evaluation) continue;
    const bool far = phase->peaks.allocated.count() > train->peaks.allocated.count() * 3 / 2;
    draft.weigh(far ? 0.64 : 0.5)
        .because(fmt::format("the run: training peaked at {}, {} at {} when it ran out", show(train->peaks.allocated),
                             phase->name, show(phase->peaks.allocated)));
  }
}

void find_eval_stage_blowup(const Scene& scene, Draft& draft) {
  find_eval_stage_blowup_in_run(scene, draft);
  if (scene.at.evaluation && scene.oom != nullptr && scene.at.evaluation_frame) {
    const double asked = share(scene.terms.tried, scene.terms.total);
    draft.weigh(asked >= 0.1 ? 0.55 : asked >= 0.03 ? 0.42 : 0.33);
    draft.because(*scene.at.evaluation_frame, "it failed in an evaluation");
    if (scene.at.placing) {
      draft.weigh(0.62).because(*scene.stack.innermost(),
                                "a model is put on the card beside what training holds there");
    }
    if (scene.at.under_no_grad) {
      draft.adjust(0.12);
      draft.because("the evaluation runs without gradients already, so activations are not what piles up");
    }
    if (scene.oom_has_numbers) {
      draft.because(scene.oom_line(),
                    fmt::format("one request of {}, {} of the card", show(scene.terms.tried), percent(asked)));
    }
  }
  const model::Remarkable* fails = find_remark(scene, model::SentenceKind::kToldEvalFails);
  const model::Remarkable* works = find_remark(scene, model::SentenceKind::kToldTrainWorks);
  if (fails != nullptr && works != nullptr && !scene.at.training) {
    draft.weigh(0.6).because(fails->at, "the evaluation fails, says who wrote this");
    if (works->at.text != fails->at.text) draft.because(works->at, "and training does not");
    // What needs too much at once fails in its first batch, and does not grow into it.
    if (find_told_growth_of_evaluation(scene) != nullptr) draft.bound(0.5);
    // Nor is it the host's memory, which rises until somebody is killed wherever he is then.
    const bool was_killed = scene.oom == nullptr && !scene.texts.host_kills.empty();
    const auto rises_on_host = [&](const model::ToldSentence& told) {
      return told.kind == model::ToldKind::kRises && is_of_host(scene, told);
    };
    if (was_killed || std::ranges::any_of(scene.texts.told, rises_on_host)) draft.bound(0.5);
  }
  if (draft.is_empty()) return;
  offer_smaller_batch(scene, draft);
  draft.fix({"Evaluate at the size that training uses, or in tiles", "transforms.Resize(TRAIN_SIZE)  # or crops",
             std::nullopt, "none", Applicability::kFillIn});
  ask_for_script(scene, draft);
}

}  // namespace

const Cause kEvalStageBlowup{
    "VF104",
    "eval_stage_blowup",
    "The evaluation needs more at once than training does",
    "a frame of an evaluation, a large request, training passed before",
    "Validation or test uses a larger batch, whole images instead of crops, beam search, or resizes outputs to the "
    "original size, so that one of its steps needs more than any training step, even without gradients.",
    "A smaller evaluation batch, the input size of training, tiles, argmax before resizing.",
    find_eval_stage_blowup};

}  // namespace vramfit::doctor
