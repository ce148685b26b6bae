#include <fmt/format.h>

#include "doctor/causes/causes.h"
#include "doctor/remedies.h"

namespace vramfit::doctor {

namespace {

void find_checkpoint_kept_on_gpu_in_run(const Scene& scene, Draft& draft) {
  for (const model::CheckpointLoad& load : scene.runtime().checkpoints) {
    if (load.on_card.count() == 0) continue;
    const bool kept = load.kept.count() > load.on_card.count() / 10;
    draft.weigh(kept ? (scene.run_failed_for_memory() ? 0.9 : 0.7) : (scene.run_failed_for_memory() ? 0.5 : 0.3));
    if (!scene.run_failed_for_memory()) draft.severity(model::Severity::kWarning);
    draft.because(fmt::format("the run: {} put {} of \"{}\" on the card (map_location {}){}", load.line,
                              show(load.on_card), load.path, load.map_location,
                              kept ? fmt::format("; {} of it stays, held by {} {}", show(load.kept),
                                                 to_string(load.holder.kind), load.holder.name)
                                   : std::string()));
  }
}

void find_checkpoint_kept_on_gpu(const Scene& scene, Draft& draft) {
  find_checkpoint_kept_on_gpu_in_run(scene, draft);
  if (scene.oom != nullptr && scene.at.checkpoint_load) {
    const StackEntry* load = scene.stack.in_own_code({"load("});
    if (load == nullptr) load = scene.stack.in_file({"serialization.py", "safetensors"});
    if (load == nullptr) load = scene.stack.innermost();
    const bool mapped = load != nullptr && mentions(load->frame.code, {"map_location=\"cpu\"", "map_location='cpu'"});
    // Tensors go back to the card that they were saved from, whoever else is on that one: to read them into host memory
    // cures it whether the others are this job's ranks or strangers.
    const bool to_saved = scene.stack.near_end({"restore_location", "_cuda_deserialize"}, 6) != nullptr;
    draft.weigh(mapped ? 0.4 : to_saved ? 0.88 : 0.85);
    if (load != nullptr) draft.because(*load, "a checkpoint is read straight onto the card here");
    if (scene.oom->gpu == 0 && scene.oom->processes.size() >= 2) {
      draft.adjust(0.05);
      draft.because(scene.oom_line(), fmt::format("{} processes are on GPU 0: every rank loads onto the same card",
                                                  scene.oom->processes.size() + 1));
    }
  }
  if (scene.oom != nullptr && !scene.at.checkpoint_load) {
    const StackEntry* resume = scene.stack.in_code({"optimizer.load_state_dict(", "optim.load_state_dict("});
    if (resume != nullptr) draft.weigh(0.7).because(*resume, "a loaded optimizer state is copied on the card here");
  }
  const model::Remarkable* fails = find_remark(scene, model::SentenceKind::kToldLoadFails);
  const model::Remarkable* works = find_remark(scene, model::SentenceKind::kToldFreshWorks);
  if (fails != nullptr && works != nullptr) {
    draft.weigh(0.85).because(fails->at, "it fails once a checkpoint was loaded");
    draft.because(works->at, "and does not without: the same training, but for what was loaded");
  }
  const model::Remarkable* ooms = find_remark(scene, model::SentenceKind::kToldLoadOoms);
  const bool failed = scene.has_failure() || !scene.texts.oom_mentions.empty() || !scene.texts.memory_words.empty();
  if (draft.is_empty() && ooms != nullptr && failed && !scene.oom_has_numbers)
    draft.weigh(0.55).because(ooms->at, "memory runs out where a checkpoint is loaded, says who wrote this");
  if (draft.is_empty()) return;
  draft.fix({"Read checkpoints into host memory and drop the dictionary after use",
             "state = torch.load(PATH, map_location=\"cpu\")\nmodel.load_state_dict(state)\ndel state", std::nullopt,
             "none", Applicability::kAsIs});
}

}  // namespace

const Cause kCheckpointKeptOnGpu{
    "VF112",
    "checkpoint_kept_on_gpu",
    "A checkpoint is loaded onto the card, beside the model itself",
    "a frame of torch.load or safetensors that puts tensors on the card; the loaded dictionary still alive later",
    "torch.load restores tensors to the device they were saved from. The model then exists twice (and with its "
    "optimizer "
    "state more often), and if every rank loads so, all copies land on GPU 0.",
    "map_location=\"cpu\", and del of the dictionary once it is used.",
    find_checkpoint_kept_on_gpu};

}  // namespace vramfit::doctor
