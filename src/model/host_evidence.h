// What texts say of the host: who was killed there, and what went wrong with /dev/shm.
#ifndef VRAMFIT_MODEL_HOST_EVIDENCE_H
#define VRAMFIT_MODEL_HOST_EVIDENCE_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "model/printed_bytes.h"
#include "model/source_line.h"

namespace vramfit::model {

enum class HostKillKind {
  kShell,         // "Killed", "Killed: 9"
  kExitStatus,    // exit code 137, -9, SIGKILL
  kKernel,        // "Out of memory: Killed process 123 (python)"
  kCgroup,        // "Memory cgroup out of memory: Killed process"
  kMemoryEvents,  // memory.events, /proc/vmstat: counters
  kContainer,     // "OOMKilled"
  kScheduler,     // "Detected 1 oom_kill event in StepId", "Exceeded job memory limit"
  kDaemon,        // systemd-oomd, earlyoom
  kDataWorker,    // "DataLoader worker (pid 1) is killed by signal: Killed."
  kAllocation,    // the host refused: "Cannot allocate memory", "std::bad_alloc", MemoryError
};

struct HostKill {
  SourceLine at;
  Speaker speaker;
  HostKillKind kind = HostKillKind::kShell;
  std::optional<std::int64_t> pid;
  std::string process;
  std::optional<int> exit_code, signal;
  std::optional<PrintedBytes> total_vm, anon_rss, file_rss, shmem_rss;
  std::optional<PrintedBytes> limit, usage;  // of the cgroup or job
  std::string cgroup;
  std::map<std::string, std::int64_t> counters;  // kMemoryEvents: low, high, max, oom, oom_kill
  friend bool operator==(const HostKill&, const HostKill&) = default;
};

enum class ShmErrorKind {
  kBusError,     // "DataLoader worker (pid 1) is killed by signal: Bus error. It is possible that dataloader's ..."
  kNoSpace,      // "No space left on device", "unable to write to file </torch_...>", "unable to resize file"
  kUnavailable,  // "unable to open shared memory object"
  kLibrary,      // NCCL: "Error while creating shared memory segment"
};

struct ShmError {
  SourceLine at;
  Speaker speaker;
  ShmErrorKind kind = ShmErrorKind::kBusError;
  std::optional<std::int64_t> pid;
  std::string path;
  std::optional<PrintedBytes> asked;
  friend bool operator==(const ShmError&, const ShmError&) = default;
};

}  // namespace vramfit::model

#endif
