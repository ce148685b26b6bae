#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>

#include "doctor/causes/causes.h"
#include "doctor/ranks.h"
#include "doctor/remedies.h"

namespace vramfit::doctor {

namespace {

// "cuda:3" within a text.
std::optional<int> device_named(std::string_view text) {
  const std::string low = lowered(text);
  const std::size_t found = low.find("cuda:");
  if (found == std::string::npos || found + 5 >= low.size() ||
      !std::isdigit(static_cast<unsigned char>(low[found + 5]))) {
    return std::nullopt;
  }
  return std::atoi(low.c_str() + found + 5);
}

void look_at_ranks(const Scene& scene, Draft& draft) {
  const auto shared = find_shared_card(scene);
  if (!shared) return;
  draft.weigh(shared->confidence);
  draft.title("Several ranks of the job work on the same card");
  if (scene.at.checkpoint_load) draft.bound(0.8);  // VF112: they only load there, and work elsewhere
  if (scene.oom != nullptr && scene.oom->speaker.rank) {
    draft.because(scene.oom_line(),
                  fmt::format("rank {} ran out on GPU {}, of which {} are held by other processes: the "
                              "job's own other ranks",
                              *scene.oom->speaker.rank, scene.oom->gpu.value_or(0),
                              show(scene.terms.others ? scene.terms.others : scene.terms.outside)));
  }
  if (shared->sign) {
    draft.because(*shared->sign, shared->says);
    draft.because(scene.oom_line(), shared->shown_by);
    draft.confirm(shared->by_slurm
                      ? "scontrol listpids on that node has the processes of this job's tasks, and not what is left of "
                        "an earlier run"
                      : "nvidia-smi at the same time: the ranks of this job are the children of its launcher (ps -ef "
                        "--forest); what is left of an earlier run has another parent");
  }
  for (const model::ContextOnCard& context : scene.runtime().contexts) {
    if (context.world_size < 2 || context.peak_allocated <= model::Bytes::mib(64)) continue;
    draft.because(
        fmt::format("the run: rank {} had {} on GPU {}", context.rank, show(context.peak_allocated), context.device));
  }
}

// The card that failed is not the one that code, settings or the list of visible cards name.
void look_at_names(const Scene& scene, Draft& draft) {
  const std::optional<int> failed = scene.oom->gpu;
  for (const model::SettingSeen& seen : scene.texts.settings) {
    const std::string name = lowered(seen.name);
    if (name == "cuda_visible_devices" && failed) {
      const auto visible = 1 + std::count(seen.value.begin(), seen.value.end(), ',');
      if (*failed >= visible && !seen.value.empty()) {
        draft.weigh(0.9).because(seen.at,
                                 fmt::format("{} card(s) are visible by this, yet GPU {} failed: the list came "
                                             "too late (after CUDA was started) or was not exported",
                                             visible, *failed));
      }
    } else if ((name == "device" || name == "gpu" || name == "local_rank") && failed) {
      const auto meant = device_named(seen.value);
      if (meant && *meant != *failed) {
        draft.weigh(0.88).because(seen.at, fmt::format("cuda:{} was meant, GPU {} failed", *meant, *failed));
      }
    }
  }
  for (const StackEntry& entry : scene.stack.entries()) {
    const auto meant = device_named(entry.frame.code);
    if (entry.own && meant && failed && *meant != *failed) {
      draft.weigh(0.89).because(entry, fmt::format("cuda:{} is meant here, GPU {} failed", *meant, *failed));
    }
  }
  for (const model::GpuStatus& status : scene.texts.gpu_status) {
    if (status.cards.size() < 2 || !scene.terms.total) continue;
    const bool others_hold_it = share(scene.terms.outside, scene.terms.total) > 0.25;
    const auto empty = std::find_if(status.cards.begin(), status.cards.end(), [&](const model::GpuCard& card) {
      return card.used && card.total && share(card.used, card.total) < 0.1 && card.index != failed;
    });
    if (others_hold_it && empty != status.cards.end()) {
      draft.weigh(0.55).because(empty->at, fmt::format("GPU {} is nearly empty, while GPU {} is held by others",
                                                       empty->index.value_or(-1), failed.value_or(0)));
    }
  }
}

// "My tensors go to cuda:1", and GPU 0 is full of somebody's: the first context is made on the first visible card.
void look_at_what_is_meant(const Scene& scene, Draft& draft) {
  const model::Remarkable* meant = find_remark(scene, model::SentenceKind::kToldMeansCard);
  const model::Remarkable* others = find_remark(scene, model::SentenceKind::kToldOthers);
  if (meant == nullptr || others == nullptr || !scene.has_failure() || scene.oom_has_numbers) return;
  draft.weigh(0.75).because(meant->at, "the job is meant for a card that has room");
  draft.because(others->at, "and another one is full: something of the job touches that one first");
}

void find_wrong_device(const Scene& scene, Draft& draft) {
  look_at_ranks(scene, draft);
  look_at_what_is_meant(scene, draft);
  if (scene.oom != nullptr) look_at_names(scene, draft);
  if (draft.is_empty()) return;
  draft.fix({"Choose the card before Python starts", "CUDA_VISIBLE_DEVICES=1 python train.py", std::nullopt, "none",
             Applicability::kFillIn});
  const auto shared = find_shared_card(scene);
  const bool by_slurm = shared && shared->by_slurm;
  draft.fix({"In each rank, before anything touches the card",
             fmt::format("torch.cuda.set_device(int(os.environ[\"{}\"]))", by_slurm ? "SLURM_LOCALID" : "LOCAL_RANK"),
             std::nullopt, "none", Applicability::kMayBeWrong});
  if (by_slurm) {
    draft.fix({"Or let Slurm give each task a card of its own, which is then cuda:0 in it",
               "srun --gpus-per-task=1 python train.py", std::nullopt, "none", Applicability::kFillIn});
  }
}

}  // namespace

const Cause kWrongDevice{
    "VF402",
    "wrong_device",
    "The job runs on another card than was meant",
    "the message's GPU is not the one that the code, the settings or CUDA_VISIBLE_DEVICES name",
    "CUDA_VISIBLE_DEVICES set after CUDA was started has no effect; a rank that never calls set_device works on GPU 0; "
    "a "
    "checkpoint brings its own device along. The card that failed was not meant to be used.",
    "Set the visible cards in the shell; set_device first thing in each rank; map_location when loading.",
    find_wrong_device};

}  // namespace vramfit::doctor
