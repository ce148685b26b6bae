#include <fmt/format.h>

#include <algorithm>

#include "doctor/causes/causes.h"
#include "doctor/ranks.h"
#include "doctor/remedies.h"

namespace vramfit::doctor {

namespace {

// No context with its kernels takes as much; contexts measured on cards up to H100 take 0.15 to 1.7 GiB.
constexpr Bytes kMoreThanAContext = Bytes::mib(2048);

// What the text names as a process of the job's own is; and in a loader's worker the others of about its own size are
// its siblings, and the one process that holds more is what started them all: the job itself, which nobody should end.
bool is_of_the_job(const Scene& scene, const model::OomProcess& process) {
  if (find_own_process(scene, process)) return true;
  if (!scene.at.data_worker || !scene.terms.own_process) return false;
  const Bytes own = scene.terms.own_process->value;
  const auto is_like_own = [&](const model::OomProcess& one) {
    return one.bytes.value < own + own && own < one.bytes.value + one.bytes.value;
  };
  if (is_like_own(process)) return true;
  const auto& all = scene.oom->processes;
  const bool is_largest =
      std::ranges::none_of(all, [&](const model::OomProcess& one) { return one.bytes.value > process.bytes.value; });
  // A parent is there before its children.
  return is_largest && std::ranges::all_of(all, [&](const model::OomProcess& one) {
           return one.pid == process.pid || !is_like_own(one) || one.pid > process.pid;
         });
}

// Others' processes of the message: all that are not this one.
std::vector<const model::OomProcess*> others_of(const Scene& scene) {
  const model::OomMessage& oom = *scene.oom;
  std::vector<const model::OomProcess*> others;
  for (const model::OomProcess& process : oom.processes) {
    if (oom.arithmetic.own_pid != process.pid && !is_of_the_job(scene, process)) others.push_back(&process);
  }
  return others;
}

// Several, each of about what a context takes, and alike: mostly the workers or ranks of one job.
bool hold_contexts_alone(const std::vector<const model::OomProcess*>& processes) {
  constexpr std::size_t kSeveral = 3;
  if (processes.size() < kSeveral) return false;
  const auto [least, most] =
      std::ranges::minmax(processes, {}, [](const model::OomProcess* process) { return process->bytes.value; });
  return most->bytes.value < Bytes::mib(1700) && most->bytes.value.count() * 4 < least->bytes.value.count() * 5;
}

// Windows reports no memory of other processes, and 0 bytes free as a matter of course.
bool gap_says_nothing(const Scene& scene) {
  const bool none_free = scene.terms.free && scene.terms.free->high.count() == 0;
  return (scene.platform.windows || scene.platform.wsl) && none_free;
}

// AMD's: about half of what is shown as the GPU's memory is held by this process, nothing is free, and nobody is named.
bool may_be_limit_of_pages(const Scene& scene) {
  const double own = share(scene.terms.reserved, scene.terms.total);
  return scene.platform.rocm && own >= 0.4 && own <= 0.6 && share(scene.terms.free, scene.terms.total) < 0.05;
}

void find_other_process_in_message(const Scene& scene, Draft& draft) {
  const Terms& terms = scene.terms;
  if (scene.oom == nullptr || !terms.total) return;
  if (surely_above(terms.live, terms.total) || surely_above(terms.tried, terms.total)) return;
  const auto processes = others_of(scene);
  const Size gap = terms.others ? terms.others : terms.outside;
  // The message's gap has this process's own context in it, where it does not tell them apart.
  const Bytes own_context = terms.others ? Bytes(0) : Bytes::mib(400);
  Bytes of_job;
  for (const model::OomProcess& process : scene.oom->processes) {
    if (is_of_the_job(scene, process)) of_job += process.bytes.value;
  }
  const double part = gap ? share(gap->value - own_context - of_job, terms.total->value) : 0;
  if (of_job.count() > 0 && processes.empty()) return;  // all that are named are the job's own
  const double own = share(terms.reserved, terms.total);
  const bool named = terms.others && !processes.empty();
  const bool would_do = gap && terms.free && (!terms.tried || may_reach(*gap + *terms.free, terms.tried));
  if (part > 0.25 && would_do) {
    // Where others hold most of the card, what this process was doing when it met them says little.
    const bool most = part > 0.5 && own < 0.3;
    draft.weigh(named ? (own < 0.5 ? 0.92 : 0.75) : most ? 0.87 : own < 0.3 ? 0.78 : own < 0.55 ? 0.62 : 0.5);
  } else if (named && part > 0.1 && would_do) {
    draft.weigh(own < 0.6 ? 0.62 : 0.45);
  } else if (named && part > 0.04 && would_do) {
    draft.weigh(0.3);
  } else if (!named && gap && would_do && gap->value - own_context > kMoreThanAContext) {
    draft.weigh(0.3 + part);  // beside a large process of our own: a smaller part is somebody's too
  }
  if (draft.is_empty()) return;
  if (ranks_share_card(scene)) draft.adjust(-0.5);       // VF402
  if (hold_contexts_alone(processes)) draft.bound(0.8);  // VF403
  if (!named && may_be_limit_of_pages(scene)) {
    draft.bound(0.5);
    draft.because(
        "or nobody does: where the GPU shares the host's memory (an APU: Strix Halo, MI300A), Linux lets it "
        "map half of it as a rule (the GTT limit), however much is shown as its own");
    draft.fix({"Where the GPU shares the host's memory: see the limit of what it may map, and raise it",
               "cat /sys/class/drm/card*/device/mem_info_gtt_total  # then ttm.pages_limit=PAGES (4 KiB each) on the "
               "kernel's command line",
               std::nullopt, "none: a reboot", Applicability::kMayBeWrong});
  }
  if (!named && gap_says_nothing(scene)) draft.adjust(-0.35);
  // A process's own context and libraries are in the gap too, where the message does not tell them apart.
  if (!named && terms.own_process && !terms.others) draft.adjust(-0.2);
  draft.because(
      scene.oom_line(),
      terms.others
          ? fmt::format("{} total - {} free - {} of this process = {} of others ({})", show(terms.total),
                        show(terms.free), show(terms.own_process), show(gap), percent(part))
          : fmt::format("{} total - {} free - {} reserved = {} outside PyTorch ({}): more than a context takes",
                        show(terms.total), show(terms.free), show(terms.reserved), show(gap), percent(part)));
  for (const model::OomProcess* process : processes) {
    draft.because(scene.oom_line(), fmt::format("process {} has {}", process->pid, show(process->bytes)));
  }
  if (!named) {
    draft.confirm(scene.platform.rocm ? "rocm-smi --showpids at the same time: it lists who holds the card"
                                      : "nvidia-smi at the same time: it lists who holds the card");
  }
}

// nvidia-smi shows processes on a card that is nearly full.
void look_at_others_in_status(const Scene& scene, Draft& draft) {
  for (const model::GpuStatus& status : scene.texts.gpu_status) {
    for (const model::GpuProcess& process : status.processes) {
      if (!process.memory || lowered(process.type) == "g") continue;
      const auto card = std::find_if(status.cards.begin(), status.cards.end(),
                                     [&](const model::GpuCard& one) { return one.index == process.gpu && one.total; });
      if (card == status.cards.end()) continue;
      const double part = share(process.memory, card->total);
      if (part < 0.25) continue;
      const bool ours = scene.oom != nullptr && scene.terms.own_process &&
                        std::abs(scene.terms.own_process->value.count() - process.memory->value.count()) <
                            model::Bytes::mib(64).count();
      const bool same_card =
          scene.oom == nullptr || !scene.terms.total ||
          std::abs(scene.terms.total->value.count() - card->total->value.count()) < card->total->value.count() / 20;
      if (ours || !same_card || ranks_share_card(scene)) continue;
      if (scene.oom == nullptr && !scene.has_failure()) continue;
      const bool own_is_small = share(scene.terms.reserved, scene.terms.total) < 0.5;
      draft.weigh(scene.oom == nullptr ? 0.5 : own_is_small ? 0.85 : 0.35);
      draft.because(process.at,
                    fmt::format("pid {} ({}) holds {} of {} on GPU {}", process.pid.value_or(0), process.name,
                                show(process.memory), show(card->total), process.gpu.value_or(0)));
    }
  }
}

// A table alone: memory that none of the listed processes holds, or one that is no longer a program.
void look_at_what_was_left(const Scene& scene, Draft& draft) {
  constexpr Bytes kMoreThanDrivers = Bytes::mib(1024);
  for (const model::GpuStatus& status : scene.texts.gpu_status) {
    for (const model::GpuProcess& process : status.processes) {
      if (!process.memory || !mentions(process.name, {"unknown error", "[not found]", "<defunct>", "not found"}))
        continue;
      draft.weigh(0.7).severity(model::Severity::kWarning);
      draft.because(process.at, fmt::format("pid {} is no program any more and holds {} of GPU {}",
                                            process.pid.value_or(0), show(process.memory), process.gpu.value_or(0)));
    }
    if (!status.processes_listed) continue;
    for (const model::GpuCard& card : status.cards) {
      if (status.processes.empty() && lowered(card.display) != "on") continue;  // nobody at all is seen: VF704
      if (!card.used || !card.total || card.driver_model == "WDDM" || card.mig_mode == "Enabled") continue;
      Bytes listed;
      bool all_known = true;
      for (const model::GpuProcess& process : status.processes) {
        if (process.gpu != card.index) continue;
        all_known = all_known && process.memory.has_value();
        listed += value_of(process.memory);
      }
      const Bytes left = card.used->value - listed;
      if (!all_known || left < kMoreThanDrivers || share(left, card.total->value) < 0.1) continue;
      draft.weigh(0.6).severity(model::Severity::kWarning);
      draft.because(card.at, fmt::format("{} of GPU {} are in use, and the listed processes hold {} of it: the rest is "
                                         "a process's that is not seen from here, or that was left behind",
                                         show(card.used), card.index.value_or(0), show(listed)));
    }
  }
}

// Who was there says so, and the message's numbers, where there are any, leave room for it.
void look_at_what_others_are_told(const Scene& scene, Draft& draft) {
  const model::Remarkable* told = find_remark(scene, model::SentenceKind::kToldOthers);
  const Size gap = scene.terms.others ? scene.terms.others : scene.terms.outside;
  if (told == nullptr || (gap && share(gap, scene.terms.total) < 0.08)) return;
  if (!scene.has_failure() && scene.texts.oom_mentions.empty() && scene.texts.memory_words.empty()) return;
  // The job is meant for another card: VF402.
  draft.weigh(find_remark(scene, model::SentenceKind::kToldMeansCard) != nullptr ? 0.6 : 0.76);
  draft.because(told->at, "who wrote this says that somebody else is on the card");
}

void find_other_process(const Scene& scene, Draft& draft) {
  if (!scene.has_failure()) look_at_what_was_left(scene, draft);
  find_other_process_in_message(scene, draft);
  look_at_others_in_status(scene, draft);
  look_at_what_others_are_told(scene, draft);
  if (scene.has_run() && scene.run_failed_for_memory()) {
    for (const model::DeviceResult& device : scene.run()->devices) {
      if (device.index != scene.run()->peak_device || share(device.occupied, device.total) < 0.1) continue;
      draft.weigh(std::min(0.9, 0.5 + share(device.occupied, device.total)));
      draft.because(
          fmt::format("the run: {} of {} were occupied by others", show(device.occupied), show(device.total)));
    }
  }
  if (draft.is_empty()) return;
  const bool rocm = scene.platform.rocm;
  draft.fix({"See who it is",
             rocm ? "rocm-smi --showpids" : "nvidia-smi --query-compute-apps=pid,used_memory,name --format=csv",
             std::nullopt, "none", Applicability::kAsIs});
  if (ranks_share_card(scene)) {
    draft.withhold("end the other processes", "they are most likely this job's own ranks (VF402)");
  } else {
    draft.fix({"End it, if it is yours (a notebook's kernel, a zombie of an earlier run)", "kill PID",
               scene.terms.others ? std::optional(scene.terms.others->value) : std::nullopt, "none",
               Applicability::kFillIn});
  }
  draft.fix({"Or take another card", rocm ? "HIP_VISIBLE_DEVICES=1 python ..." : "CUDA_VISIBLE_DEVICES=1 python ...",
             std::nullopt, "none", Applicability::kFillIn});
}

}  // namespace

const Cause kOtherProcess{
    "VF401",
    "other_process",
    "Somebody else uses the card",
    "total - free - this process is more than a quarter of the card, or the message lists other processes",
    "Most of the card belongs to other processes: another job, a notebook's kernel, a zombie of a run that was killed, "
    "an "
    "evaluation beside the training. This process itself is small.",
    "End the other process, wait, or use another card.",
    find_other_process};

}  // namespace vramfit::doctor
