#include <fmt/format.h>

#include <algorithm>

#include "doctor/causes/causes.h"
#include "doctor/holders.h"
#include "doctor/leak.h"
#include "doctor/remedies.h"

namespace vramfit::doctor {

namespace {

void look_at_what_training_left(const Scene& scene, Draft& draft) {
  for (const model::KeptFromTraining& left : scene.runtime().kept_from_training) {
    model::Bytes held;
    for (const model::TensorGroup& tensors : left.tensors) held += tensors.bytes;
    model::Bytes total;
    for (const model::DeviceResult& device : scene.run()->devices) {
      if (device.index == left.device) total = device.total;
    }
    const double part = share(held, total);
    const double of_allocated = share(held, left.allocated);
    if (part < 0.02 && of_allocated < 0.2) continue;
    const bool decides = scene.run_failed_for_memory() && scene.at.evaluation;
    const double seen = of_allocated >= 0.5 && !scene.was_cut_within(kStepsToBlame) ? 0.78 : 0.5;
    draft.weigh(decides ? std::min(0.92, 0.62 + 2 * part) : seen);
    if (!decides) draft.severity(model::Severity::kWarning);
    draft.title("What the last training steps left is still alive when the evaluation begins");
    draft.because(fmt::format("the run: when {} began, {} of training's tensors were alive of {} allocated{}",
                              left.phase, show(held), show(left.allocated),
                              left.gradients.count() > 0 ? fmt::format("; gradients: {}", show(left.gradients)) : ""));
    for (const model::TensorGroup& tensors : left.tensors) {
      const model::Holder& holder = tensors.holder;
      draft.because(fmt::format("{} made at {} ({}), held by {}",
                                tensors.tensors == 1 ? "1 tensor" : fmt::format("{} tensors", tensors.tensors),
                                tensors.line, show(tensors.bytes), describe(holder)));
    }
    if (!left.tensors.empty() && !left.tensors.front().holder.name.empty()) {
      const std::string& name = left.tensors.front().holder.name;
      draft.fix({"Let go of it before the evaluation", "del " + name.substr(0, name.find_first_of("[.(")), held, "none",
                 Applicability::kMayBeWrong});
    }
    if (left.gradients.count() > 0) {
      draft.fix({"Free the gradients before the evaluation", "optimizer.zero_grad(set_to_none=True)", left.gradients,
                 "none", Applicability::kAsIs});
    }
    break;
  }
}

// Two generations of one line alive at the failure: exactly twice what one step makes.
void find_refs_kept_across_steps_in_snapshots(const Scene& scene, Draft& draft) {
  for (const SnapshotFacts& facts : scene.snapshots) {
    if (facts.ooms == 0 || facts.steps < 2) continue;
    model::Bytes doubled;
    std::string line;
    for (const CallSite& site : facts.sites) {
      const bool twice = site.in_trace == 2 && site.spread > 0.5 / static_cast<double>(facts.steps) &&
                         site.freed >= facts.steps - 3 && site.freed >= 1;
      if (!twice) continue;
      doubled += site.bytes;
      if (line.empty()) line = site.line;
    }
    const double part = share(doubled, facts.active);
    if (part < 0.2) continue;
    draft.weigh(std::min(0.8, 0.45 + part / 2));
    draft.because(
        model::SourceLine{facts.file, 0, ""},
        fmt::format("blocks of two steps are alive at once for the same lines, {} in all ({} of what is live), "
                    "first at {}",
                    show(doubled), percent(part), line));
    break;
  }
}

void find_refs_kept_across_steps(const Scene& scene, Draft& draft) {
  if (scene.has_run()) look_at_what_training_left(scene, draft);
  find_refs_kept_across_steps_in_snapshots(scene, draft);
  if (const model::Remarkable* told = find_remark(scene, model::SentenceKind::kToldDelCures); told != nullptr) {
    draft.weigh(0.74).because(told->at, "what is deleted was kept while the next round ran, says who wrote this");
  }
  if (draft.is_empty()) return;
  draft.fix({"Delete a step's outputs before the next one begins", "del outputs, loss  # at the end of the loop's body",
             std::nullopt, "none", Applicability::kFillIn});
  draft.fix({"Put the step into a function, so that its locals end with it", "def train_step(batch): ...", std::nullopt,
             "none", Applicability::kFillIn});
}

}  // namespace

const Cause kRefsKeptAcrossSteps{
    "VF202",
    "refs_kept_across_steps",
    "Outputs of the last step are still alive while the next one runs",
    "two generations of the same lines alive at once; training's tensors alive when an evaluation begins",
    "A variable keeps its tensor until it is assigned again. `out = model(x)` in a loop holds the old output (and its "
    "graph) until the new one is complete, and after the loop the last batch, output and loss stay alive through the "
    "whole validation.",
    "del what is not needed at the end of the step, or make the step a function; zero_grad(set_to_none=True) before "
    "evaluating.",
    find_refs_kept_across_steps};

}  // namespace vramfit::doctor
