#include "doctor/ranks.h"

#include <fmt/format.h>

#include <algorithm>

#include "doctor/launcher_lines.h"

namespace vramfit::doctor {

using model::OomMessage;

namespace {

// Ranks whose messages name one card, on which others hold a rank's worth beside each.
bool messages_share_card(const Scene& scene) {
  if (scene.oom == nullptr || !scene.oom->speaker.rank || !scene.terms.total) return false;
  const bool held_by_others =
      share(scene.terms.others ? scene.terms.others : scene.terms.outside, scene.terms.total) > 0.25;
  // A rank on the card of another rank's number, or two ranks that ran out on one card.
  bool two_ranks =
      scene.oom->gpu && *scene.oom->speaker.rank > 0 && *scene.oom->gpu == 0 && !scene.oom->processes.empty();
  for (const OomMessage* other : scene.ooms) {
    two_ranks |= other->speaker.rank && other->speaker.rank != scene.oom->speaker.rank &&
                 other->gpu == scene.oom->gpu && other->at.file == scene.oom->at.file;
  }
  return held_by_others && two_ranks;
}

// A table that shows a program several times on one card, each time with about what the process that failed had, while
// another card is empty: the job's ranks, of which each was meant to have a card.
bool table_shows_ranks_on_card(const Scene& scene) {
  constexpr std::int64_t kSeveral = 3;
  if (scene.oom == nullptr || !scene.terms.reserved) return false;
  const Bytes own = scene.terms.reserved->value;
  const auto is_a_rank = [&](const model::GpuProcess& process) {
    return process.memory && lowered(process.type) != "g" && process.memory->value + Bytes::mib(64) > own &&
           process.memory->value < own + Bytes::mib(1700) && process.memory->value < own + own;
  };
  for (const model::GpuStatus& status : scene.texts.gpu_status) {
    const bool has_empty_card = std::ranges::any_of(status.cards, [](const model::GpuCard& card) {
      return card.used && card.total && share(card.used, card.total) < 0.05;
    });
    if (!has_empty_card) continue;
    for (const model::GpuProcess& one : status.processes) {
      if (!is_a_rank(one)) continue;
      const auto alike = std::ranges::count_if(status.processes, [&](const model::GpuProcess& other) {
        return is_a_rank(other) && other.gpu == one.gpu && other.name == one.name;
      });
      const bool has_other = std::ranges::any_of(status.processes, [&](const model::GpuProcess& other) {
        return other.gpu == one.gpu && lowered(other.type) != "g" && !is_a_rank(other);
      });
      if (alike >= kSeveral && !has_other) return true;
    }
  }
  return false;
}

bool run_shares_card(const Scene& scene) {
  const auto& contexts = scene.runtime().contexts;
  const auto works = [](const model::ContextOnCard& context) {
    return context.world_size > 1 && (context.role == model::JobRole::kRank || context.role == model::JobRole::kMain) &&
           context.peak_allocated > Bytes::mib(64);
  };
  for (const model::ContextOnCard& one : contexts) {
    if (!works(one)) continue;
    for (const model::ContextOnCard& other : contexts) {
      if (works(other) && other.device == one.device && other.rank != one.rank) return true;
    }
  }
  return false;
}

const model::TextFile* file_of_failure(const Scene& scene) {
  const auto file = std::ranges::find(scene.texts.files, scene.oom->at.file, &model::TextFile::name);
  return file == scene.texts.files.end() ? nullptr : &*file;
}

std::optional<model::SourceLine> find_launcher(const Scene& scene) {
  if (!scene.texts.launch_failures.empty()) return scene.texts.launch_failures.front().at;
  const model::TextFile* file = file_of_failure(scene);
  return file == nullptr ? std::nullopt : find_launcher_line(*file);
}

bool may_be(const Size& one, const Size& other) { return may_reach(one, other) && may_reach(other, one); }

// Whether the first message names a process that the second does not, and that is as large as the second's own.
bool names_process_of(const OomMessage& one, const OomMessage& other) {
  return std::ranges::any_of(one.processes, [&](const model::OomProcess& process) {
    return may_be(process.bytes, other.arithmetic.own_process) &&
           std::ranges::find(other.processes, process.pid, &model::OomProcess::pid) == other.processes.end();
  });
}

// Two failures of one text on one card, each of which names the other's process among those beside it: both are of what
// the text is of, whoever started them. A process that fails twice names the same others twice.
std::optional<SharedCard> look_at_each_other(const Scene& scene) {
  if (scene.oom == nullptr) return std::nullopt;
  for (const OomMessage* other : scene.ooms) {
    if (other->gpu != scene.oom->gpu || other->at.file != scene.oom->at.file) continue;
    if (!names_process_of(*scene.oom, *other) || !names_process_of(*other, *scene.oom)) continue;
    return SharedCard{0.93, other->at, "another process of this job failed on the same card",
                      fmt::format("each of the two messages names the other's process: of {} and {}",
                                  show(scene.terms.own_process), show(other->arithmetic.own_process))};
  }
  return std::nullopt;
}

// Processes of the message that the text names as the job's own, on the card where this one failed.
std::optional<SharedCard> look_at_own_processes(const Scene& scene) {
  if (scene.oom == nullptr || !scene.terms.total || scene.at.data_worker) return std::nullopt;
  std::optional<SharedCard> shared;
  Bytes held;
  for (const model::OomProcess& process : scene.oom->processes) {
    const auto named = find_own_process(scene, process);
    if (!named) continue;
    held += process.bytes.value;
    if (shared) continue;
    shared = SharedCard{
        0.93, named, fmt::format("process {} is one of this job's own", process.pid),
        fmt::format("process {} has {} of the card on which this one failed", process.pid, show(process.bytes))};
  }
  return share(held, scene.terms.total->value) > 0.25 ? shared : std::nullopt;
}

// A launcher names the rank that failed, which is not the first, and the one failure of the text is on the first card:
// ranks of one node that have a card each fail on the card of their own number.
std::optional<SharedCard> look_at_failed_rank(const Scene& scene) {
  if (scene.oom == nullptr || scene.oom->gpu != 0 || !scene.oom->processes.empty() || scene.at.data_worker)
    return std::nullopt;
  const bool is_only_one = std::ranges::all_of(scene.ooms, [&](const OomMessage* one) { return one == scene.oom; });
  const model::TextFile* file = file_of_failure(scene);
  if (file == nullptr || !is_only_one || share(scene.terms.outside, scene.terms.total) <= 0.25) return std::nullopt;
  const auto failed = find_failed_rank(*file);
  if (!failed || failed->local_rank == 0 || mentions(file->sample, {"cuda_visible_devices"})) return std::nullopt;
  return SharedCard{0.85, failed->at, fmt::format("it is the rank {} of its node that failed", failed->local_rank),
                    fmt::format("and it failed on GPU 0, of which {} are held outside of it",
                                show(scene.terms.others ? scene.terms.others : scene.terms.outside))};
}

// Others of the message that are of this process's size, while none is much larger: 0 where there is one.
std::int64_t count_alike(const Scene& scene) {
  const Size own_size = scene.terms.own_process ? scene.terms.own_process : scene.terms.reserved;
  if (!own_size) return 0;
  const Bytes own = own_size->value, context = scene.terms.own_process ? Bytes(0) : Bytes::mib(1700);
  std::int64_t alike = 0;
  for (const model::OomProcess& process : scene.oom->processes) {
    if (scene.oom->arithmetic.own_pid == process.pid) continue;
    if (process.bytes.value.count() * 2 > own.count() * 3 + 2 * context.count()) return 0;
    if (process.bytes.value.count() * 3 > own.count() * 2) ++alike;
  }
  return alike;
}

// Logs of PyTorch before 2.3 name no rank: the launcher's words do, and processes alike or failures on one card. A rank
// that chooses none works on the first.
std::optional<SharedCard> look_at_launcher(const Scene& scene) {
  constexpr std::int64_t kSeveral = 2;
  constexpr const char* kSays = "this is a job of several ranks, each of which was to have a card";
  if (scene.oom == nullptr || !scene.terms.total || scene.oom->gpu.value_or(0) != 0 || scene.at.data_worker)
    return std::nullopt;
  const Size others = scene.terms.others ? scene.terms.others : scene.terms.outside;
  if (share(others, scene.terms.total) <= 0.25) return std::nullopt;
  const std::int64_t alike = count_alike(scene);
  const auto failures = std::ranges::count_if(scene.ooms,
                                              [&](const OomMessage* one) {
                                                return one->gpu == scene.oom->gpu && one->at.file == scene.oom->at.file;
                                              }) +
                        scene.oom->repeated - 1;
  if (alike == 0 && (!scene.oom->processes.empty() || failures < kSeveral)) return std::nullopt;
  auto launcher = find_launcher(scene);
  if (!launcher) return std::nullopt;
  if (alike > 0) {
    return SharedCard{alike >= kSeveral ? 0.93 : 0.75, std::move(launcher), kSays,
                      fmt::format("{} other process{} on GPU 0 {} of about this one's size, and none is much larger",
                                  alike, alike == 1 ? "" : "es", alike == 1 ? "is" : "are")};
  }
  return SharedCard{
      0.82, std::move(launcher), kSays,
      fmt::format("{} failures on GPU 0, and {} of it are outside of the one that failed", failures, show(others))};
}

std::optional<SharedCard> look_everywhere(const Scene& scene) {
  if (messages_share_card(scene) || table_shows_ranks_on_card(scene) || run_shares_card(scene))
    return SharedCard{.confidence = scene.oom != nullptr || scene.run_failed_for_memory() ? 0.93 : 0.7};
  if (auto shared = look_at_each_other(scene)) return shared;
  if (auto shared = look_at_own_processes(scene)) return shared;
  if (auto shared = look_at_failed_rank(scene)) return shared;
  return look_at_launcher(scene);
}

}  // namespace

std::optional<SharedCard> find_shared_card(const Scene& scene) {
  auto shared = look_everywhere(scene);
  const model::TextFile* file = shared && scene.oom != nullptr ? file_of_failure(scene) : nullptr;
  if (file != nullptr) shared->by_slurm = is_started_by_slurm(*file);
  return shared;
}

std::optional<model::SourceLine> find_own_process(const Scene& scene, const model::OomProcess& process) {
  const model::TextFile* file = scene.oom == nullptr ? nullptr : file_of_failure(scene);
  if (file == nullptr || scene.oom->arithmetic.own_pid == process.pid) return std::nullopt;
  return find_line_of_own_process(*file, process.pid);
}

bool ranks_share_card(const Scene& scene) { return find_shared_card(scene).has_value(); }

}  // namespace vramfit::doctor
