#include <fmt/format.h>

#include <algorithm>

#include "base/out_of_memory.h"
#include "doctor/causes/causes.h"
#include "doctor/holders.h"
#include "doctor/leak.h"
#include "doctor/remedies.h"

namespace vramfit::doctor {

namespace {

bool is_oom(const model::TracedException& exception) {
  return base::says_out_of_memory(exception.type) || base::says_out_of_memory(exception.message);
}

// The second attempt failed while the first one's exception was still being handled.
void look_at_chain(const Scene& scene, Draft& draft) {
  for (std::size_t i = 1; i < scene.chain.size(); ++i) {
    if (scene.chain[i]->relation != model::TraceRelation::kDuringHandling) continue;
    if (!is_oom(*scene.chain[i]) || !is_oom(*scene.chain[i - 1])) continue;
    const auto& first = scene.chain[i - 1]->frames;
    const auto& second = scene.chain[i]->frames;
    if (second.size() <= 1 && first.size() > second.size()) continue;  // raised again as it was
    const std::string file = scene.texts.tracebacks.empty() ? "" : scene.texts.tracebacks.front().at.file;
    draft.weigh(0.82).because(
        model::SourceLine{file, scene.chain[i]->last_line, scene.chain[i]->message},
        "it ran out again while the first error was being handled: until the except block ends, the exception's "
        "traceback keeps every frame of the failed attempt, and their tensors, alive");
    return;
  }
}

// The same amount is live at each attempt: nothing was let go of between them.
void look_at_retries(const Scene& scene, Draft& draft) {
  for (std::size_t i = 1; i < scene.ooms.size(); ++i) {
    const model::OomMessage& before = *scene.ooms[i - 1];
    const model::OomMessage& after = *scene.ooms[i];
    const bool same_process = before.speaker.rank == after.speaker.rank && before.at.file == after.at.file &&
                              before.gpu == after.gpu && before.speaker.process == after.speaker.process;
    if (!same_process || !before.allocated || !after.allocated || before.at.line == after.at.line) continue;
    const bool same_live = !surely_above(before.allocated, after.allocated);
    const bool less_asked = surely_below(after.tried, before.tried);
    if (!same_live || !less_asked || share(after.allocated, after.total) < 0.5) continue;
    draft.weigh(0.55).because(
        after.at, fmt::format("a smaller request ({} after {}) failed too, with as much live ({} "
                              "after {}): the failed attempt was not let go of",
                              show(after.tried), show(before.tried), show(after.allocated), show(before.allocated)));
    return;
  }
}

void find_exception_holds_tensors(const Scene& scene, Draft& draft) {
  if (scene.runtime().oom) {
    for (const model::TensorGroup& held : scene.runtime().oom->holders) {
      if (held.holder.kind != model::HolderKind::kException && held.holder.kind != model::HolderKind::kNotebook)
        continue;
      draft.weigh(0.88).because(fmt::format("the run: {} held by the {} {} when it ran out", show(held.bytes),
                                            to_string(held.holder.kind), held.holder.name));
    }
  }
  bool is_collected = false;  // of many steps, which no attempt at another batch size makes
  for (const model::Growth& growth : scene.runtime().growth) {
    for (const model::TensorGroup& held : growth.holders) {
      if (held.holder.kind != model::HolderKind::kException && held.holder.kind != model::HolderKind::kNotebook)
        continue;
      draft.weigh(0.95).because(fmt::format("the run: {} kept by the {} {}", show(held.bytes),
                                            to_string(held.holder.kind), held.holder.name));
      if (held.holder.kind != model::HolderKind::kException) continue;
      if (!is_collected) {
        draft.title(fmt::format("Errors that are kept hold what their frames held, {}: {} holds it{}{}",
                                rhythm_of(growth), describe_with_line(held.holder),
                                held.line.empty() ? "" : ", made at " + held.line, when_full(growth)));
      }
      is_collected = true;
      if (!scene.run_failed_for_memory()) draft.severity(model::Severity::kWarning);
    }
  }
  look_at_chain(scene, draft);
  look_at_retries(scene, draft);
  if (const model::Remarkable* told = find_remark(scene, model::SentenceKind::kToldRestartCures);
      told != nullptr && scene.has_failure()) {
    draft.weigh(0.68).because(told->at, "only a new process has room again: something of the old one is still held");
  }
  if (const model::Remarkable* told = find_remark(scene, model::SentenceKind::kToldFailsAgain))
    draft.weigh(0.6).because(told->at, "one failure makes the next: what the first try made is still held");
  if (draft.is_empty() && scene.at.notebook && scene.oom != nullptr &&
      share(scene.terms.live, scene.terms.total) > 0.7) {
    draft.weigh(0.22).because(*scene.stack.innermost(),
                              "a notebook keeps the last error and every displayed result alive");
  }
  if (draft.is_empty()) return;
  if (is_collected) {
    draft.fix({"Keep the text of an error, not the error: its traceback holds the frames",
               "failures.append(str(error))  # or error.with_traceback(None), and no __context__", std::nullopt, "none",
               Applicability::kFillIn});
    return;
  }
  draft.fix({"Try again after the except block, not within it",
             "try:\n    step(batch)\nexcept torch.cuda.OutOfMemoryError:\n    failed = True\nif failed:\n"
             "    torch.cuda.empty_cache()\n    step(smaller)",
             std::nullopt, "none", Applicability::kMayBeWrong});
  if (scene.at.notebook) {
    draft.fix({"Let go of the notebook's last error and results, or restart the kernel",
               "import sys, gc; sys.last_traceback = sys.last_value = None; Out.clear(); gc.collect()", std::nullopt,
               "none", Applicability::kMayBeWrong});
  }
}

}  // namespace

const Cause kExceptionHoldsTensors{
    "VF207",
    "exception_holds_tensors",
    "An exception (or a notebook) keeps the failed attempt's tensors alive",
    "a second out-of-memory error during the handling of the first; a retry that fails with as much live as before",
    "An exception refers to its traceback, the traceback to every frame, the frames to their tensors. Inside the "
    "except "
    "block, in a notebook's last error and in its Out[] history, they all stay alive, so that a retry with a smaller "
    "batch fails as well.",
    "Retry after the except block; in notebooks clear the last error and Out, or restart.",
    find_exception_holds_tensors};

}  // namespace vramfit::doctor
