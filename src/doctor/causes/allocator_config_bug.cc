#include <fmt/format.h>

#include "doctor/causes/causes.h"
#include "doctor/leak.h"
#include "doctor/remedies.h"

namespace vramfit::doctor {

namespace {

void look_at_text(const Scene& scene, const std::string& message, const model::SourceLine& at, Draft& draft) {
  const bool asserts = mentions(message, {"internal assert failed"}) && mentions(message, {"allocator"});
  const bool refuses =
      mentions(message, {"cachingallocator option", "unrecognized key '", "error parsing cachingallocatorconfig",
                         "allocatorconfig", "too small max_split_size", "max_split_size too small"}) &&
      mentions(message, {"unrecognized", "expected", "too small", "error", "invalid", "must"});
  // That a platform has no expandable segments is a warning: the allocator goes on with ordinary ones.
  const bool expandable = mentions(message, {"expandable_segment_"});
  const bool lacks = mentions(message, {"cudamallocasync does not yet support"});
  if (!asserts && !refuses && !expandable && !lacks) return;
  // An assertion about NVML, asked on the way to an out-of-memory message, is VF601; one about a block is VF110.
  if (mentions(message, {"nvml_success", "p.block != nullptr"})) return;
  // Any function of the allocator asserts that the card exists: one that CUDA_VISIBLE_DEVICES hides does not.
  if (mentions(message, {"device < device_num", "device < num_gpus", "invalid device argument"})) return;
  if (scene.oom != nullptr && at.file == scene.oom->at.file && at.line == scene.oom->at.line) return;
  draft.weigh(0.88).because(at, lacks ? "the backend that the settings name can't do what was asked of it"
                                : asserts || expandable ? "an assertion inside the allocator failed"
                                                        : "the allocator does not accept its settings");
}

void find_allocator_config_bug(const Scene& scene, Draft& draft) {
  for (const model::Traceback& traceback : scene.texts.tracebacks) {
    for (const model::TracedException& exception : traceback.exceptions) {
      look_at_text(scene, exception.message, {traceback.at.file, exception.last_line, exception.message}, draft);
    }
  }
  const model::Remarkable* told = find_remark(scene, model::SentenceKind::kToldAllocator);
  if (told != nullptr && !scene.oom_has_numbers) {
    draft.weigh(0.5).because(told->at, "who wrote this names settings of the allocator with which it fails");
  }
  for (const model::Remarkable& remark : scene.texts.remarks) look_at_text(scene, remark.at.text, remark.at, draft);
  for (const model::SourceLine& error : scene.texts.other_errors) look_at_text(scene, error.text, error, draft);
  // The largest hole would have done: only the missed block of the retry explains that.
  for (const SnapshotFacts& facts : scene.snapshots) {
    if (find_leak(scene)) break;  // VF201: whatever is idle is filled by the next steps
    if (!facts.failed_size || facts.largest_idle < *facts.failed_size || facts.idle_in_private.count() > 0) continue;
    draft.weigh(0.55).because(
        model::SourceLine{facts.file, 0, ""},
        fmt::format(
            "a block of {} is idle and {} was asked for: it became free only while the cache was emptied, after "
            "which PyTorch asks the driver and does not look again",
            show(facts.largest_idle), show(*facts.failed_size)));
  }
  const Terms& terms = scene.terms;
  if (scene.oom != nullptr && scene.in_force.expandable_segments && may_reach(terms.idle, terms.tensor) &&
      share(terms.idle, terms.reserved) > 0.1) {
    draft.weigh(0.35).because(scene.oom_line(),
                              fmt::format("{} idle for a request of {} although expandable segments are on",
                                          show(terms.idle), show(terms.tensor)));
    ask_for_snapshot(scene, draft);
  }
  if (draft.is_empty()) return;
  draft.fix({"Take the setting out (or only one of the two), and try again", "unset PYTORCH_CUDA_ALLOC_CONF",
             std::nullopt, "none", Applicability::kMayBeWrong});
  draft.fix({"Wait for the card before large requests, so that blocks in use by other streams are free",
             "torch.cuda.synchronize()", std::nullopt, "a wait", Applicability::kMayBeWrong});
}

}  // namespace

const Cause kAllocatorConfigBug{
    "VF303",
    "allocator_config_bug",
    "The allocator's settings, or a bug of the allocator itself, made it fail",
    "an assertion text of the allocator; a settings error; an idle block that was large enough",
    "Some pairs of settings do not go together (expandable segments with max_split_size_mb up to 2.7, with pluggable "
    "pools), some names are refused, and after emptying the cache PyTorch does not look at blocks that became free "
    "then.",
    "Remove the setting, update PyTorch, or synchronise before large requests.",
    find_allocator_config_bug};

}  // namespace vramfit::doctor
