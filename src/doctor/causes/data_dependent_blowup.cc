#include <fmt/format.h>

#include "doctor/causes/causes.h"
#include "doctor/remedies.h"

namespace vramfit::doctor {

namespace {

// Detectron2 catches the error and goes on with the same function on the host.
void look_at_remarks(const Scene& scene, Draft& draft) {
  for (const model::Remarkable& remark : scene.texts.remarks) {
    if (remark.kind != model::SentenceKind::kCopiedToHost) continue;
    draft.weigh(0.7).because(remark.at, "what did not fit on the card is computed on the host instead");
    break;
  }
}

// A product of all pairs. Its name does not tell whose the many are.
const StackEntry* find_pairs_of_anything(const Scene& scene) { return scene.stack.near_end({"cdist", "pairwise"}, 6); }

// Pairs of boxes or points that a picture has more or fewer of.
const StackEntry* find_pairs_of_objects(const Scene& scene) {
  const StackEntry* pairs =
      scene.stack.near_end({"box_iou", "pairwise_iou", "bbox_overlaps", "bboxes_iou", "iou_calculator", "bbox_iou",
                            "box_area", "_box_inter", "inter_union", "generalized_box_iou", "mask_iou", "batched_nms",
                            "assigner", "get_assignments", "get_targets", "anchor", "matcher", "chamfer", "_iou"},
                           6);
  if (pairs != nullptr) return pairs;
  const bool of_objects =
      scene.stack.near_end({"box", "bbox", "point", "detect", "gt_", "target", "query"}, 6) != nullptr;
  return of_objects ? find_pairs_of_anything(scene) : nullptr;
}

void find_data_dependent_blowup(const Scene& scene, Draft& draft) {
  if (scene.oom == nullptr) return look_at_remarks(scene, draft);
  const StackEntry* pairs = find_pairs_of_objects(scene);
  const StackEntry* masks =
      scene.stack.near_end({"paste_mask", "masks_in_image", "interpolate(masks", "interpolate(pred_mask", "crop_mask",
                            "process_mask", "_do_paste", "upsample(masks", "gt_masks", "binary_mask"},
                           6);
  // Heads of detectors that make one mask for each object that was matched. "loss_mask" is another thing elsewhere.
  if (masks == nullptr && scene.stack.in_file({"mmdet", "mmrotate", "detectron2", "torchvision/models/detection",
                                               "ultralytics", "yolact", "adelaidet", "mask2former"}) != nullptr)
    masks = scene.stack.near_end({"loss_mask", "mask_loss", "mask_predict", "pos_mask", "mask_head"}, 3);
  const StackEntry* frame = pairs != nullptr ? pairs : masks;
  if (frame == nullptr) return;
  const double part = share(scene.terms.tried, scene.terms.total);
  draft.weigh(part >= 0.1 ? 0.83 : part >= 0.02 ? 0.78 : 0.6);
  if (share(scene.terms.tried, scene.terms.total) > 1) draft.adjust(0.08);  // it tells whose the one huge tensor is
  draft.because(*frame, pairs != nullptr ? "pairs of every object with every anchor (or point) are made here"
                                         : "one mask for each object at full size is made here");
  if (scene.oom_has_numbers) {
    draft.because(scene.oom_line(), fmt::format("one request of {}, {} of the card", show(scene.terms.tried),
                                                percent(share(scene.terms.tried, scene.terms.total))));
  }
  draft.fix({"Bound how many objects of one image are used, or match in chunks",
             "boxes = boxes[:MAX_OBJECTS]  # or loop over chunks of anchors", std::nullopt, "little",
             Applicability::kFillIn});
  draft.fix({"Match on the CPU when there are many objects",
             "assigner=dict(type=\"MaxIoUAssigner\", gpu_assign_thr=200)  # mmdetection", std::nullopt,
             "slow for such images", Applicability::kMayBeWrong});
  ask_for_script(scene, draft);
}

}  // namespace

const Cause kDataDependentBlowup{
    "VF105",
    "data_dependent_blowup",
    "Memory depends on what is in the batch: some image has very many objects",
    "frames of pairwise overlaps, matching or full-size masks near the end of the stack",
    "Objects times anchors, objects times pixels, points times points: what such an operation makes depends on the "
    "data, and a rare image with hundreds of objects needs many times the usual amount.",
    "Bound the number of objects, work in chunks, match on the CPU above a threshold.",
    find_data_dependent_blowup};

}  // namespace vramfit::doctor
