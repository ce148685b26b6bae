#include "probe/host.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <optional>

#include "probe/proc_text.h"
#include "probe/process_table.h"

namespace vramfit::probe {

namespace fs = std::filesystem;
using model::Absence;
using model::Reading;

namespace {

Reading reading_of(const std::optional<std::int64_t>& number) {
  return number ? Reading(*number) : Reading(Absence::kNotSupported);
}

Reading difference(const std::optional<std::int64_t>& whole, const std::optional<std::int64_t>& part) {
  return whole && part ? Reading(*whole - *part) : Reading(Absence::kNotSupported);
}

void read_memory(const fs::path& proc, model::HostReading& host) {
  const auto text = read_small(proc / "meminfo");
  if (!text) return;
  host.memory_total_bytes = reading_of(find_amount(*text, "MemTotal"));
  host.memory_available_bytes = reading_of(find_amount(*text, "MemAvailable"));
  const auto cached = find_amount(*text, "Cached"), shared = find_amount(*text, "Shmem");
  host.page_cache_bytes = difference(cached, shared);  // /dev/shm is counted as cached too, and cannot be dropped
  host.locked_bytes = reading_of(find_amount(*text, "Mlocked"));
  const auto swap = find_amount(*text, "SwapTotal"), swap_free = find_amount(*text, "SwapFree");
  host.swap_total_bytes = reading_of(swap);
  host.swap_used_bytes = difference(swap, swap_free);
}

void read_shm(const fs::path& shm, model::HostReading& host) {
  struct statvfs status {};
  if (::statvfs(shm.c_str(), &status) != 0) {
    host.shm_total_bytes = host.shm_used_bytes = Absence::kNotSupported;
    return;
  }
  const auto block = static_cast<std::int64_t>(status.f_frsize);
  host.shm_total_bytes = static_cast<std::int64_t>(status.f_blocks) * block;
  host.shm_used_bytes = static_cast<std::int64_t>(status.f_blocks - status.f_bfree) * block;
}

std::optional<std::int64_t> read_number(const fs::path& path) {
  const auto text = read_small(path);
  if (!text) return std::nullopt;
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(text->data(), text->data() + text->size(), number);
  return problem == std::errc{} ? std::optional(number) : std::nullopt;  // "max" is none
}

// "oom_kill 3"
std::optional<std::int64_t> find_count(const std::optional<std::string>& text, std::string_view name) {
  if (!text) return std::nullopt;
  std::size_t at = text->find(std::string(name) + " ");
  while (at != std::string::npos && at != 0 && (*text)[at - 1] != '\n')
    at = text->find(std::string(name) + " ", at + 1);
  if (at == std::string::npos) return std::nullopt;
  return std::atoll(text->c_str() + at + name.size() + 1);
}

struct GroupFiles {
  const char *limit, *used, *events;
};

// A limit may be set on any group above ours: the tightest holds. In a container the group's own path is often not
// mounted, and the mount point is the group.
void read_group(const HostPlaces& places, model::HostReading& host) {
  host.cgroup_limit_bytes = host.cgroup_used_bytes = host.cgroup_oom_kills = Absence::kNotSupported;
  const auto group = parse_memory_group(read_small(places.proc / "self" / "cgroup").value_or(""));
  if (!group) return;
  const fs::path top = group->version_2 ? places.cgroups : places.cgroups / "memory";
  const GroupFiles names = group->version_2
                               ? GroupFiles{"memory.max", "memory.current", "memory.events"}
                               : GroupFiles{"memory.limit_in_bytes", "memory.usage_in_bytes", "memory.oom_control"};
  fs::path own = (top / fs::path(group->path).relative_path()).lexically_normal();
  if (!own.has_filename()) own = own.parent_path();
  if (::access((own / names.used).c_str(), R_OK) != 0) own = top;
  if (const auto used = read_number(own / names.used)) host.cgroup_used_bytes = *used;
  if (const auto kills = find_count(read_small(own / names.events), "oom_kill")) host.cgroup_oom_kills = *kills;
  // Version 1 spells "no limit" as the largest multiple of a page.
  constexpr std::int64_t kNoLimit = std::int64_t{1} << 60;
  for (fs::path level = own;; level = level.parent_path()) {
    const auto limit = read_number(level / names.limit);
    if (limit && *limit < kNoLimit && *limit < host.cgroup_limit_bytes.value_or(kNoLimit)) {
      host.cgroup_limit_bytes = *limit;
    }
    if (level == top || !level.has_relative_path()) break;
  }
}

}  // namespace

model::HostReading read_host(const HostPlaces& places) {
  model::HostReading host;
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) == 0) host.name = name.data();
  read_memory(places.proc, host);
  read_shm(places.shm, host);
  read_group(places, host);
  return host;
}

}  // namespace vramfit::probe
