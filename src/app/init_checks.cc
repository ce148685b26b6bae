#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "allocator/rules.h"
#include "allocator/settings.h"
#include "app/init.h"
#include "base/nearest_word.h"
#include "job/platforms.h"

namespace vramfit::app {

using base::Bytes;
using model::CardReading;
using model::EnvironmentCheck;
using model::EnvironmentState;
using model::Reading;

namespace {

constexpr Bytes kLittleShm = Bytes::gib(1);      // loaders with workers pass batches through it
constexpr std::int64_t kFewFiles = 4096;         // each worker and each shared tensor takes descriptors
constexpr Bytes kLittleLocked = Bytes::mib(64);  // what RDMA and GPUDirect register is locked
constexpr Bytes kCacheRoom = Bytes::gib(10);     // an environment with torch is about 3 GiB, its download as much
constexpr Bytes kStoreRoom = Bytes::mib(200);
constexpr Bytes kTemporaryRoom = Bytes::gib(3);  // a recording is up to 2 GiB
constexpr int kOldestDriver = 525;               // CUDA 12.0's; older ones run no current build of torch

EnvironmentCheck good(std::string id, std::string text) {
  return {std::move(id), EnvironmentState::kOk, std::move(text), "", ""};
}
EnvironmentCheck unknown(std::string id, std::string text) {
  return {std::move(id), EnvironmentState::kUnknown, std::move(text), "", ""};
}

std::string title_of(const CardReading& card) {
  return fmt::format("card {} ({})", card.index ? fmt::format("{}", *card.index) : "?", card.name);
}

// "13.0" -> 13; 0: no number.
int major_of(std::string_view version) { return std::atoi(std::string(version).c_str()); }

EnvironmentCheck check_driver(const InitFacts& facts) {
  const auto& driver = facts.machine.driver;
  if (!driver.answers) {
    return {"driver", EnvironmentState::kWarning, driver.problem.empty() ? "no NVIDIA driver answers" : driver.problem,
            "Only virtual cards can be used here: vramfit run --gpu NAME.",
            facts.container.empty() ? "nvidia-smi tells more where there is a card"
                                    : "start the container with --gpus all"};
  }
  if (major_of(driver.version) > 0 && major_of(driver.version) < kOldestDriver) {
    return {"driver", EnvironmentState::kProblem, fmt::format("driver {} (CUDA {})", driver.version, driver.cuda),
            fmt::format("Builds of torch for CUDA 12 and later need driver {} or newer.", kOldestDriver),
            "update the driver, or install a build of torch for an older CUDA"};
  }
  return good("driver", fmt::format("driver {}, up to CUDA {}, {} card{}", driver.version, driver.cuda,
                                    facts.machine.cards.size(), facts.machine.cards.size() == 1 ? "" : "s"));
}

EnvironmentCheck check_torch(const InitFacts& facts) {
  if (!facts.interpreter) return unknown("torch", facts.interpreter.error().what);
  const job::Interpreter& python = *facts.interpreter;
  if (python.torch.empty()) {
    return {"torch", EnvironmentState::kWarning, fmt::format("Python {} has no torch", python.python),
            "vramfit run would use an environment of its own.", "pip install torch, or vramfit env"};
  }
  if (python.cuda.empty()) {
    return {"torch", EnvironmentState::kProblem, fmt::format("torch {} is a build without CUDA", python.torch),
            "It never uses a card.", "pip install torch --index-url https://download.pytorch.org/whl/cu130"};
  }
  const auto& driver = facts.machine.driver;
  const std::string text = fmt::format("torch {} for CUDA {}, Python {}", python.torch, python.cuda, python.python);
  // Any driver of a major release runs all of its minor ones (CUDA's minor version compatibility).
  if (driver.answers && major_of(driver.cuda) > 0 && major_of(python.cuda) > major_of(driver.cuda)) {
    return {"torch", EnvironmentState::kProblem, text,
            fmt::format("Driver {} goes up to CUDA {}: torch.cuda.is_available() will be False.", driver.version,
                        driver.cuda),
            "update the driver, or install a build of torch for an older CUDA"};
  }
  if (const auto known = job::check_cuda(python); !known) {
    return {"torch", EnvironmentState::kWarning, text, known.error().what + ".", known.error().remedy};
  }
  if (const auto untested = job::describe_unknown(python); !untested.empty()) {
    return {"torch", EnvironmentState::kWarning, text, fmt::format("{}.", fmt::join(untested, "; ")),
            "vramfit runs it, and says so in each result"};
  }
  return good("torch", text);
}

std::string architectures_text(const std::vector<model::ComputeCapability>& architectures) {
  std::string text;
  for (const auto& one : architectures) text += fmt::format("{}sm_{}{}", text.empty() ? "" : " ", one.major, one.minor);
  return text;
}

void check_kernels(const InitFacts& facts, std::vector<EnvironmentCheck>& checks) {
  if (!facts.interpreter || facts.interpreter->cuda.empty() || facts.machine.cards.empty()) return;
  const auto& architectures = facts.interpreter->architectures;
  std::set<std::string> seen;
  for (const CardReading& card : facts.machine.cards) {
    if (!card.parent.empty() || !seen.insert(card.name).second) continue;
    const auto known = facts.capabilities.find(card.name);
    if (known == facts.capabilities.end() || architectures.empty()) {
      checks.push_back(
          unknown("kernels", fmt::format("{}: whether this torch has kernels for it is not known", card.name)));
    } else if (job::has_kernels_for(architectures, known->second)) {
      checks.push_back(good("kernels", fmt::format("{}: this torch has kernels for sm_{}{}", card.name,
                                                   known->second.major, known->second.minor)));
    } else {
      checks.push_back({"kernels", EnvironmentState::kProblem,
                        fmt::format("{} is sm_{}{}; this torch has {}", card.name, known->second.major,
                                    known->second.minor, architectures_text(architectures)),
                        "The first kernel will fail: no kernel image is available for execution on the device.",
                        "another build of torch: vramfit env lists which has kernels for it"});
    }
  }
}

const std::vector<std::string>& setting_names() {
  static const std::vector<std::string> kNames = {"backend",
                                                  "expandable_segments",
                                                  "max_split_size_mb",
                                                  "max_non_split_rounding_mb",
                                                  "large_segment_size_mb",
                                                  "roundup_power2_divisions",
                                                  "garbage_collection_threshold",
                                                  "per_process_memory_fraction",
                                                  "throw_on_cudamalloc_oom",
                                                  "graph_capture_record_stream_reuse",
                                                  "pinned_reserve_segment_size_mb",
                                                  "release_lock_on_cudamalloc",
                                                  "pinned_use_cuda_host_register",
                                                  "pinned_num_register_threads",
                                                  "pinned_use_background_threads"};
  return kNames;
}

// A key of the text that PyTorch does not know, with the one that was meant.
std::string guess_meant(std::string_view conf) {
  for (std::size_t from = 0; from < conf.size();) {
    const std::size_t end = std::min(conf.find(',', from), conf.size());
    std::string_view pair = conf.substr(from, end - from);
    while (pair.starts_with(' ')) pair.remove_prefix(1);
    const std::string key(pair.substr(0, pair.find(':')));
    from = end + 1;
    if (std::ranges::find(setting_names(), key) != setting_names().end()) continue;
    if (const auto nearest = base::nearest_word(key, setting_names())) {
      return fmt::format("{} instead of {}", *nearest, key);
    }
  }
  return "";
}

allocator::Rules rules_for_job(const InitFacts& facts) {
  int major = 0, minor = 0;
  if (facts.interpreter && std::sscanf(facts.interpreter->torch.c_str(), "%d.%d", &major, &minor) == 2) {
    return allocator::rules_of({major, minor});
  }
  return allocator::rules_of({2, 12});
}

void check_allocator(const InitFacts& facts, std::vector<EnvironmentCheck>& checks) {
  const auto fresh = facts.variables.find("PYTORCH_ALLOC_CONF"), old = facts.variables.find("PYTORCH_CUDA_ALLOC_CONF");
  const bool has_fresh = fresh != facts.variables.end(), has_old = old != facts.variables.end();
  if (!has_fresh && !has_old) {
    checks.push_back(good("allocator", "PYTORCH_ALLOC_CONF is not set: PyTorch's own settings"));
    return;
  }
  for (const auto& one : {fresh, old}) {
    if (one == facts.variables.end()) continue;
    const auto settings = allocator::parse_settings(one->second, rules_for_job(facts));
    if (settings) {
      checks.push_back(good("allocator", fmt::format("{}={}", one->first, one->second)));
      continue;
    }
    const std::string meant = guess_meant(one->second);
    checks.push_back({"allocator", EnvironmentState::kProblem, fmt::format("{}={}", one->first, one->second),
                      settings.error().what + ".", meant.empty() ? "unset " + one->first : meant});
  }
  if (has_fresh && has_old && fresh->second != old->second) {
    checks.push_back({"allocator", EnvironmentState::kWarning, "PYTORCH_ALLOC_CONF and PYTORCH_CUDA_ALLOC_CONF differ",
                      "Which of them counts depends on the release of torch.", "unset PYTORCH_CUDA_ALLOC_CONF"});
  }
}

void check_cards(const InitFacts& facts, std::vector<EnvironmentCheck>& checks) {
  for (const CardReading& card : facts.machine.cards) {
    const std::string title = title_of(card);
    if (!card.problem.empty()) {
      checks.push_back({"card", EnvironmentState::kProblem, fmt::format("{}: {}", title, card.problem),
                        "Jobs on it will fail.", "sudo nvidia-smi --gpu-reset -i N, or a restart of the machine"});
      continue;
    }
    if (!card.parent.empty()) continue;
    if (card.mig_mode.value_or(0) == 1) {
      const bool has_slices =
          std::ranges::any_of(facts.machine.cards, [&](const CardReading& slice) { return slice.parent == card.uuid; });
      checks.push_back(
          {"mig", has_slices ? EnvironmentState::kWarning : EnvironmentState::kProblem,
           fmt::format("{} is divided by MIG{}", title, has_slices ? "" : ", and has no slices"),
           has_slices ? "A job gets one slice, named by its UUID, and only its memory." : "No job can use it.",
           has_slices ? "CUDA_VISIBLE_DEVICES=MIG-...; nvidia-smi -L lists them"
                      : "sudo nvidia-smi mig -cgi 9 -C, or sudo nvidia-smi -mig 0"});
    }
    if (card.persistence_mode && *card.persistence_mode == 0) {
      checks.push_back({"persistence", EnvironmentState::kWarning, fmt::format("{}: persistence mode is off", title),
                        "Without a process on it the driver lets go of the card, and the next start takes seconds.",
                        "sudo nvidia-smi -pm 1"});
    }
    if (card.ecc_uncorrected.value_or(0) > 0) {
      checks.push_back({"ecc", EnvironmentState::kWarning,
                        fmt::format("{}: {} uncorrected memory errors", title, *card.ecc_uncorrected),
                        "Results may be wrong; rows may be waiting for a reset to be replaced.",
                        "nvidia-smi -q -d ECC,ROW_REMAPPER; then a reset"});
    }
  }
}

void check_others(const InitFacts& facts, std::vector<EnvironmentCheck>& checks) {
  constexpr Bytes kWorthSaying = Bytes::mib(64);
  bool all_free = true;
  for (const CardReading& card : facts.machine.cards) {
    std::int64_t held = 0, count = 0;
    std::string largest;
    for (const auto& process : facts.machine.processes) {
      for (const auto& use : process.uses) {
        if (use.card != card.uuid) continue;
        ++count;
        held += use.used_bytes.value_or(0);
        if (largest.empty()) largest = fmt::format("pid {} {}", process.pid, process.name);
      }
    }
    const std::int64_t unexplained = card.unexplained_bytes.value_or(0);
    if (count > 0) {
      all_free = false;
      checks.push_back(
          {"others", EnvironmentState::kWarning,
           fmt::format("{}: {} other process{} hold{} {} ({}{})", title_of(card), count, count == 1 ? "" : "es",
                       count == 1 ? "s" : "", to_string(Bytes(held)), largest, count == 1 ? "" : ", ..."),
           "That much less is there for a job.", "vramfit watch; vramfit run --occupied for what it means"});
    } else if (unexplained > kWorthSaying.count()) {
      all_free = false;
      checks.push_back({"others", EnvironmentState::kWarning,
                        fmt::format("{}: {} used by no process that the driver shows", title_of(card),
                                    to_string(Bytes(unexplained))),
                        "Processes of other containers, or what a dead job left.", "sudo fuser -v /dev/nvidia*"});
    }
  }
  if (all_free && !facts.machine.cards.empty()) checks.push_back(good("others", "no other process is on the cards"));
}

EnvironmentCheck check_shm(const InitFacts& facts) {
  const Reading total = facts.machine.host.shm_total_bytes, used = facts.machine.host.shm_used_bytes;
  if (!total) return unknown("shm", "/dev/shm cannot be looked at");
  const Bytes free(*total - used.value_or(0));
  const std::string text = fmt::format("/dev/shm: {} of {} free", to_string(free), to_string(Bytes(*total)));
  if (free >= kLittleShm) return good("shm", text);
  return {"shm", EnvironmentState::kWarning, text,
          "DataLoader workers pass batches through it: bus error, or \"unable to write to file </torch_...>\".",
          facts.container.empty() ? "sudo mount -o remount,size=8G /dev/shm"
                                  : "start the container with --shm-size=8g (or --ipc=host)"};
}

EnvironmentCheck check_files(const InitFacts& facts) {
  const auto soft = facts.limits.open_files, hard = facts.limits.open_files_hard;
  if (!soft || *soft >= kFewFiles) {
    return good("nofile", soft ? fmt::format("open files: {}", *soft) : "open files: no limit");
  }
  const std::int64_t wanted = std::min<std::int64_t>(hard.value_or(65536), 65536);
  return {"nofile", EnvironmentState::kWarning, fmt::format("open files: {}", *soft),
          "Loaders with many workers run out of them: \"too many open files\", \"received 0 items of ancdata\".",
          wanted > *soft ? fmt::format("ulimit -n {}", wanted) : "raise nofile in /etc/security/limits.conf"};
}

EnvironmentCheck check_locked(const InitFacts& facts) {
  const auto limit = facts.limits.locked_bytes;
  if (facts.limits.may_lock_all || !limit) return good("memlock", "locked memory: no limit");
  const std::string text = fmt::format("locked memory: {}", to_string(Bytes(*limit)));
  if (*limit >= kLittleLocked.count()) return good("memlock", text);
  return {"memlock", EnvironmentState::kWarning, text,
          "Pinned memory of CUDA is not bound by it; InfiniBand and GPUDirect (NCCL between machines) are.",
          facts.container.empty() ? "ulimit -l unlimited" : "start the container with --ulimit memlock=-1"};
}

EnvironmentCheck check_memory(const InitFacts& facts) {
  const auto& host = facts.machine.host;
  if (!host.memory_total_bytes) return unknown("memory", "the host's memory cannot be looked at");
  const Bytes total(*host.memory_total_bytes);
  std::string text = fmt::format("host memory: {} of {} available",
                                 to_string(Bytes(host.memory_available_bytes.value_or(0))), to_string(total));
  if (host.cgroup_limit_bytes && *host.cgroup_limit_bytes < total.count()) {
    const Bytes limit(*host.cgroup_limit_bytes);
    text += fmt::format("; this group may use {}", to_string(limit));
    if (host.cgroup_used_bytes && *host.cgroup_used_bytes > limit.count() / 10 * 9) {
      return {"memory", EnvironmentState::kWarning,
              text + fmt::format(", and uses {}", to_string(Bytes(*host.cgroup_used_bytes))),
              "Beyond it the kernel kills the job, without a message.",
              "a larger limit of the container or the Slurm job"};
    }
  }
  if (host.memory_available_bytes && *host.memory_available_bytes < total.count() / 20) {
    return {"memory", EnvironmentState::kWarning, text, "The kernel may kill a job, without a message.",
            "end what uses it: ps aux --sort=-rss | head"};
  }
  return good("memory", text);
}

EnvironmentCheck check_swap(const InitFacts& facts) {
  const auto& host = facts.machine.host;
  if (!host.swap_total_bytes) return unknown("swap", "swap cannot be looked at");
  const std::string text = *host.swap_total_bytes == 0
                               ? "no swap"
                               : fmt::format("swap: {} of {} used", to_string(Bytes(host.swap_used_bytes.value_or(0))),
                                             to_string(Bytes(*host.swap_total_bytes)));
  if (host.swap_used_bytes.value_or(0) > *host.swap_total_bytes / 2 && *host.swap_total_bytes > 0) {
    return {"swap", EnvironmentState::kWarning, text, "Loading data will be slow; pinned memory cannot be swapped.",
            "free -h"};
  }
  return good("swap", text);
}

void check_room(std::vector<EnvironmentCheck>& checks, std::string_view what, const std::string& folder,
                std::optional<std::int64_t> free, Bytes wanted, std::string_view fix) {
  if (folder.empty()) return;
  if (!free) {
    checks.push_back(unknown("disk", fmt::format("{} {} cannot be looked at", what, folder)));
    return;
  }
  const std::string text = fmt::format("{}: {} free in {}", what, to_string(Bytes(*free)), folder);
  if (*free >= wanted.count()) {
    checks.push_back(good("disk", text));
  } else {
    checks.push_back({"disk", EnvironmentState::kWarning, text, fmt::format("It may need {}.", to_string(wanted)),
                      std::string(fix)});
  }
}

}  // namespace

std::vector<EnvironmentCheck> check_environment(const InitFacts& facts) {
  std::vector<EnvironmentCheck> checks = {check_driver(facts), check_torch(facts)};
  check_kernels(facts, checks);
  check_allocator(facts, checks);
  check_cards(facts, checks);
  check_others(facts, checks);
  if (facts.machine.cards.empty()) {
    checks.push_back(
        unknown("cards", "kernels, MIG, persistence mode and other processes: there is no card to look at"));
  }
  checks.push_back(check_shm(facts));
  checks.push_back(check_files(facts));
  checks.push_back(check_locked(facts));
  checks.push_back(check_memory(facts));
  checks.push_back(check_swap(facts));
  check_room(checks, "kept environments", facts.cache_folder, facts.cache_free_bytes, kCacheRoom,
             "VRAMFIT_CACHE=/a/folder/with/room");
  check_room(checks, "history", facts.store_folder, facts.store_free_bytes, kStoreRoom,
             "VRAMFIT_STORE=/a/folder/with/room/runs.db");
  check_room(checks, "recordings", facts.temporary_folder, facts.temporary_free_bytes, kTemporaryRoom,
             "TMPDIR=/a/folder/with/room");
  if (!facts.container.empty()) {
    checks.push_back(good("container", fmt::format("runs in {}", facts.container)));
    if (facts.container == "WSL 2") {
      checks.back() = {"container", EnvironmentState::kWarning, "runs in WSL 2",
                       "Processes are not listed by the driver, and pinned memory is limited to about half of the RAM.",
                       "memory=... in .wslconfig; vramfit watch tells only whole cards"};
    }
  }
  return checks;
}

}  // namespace vramfit::app
