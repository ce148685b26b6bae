#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "doctor/causes/causes.h"
#include "doctor/remedies.h"

namespace vramfit::doctor {

namespace {

// What a context with its libraries takes.
bool is_context_sized(const Size& bytes) {
  return bytes && bytes->value >= model::Bytes::mib(150) && bytes->value <= model::Bytes::mib(1700);
}

void find_extra_contexts_in_message(const Scene& scene, Draft& draft) {
  if (scene.oom == nullptr) return;
  std::int64_t small = 0;
  model::Bytes sum;
  for (const model::OomProcess& process : scene.oom->processes) {
    if (scene.oom->arithmetic.own_pid == process.pid || !is_context_sized(process.bytes)) continue;
    ++small;
    sum += process.bytes.value;
  }
  if (small >= 2 && small * 2 >= static_cast<std::int64_t>(scene.oom->processes.size())) {
    draft.weigh(small >= 3 ? 0.86 : 0.66);
    draft.because(scene.oom_line(),
                  fmt::format("{} other processes hold between 150 MiB and 1.7 GiB each, {} in all: that "
                              "is a CUDA context each",
                              small, show(sum)));
  }
  if (scene.at.data_worker) {
    draft.weigh(0.8);
    if (scene.stack.innermost() != nullptr) {
      draft.because(*scene.stack.innermost(),
                    "a loader's worker process uses the card here, with a context of its own");
    } else {
      draft.because(scene.oom_line(), "it was raised in a loader's worker process");
    }
  }
}

// One process listed on its own card, where it holds more, and, with a context's worth, on GPU 0 too.
void look_at_status(const Scene& scene, Draft& draft) {
  for (const model::GpuStatus& status : scene.texts.gpu_status) {
    std::map<std::int64_t, model::Bytes> held_elsewhere;
    for (const model::GpuProcess& process : status.processes) {
      if (!process.pid || !process.gpu || *process.gpu == 0 || !process.memory) continue;
      model::Bytes& held = held_elsewhere[*process.pid];
      held = std::max(held, process.memory->value);
    }
    std::int64_t strangers = 0;
    const model::GpuProcess* first = nullptr;
    for (const model::GpuProcess& process : status.processes) {
      if (process.gpu != 0 || !process.pid || !is_context_sized(process.memory)) continue;
      if (held_elsewhere[*process.pid] <= process.memory->value) continue;  // that is its own card
      ++strangers;
      if (first == nullptr) first = &process;
    }
    if (strangers == 0) continue;
    draft.weigh(scene.has_failure() ? 0.84 : 0.8);
    if (!scene.has_failure()) draft.severity(model::Severity::kWarning);
    draft.because(first->at, fmt::format("{} processes of other cards hold a context on GPU 0 as well ({} the first)",
                                         strangers, show(first->memory)));
  }
}

// What a path ends with: "python" of "/opt/conda/bin/python".
std::string_view program_of(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? name : name.substr(slash + 1);
}

// Whether the small process is another context of the large one's program, perhaps with weights. Such are several and
// alike.
bool is_beside(const model::GpuProcess& large, const model::GpuProcess& small) {
  if (!small.memory || small.gpu != large.gpu || small.pid == large.pid) return false;
  if (program_of(small.name) != program_of(large.name)) return false;
  return is_context_sized(small.memory) || small.memory->value.count() * 5 < large.memory->value.count();
}

// One program's processes on one card: one that works there, and several that hold a context's worth alone.
void look_at_one_program(const Scene& scene, Draft& draft) {
  for (const model::GpuStatus& status : scene.texts.gpu_status) {
    for (const model::GpuProcess& worker : status.processes) {
      if (!worker.memory || worker.name.empty() || is_context_sized(worker.memory)) continue;
      std::vector<const model::GpuProcess*> beside;
      model::Bytes sum;
      for (const model::GpuProcess& process : status.processes) {
        if (!is_beside(worker, process)) continue;
        beside.push_back(&process);
        sum += process.memory->value;
      }
      if (beside.size() < 2) continue;
      const auto [least, most] =
          std::ranges::minmax(beside, {}, [](const auto* process) { return process->memory->value; });
      const bool are_alike = most->memory->value.count() * 4 < least->memory->value.count() * 5;
      if (!are_alike && !is_context_sized(most->memory)) continue;
      draft.weigh(scene.has_failure() ? 0.84 : 0.75);
      if (!scene.has_failure()) draft.severity(model::Severity::kWarning);
      draft.because(
          worker.at,
          fmt::format("beside this process of {}, {} more of {} hold a context each on GPU {}: {} in all",
                      show(worker.memory), beside.size(), program_of(worker.name), worker.gpu.value_or(0), show(sum)));
      return;
    }
  }
}

// Who was there says so: it outweighs what a framework's message supposes.
void look_at_what_writer_says(const Scene& scene, Draft& draft) {
  const model::Remarkable* told = find_remark(scene, model::SentenceKind::kToldOwnMany);
  if (told == nullptr ||
      !(scene.has_failure() || !scene.texts.oom_mentions.empty() || !scene.texts.memory_words.empty()))
    return;
  draft.weigh(0.78).because(told->at, "who wrote this says that several of the job's processes are on this card");
}

// Where each process was to have a card of its own, the first one is what they all open when they chose none.
void look_at_first_card(const Scene& scene, Draft& draft) {
  const model::Remarkable* told = find_remark(scene, model::SentenceKind::kToldFirstMore);
  if (told == nullptr || scene.oom_has_numbers) return;
  draft.weigh(0.5).because(told->at, "the first card holds more than the others, says who wrote this");
  if (!std::ranges::any_of(scene.texts.files, [](const model::TextFile& file) {
        return mentions(lowered(file.sample), {"data parallel", "dataparallel", "data_parallel"});
      }))
    return;
  draft.fix({"One process for each card instead of DataParallel, which gathers all outputs on the first",
             "torchrun --nproc_per_node=GPUS train.py  # torch.nn.parallel.DistributedDataParallel", std::nullopt,
             "none: faster", Applicability::kFillIn});
}

void find_extra_contexts_in_run(const Scene& scene, Draft& draft) {
  std::map<int, std::int64_t> strangers;
  model::Bytes sum;
  std::string roles;
  for (const model::ContextOnCard& context : scene.runtime().contexts) {
    const bool worker = context.role == model::JobRole::kWorker || context.role == model::JobRole::kChild;
    const bool rank_on_zero = context.world_size > 1 && context.device == 0 && context.rank != 0 &&
                              context.local_rank != 0 && context.peak_allocated <= model::Bytes::mib(64);
    if (!worker && !rank_on_zero) continue;
    ++strangers[context.device];
    sum += context.context + context.libraries;
    const std::string role(to_string(context.role));
    if (!roles.contains(role)) roles += (roles.empty() ? "" : ", ") + role;
  }
  if (strangers.empty()) return;
  model::Bytes total;
  for (const model::DeviceResult& device : scene.run()->devices) {
    if (device.index == strangers.begin()->first) total = device.total;
  }
  draft.weigh(scene.run_failed_for_memory() ? std::min(0.92, 0.6 + 2 * share(sum, total)) : 0.7);
  if (!scene.run_failed_for_memory()) draft.severity(model::Severity::kWarning);
  draft.because(fmt::format("the run: {} further contexts on GPU {}, of processes that are a {}: {} in all",
                            strangers.begin()->second, strangers.begin()->first, roles, show(sum)));
}

void find_extra_contexts(const Scene& scene, Draft& draft) {
  if (scene.has_run()) find_extra_contexts_in_run(scene, draft);
  find_extra_contexts_in_message(scene, draft);
  look_at_status(scene, draft);
  if (draft.is_empty()) look_at_one_program(scene, draft);
  look_at_what_writer_says(scene, draft);
  if (draft.is_empty()) look_at_first_card(scene, draft);
  if (draft.is_empty()) return;
  draft.fix({"In each rank choose the card before anything touches CUDA",
             "torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"]))\nstate = torch.load(path, map_location=\"cpu\")",
             std::nullopt, "none", Applicability::kMayBeWrong});
  draft.fix({"Let the loader's workers return CPU tensors, and move them in the loop",
             "for batch in loader: batch = batch.to(device, non_blocking=True)", std::nullopt, "none",
             Applicability::kMayBeWrong});
}

}  // namespace

const Cause kExtraContexts{
    "VF403",
    "extra_contexts",
    "Other ranks or loader workers open CUDA contexts on this card",
    "several processes with a context's worth of memory (0.15 to 1.7 GiB) on one card; an error raised in a loader "
    "worker",
    "Every process that touches a card opens a context there: 0.3 to 1 GiB before the first tensor. Ranks that never "
    "chose "
    "their card, workers that make CUDA tensors, or torch.load without map_location all open one on GPU 0.",
    "set_device first; no CUDA in Dataset and collate functions; map_location=\"cpu\".",
    find_extra_contexts};

}  // namespace vramfit::doctor
