#include <fmt/format.h>

#include <algorithm>

#include "doctor/causes/causes.h"
#include "doctor/holders.h"
#include "doctor/remedies.h"
#include "model/number_text.h"

namespace vramfit::doctor {

namespace {

void find_preds_accumulated_on_gpu_in_run(const Scene& scene, Draft& draft) {
  for (const model::Growth& growth : scene.runtime().growth) {
    if (!model::is_evaluation(growth.phase) || growth.steps < 2 || growth.unit == "pass") continue;
    draft.weigh(scene.run_failed_for_memory() ? 0.93 : 0.75);
    if (!scene.run_failed_for_memory()) draft.severity(model::Severity::kWarning);
    draft.because(fmt::format("the run: each batch of {} leaves {} on the card, over {} batches", growth.phase,
                              show(growth.per_step), growth.steps));
    for (const model::GrowingLine& line : growth.lines) {
      if (line.per_step.count() * 10 >= growth.per_step.count()) {
        draft.because(fmt::format("{} of it a batch is made at {}", show(line.per_step), line.line));
      }
    }
    for (const model::TensorGroup& held : growth.holders) {
      draft.because(fmt::format("{} made at {} ({}), kept by {}",
                                held.tensors == 1 ? "1 tensor" : fmt::format("{} tensors", held.tensors), held.line,
                                show(held.bytes), describe_with_line(held.holder)));
    }
  }
}

// A log whose evaluation lines show memory rising from batch to batch.
void look_at_series(const Scene& scene, Draft& draft) {
  for (const MemorySeries& series : scene.series) {
    if (!model::is_evaluation(series.phase)) continue;
    const TrendOf trend = find_trend(series);
    if (trend.trend != Trend::kGrows) continue;
    draft.weigh(0.66).because(series.points.back().at,
                              fmt::format("{} rose from {} to {} over {} readings of one evaluation", series.what,
                                          show(series, trend.first), show(series, trend.last), series.points.size()));
    return;
  }
}

void find_preds_accumulated_on_gpu(const Scene& scene, Draft& draft) {
  find_preds_accumulated_on_gpu_in_run(scene, draft);
  look_at_series(scene, draft);
  if (const model::ToldSentence* told = find_told_growth_of_evaluation(scene))
    draft.weigh(speaks_of_no_grad(scene) ? 0.5 : 0.45)
        .because(told->at, "it rises from batch to batch of an evaluation, says who wrote this");
  if (scene.oom != nullptr && !scene.at.backward && !scene.at.optimizer) {
    const StackEntry* gather =
        scene.stack.near_end({"nested_concat", "torch_pad_and_concatenate", "pad_across_processes", "dim_zero_cat",
                              "nested_gather", "gather_for_metrics", "compute_on_cpu", "_gather_all"},
                             6);
    const StackEntry* metric = scene.stack.in_file({"torchmetrics"});
    const StackEntry* joined = scene.stack.near_end({"torch.cat(", "torch.concat", "torch.stack(", "torch.vstack("}, 2);
    const bool names =
        joined != nullptr && mentions(joined->frame.code, {"pred", "output", "logit", "prob", "feat", "embed", "all_",
                                                           "label", "target", "result", "score"});
    if (gather != nullptr) {
      draft.weigh(0.88).because(*gather, "results of many batches are joined on the card here");
    } else if (metric != nullptr) {
      draft.weigh(0.8).because(*metric, "a metric keeps all predictions until it is computed");
    } else if (joined != nullptr && (scene.at.evaluation || names) && !scene.at.training) {
      const bool deep = scene.stack.function_is({"forward", "_call_impl", "_wrapped_call_impl"}) != nullptr;
      draft.weigh(deep ? 0.25 : scene.at.evaluation && names ? 0.87 : scene.at.evaluation ? 0.75 : 0.6);
      draft.because(*joined, "results of many batches are joined on the card here: the parts and the whole are alive");
    }
    const StackEntry* kept = scene.at.evaluation ? scene.stack.in_own_code({".append(", ".extend("}) : nullptr;
    if (draft.is_empty() && kept != nullptr &&
        !mentions(kept->frame.code, {".item()", ".cpu()", ".numpy()", ".tolist()"})) {
      draft.weigh(0.62).because(*kept, "results of each batch of an evaluation are kept on the card here");
    }
    if (!draft.is_empty() && scene.oom_has_numbers) {
      draft.because(scene.oom_line(),
                    fmt::format("{} asked for at once, with {} live", show(scene.terms.tried), show(scene.terms.live)));
    }
  }
  const model::Remarkable* gathers = find_remark(scene, model::SentenceKind::kToldEvalGathers);
  if (gathers != nullptr && find_remark(scene, model::SentenceKind::kToldEvalFails) != nullptr) {
    draft.weigh(0.68).because(gathers->at, "results of an evaluation are kept until its end, says who wrote this");
  }
  if (draft.is_empty()) return;
  draft.fix({"Count as you go, or move each batch's results to the host",
             "hits += (logits.argmax(1) == labels).sum().item()  # or kept.append(logits.argmax(1).cpu())",
             std::nullopt, "little", Applicability::kMayBeWrong});
  draft.fix({"Move what a Trainer gathers to the host every few steps", "TrainingArguments(eval_accumulation_steps=20)",
             std::nullopt, "little", Applicability::kMayBeWrong});
  draft.fix({"Keep only what the metric needs",
             "preprocess_logits_for_metrics=lambda logits, labels: logits.argmax(-1)", std::nullopt, "none",
             Applicability::kMayBeWrong});
}

}  // namespace

const Cause kPredsAccumulatedOnGpu{
    "VF205",
    "preds_accumulated_on_gpu",
    "Predictions of a whole evaluation are gathered on the card",
    "growth from batch to batch within an evaluation; a frame that joins results (cat, a metric, a Trainer's "
    "gathering)",
    "Logits of every batch are kept in a list (or a metric) on the GPU and joined at the end. The list grows through "
    "the "
    "evaluation, and joining it needs as much again.",
    "Reduce on the way (counts, a confusion matrix), or move each batch's results to the host.",
    find_preds_accumulated_on_gpu};

}  // namespace vramfit::doctor
