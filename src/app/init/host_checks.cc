#include <fmt/format.h>

#include <algorithm>

#include "app/init/checks.h"

namespace vramfit::app {

using base::Bytes;
using model::EnvironmentCheck;
using model::EnvironmentState;
using model::Reading;

namespace {

constexpr Bytes kLittleShm = Bytes::gib(1);      // loaders with workers pass batches through it
constexpr std::int64_t kFewFiles = 4096;         // each worker and each shared tensor takes descriptors
constexpr Bytes kLittleLocked = Bytes::mib(64);  // what RDMA and GPUDirect register is locked

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

}  // namespace

std::vector<EnvironmentCheck> check_host(const InitFacts& facts) {
  return {check_shm(facts), check_files(facts), check_locked(facts), check_memory(facts), check_swap(facts)};
}

}  // namespace vramfit::app
