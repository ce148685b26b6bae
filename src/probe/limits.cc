#include "probe/limits.h"

#include <sys/resource.h>
#include <sys/statvfs.h>

#include <cstdlib>
#include <string_view>
#include <system_error>

#include "probe/process_table.h"

namespace vramfit::probe {

namespace fs = std::filesystem;

namespace {

std::optional<std::int64_t> limit_of(rlim_t limit) {
  if (limit == RLIM_INFINITY) return std::nullopt;
  return static_cast<std::int64_t>(limit);
}

// Bit 14 of CapEff (capabilities(7)).
bool has_lock_capability(const fs::path& proc) {
  const std::string text = read_small(proc / "self" / "status").value_or("");
  constexpr std::string_view kName = "CapEff:";
  const std::size_t at = text.find(kName);
  if (at == std::string::npos) return false;
  return (std::strtoull(text.c_str() + at + kName.size(), nullptr, 16) >> 14 & 1) != 0;
}

bool contains(const std::optional<std::string>& text, std::string_view part) {
  return text && text->find(part) != std::string::npos;
}

}  // namespace

ProcessLimits read_limits(const fs::path& proc) {
  ProcessLimits limits;
  struct rlimit one {};
  if (::getrlimit(RLIMIT_NOFILE, &one) == 0) {
    limits.open_files = limit_of(one.rlim_cur);
    limits.open_files_hard = limit_of(one.rlim_max);
  }
  if (::getrlimit(RLIMIT_MEMLOCK, &one) == 0) limits.locked_bytes = limit_of(one.rlim_cur);
  limits.may_lock_all = has_lock_capability(proc);
  return limits;
}

std::string find_container(const fs::path& root) {
  std::error_code ignored;
  const auto release = read_small(root / "proc/sys/kernel/osrelease");
  if (contains(release, "icrosoft")) return "WSL 2";
  if (fs::exists(root / "var/run/secrets/kubernetes.io", ignored)) return "Kubernetes";
  if (fs::exists(root / ".dockerenv", ignored)) return "Docker";
  if (fs::exists(root / "run/.containerenv", ignored)) return "Podman";
  if (fs::exists(root / ".singularity.d", ignored)) return "Apptainer";
  const auto groups = read_small(root / "proc/1/cgroup");
  if (contains(groups, "kubepods")) return "Kubernetes";
  if (contains(groups, "docker")) return "Docker";
  if (contains(groups, "lxc")) return "LXC";
  return "";
}

std::optional<std::int64_t> free_bytes_at(fs::path path) {
  struct statvfs status {};
  while (::statvfs(path.c_str(), &status) != 0) {
    if (!path.has_parent_path() || path == path.parent_path()) return std::nullopt;
    path = path.parent_path();
  }
  return static_cast<std::int64_t>(status.f_bavail) * static_cast<std::int64_t>(status.f_frsize);
}

}  // namespace vramfit::probe
