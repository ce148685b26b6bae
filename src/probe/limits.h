// What the system allows a process: limits, containers, room on disks.
#ifndef VRAMFIT_PROBE_LIMITS_H
#define VRAMFIT_PROBE_LIMITS_H

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace vramfit::probe {

// The limits of this process, hence of its children. Nothing: no limit.
struct ProcessLimits {
  std::optional<std::int64_t> open_files, open_files_hard;
  std::optional<std::int64_t> locked_bytes;
  bool may_lock_all = false;  // CAP_IPC_LOCK: the limit does not hold
};
ProcessLimits read_limits(const std::filesystem::path& proc);

// docker, podman, kubernetes, lxc, WSL 2 ...; empty: none was recognised. `root` is what is taken for "/".
std::string find_container(const std::filesystem::path& root);

// Free for this user on the disk that holds the path, or the nearest folder above it that is there.
std::optional<std::int64_t> free_bytes_at(std::filesystem::path path);

}  // namespace vramfit::probe

#endif
