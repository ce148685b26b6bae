// What the files of /proc say: text in, values out. No file is opened here.
#ifndef VRAMFIT_PROBE_PROC_TEXT_H
#define VRAMFIT_PROBE_PROC_TEXT_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/machine.h"

namespace vramfit::probe {

// /proc/PID/stat
struct Stat {
  std::string name;
  char state = '?';  // 'Z' zombie
  std::int64_t parent = 0;
  std::int64_t started_ticks = 0;  // since boot: with the pid it names one process for good
  std::int64_t resident_pages = 0;
  friend bool operator==(const Stat&, const Stat&) = default;
};
std::optional<Stat> parse_stat(std::string_view text);

// "Name:   123 kB" of /proc/PID/status and /proc/meminfo, in bytes; a line without a unit as it is.
std::optional<std::int64_t> find_amount(std::string_view text, std::string_view name);

// /proc/PID/cmdline: words by zero bytes, joined by spaces; control characters become '?'.
std::string parse_command(std::string_view text);

// /proc/PID/environ: the value of one variable.
std::optional<std::string> find_variable(std::string_view environment, std::string_view name);

// /proc/PID/cgroup: which container, job or pod a process belongs to; empty where none is named.
struct Belonging {
  std::string container;  // 12 digits of its id, as `docker ps` shows
  std::string slurm_job;
  std::string kubernetes_pod;  // its UID
  friend bool operator==(const Belonging&, const Belonging&) = default;
};
Belonging parse_belonging(std::string_view cgroups);

// The cgroup of the memory controller: its path below the mount point. Version 2 has one line "0::/path".
struct MemoryGroup {
  bool version_2 = true;
  std::string path;
  friend bool operator==(const MemoryGroup&, const MemoryGroup&) = default;
};
std::optional<MemoryGroup> parse_memory_group(std::string_view cgroups);

// A rank and the size of its world, from whichever launcher set them.
struct Rank {
  std::string rank, world_size;
  friend bool operator==(const Rank&, const Rank&) = default;
};
Rank find_rank(std::string_view environment);

}  // namespace vramfit::probe

#endif
