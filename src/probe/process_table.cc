#include "probe/process_table.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <utility>

namespace vramfit::probe {

namespace fs = std::filesystem;
using model::Absence;
using model::ProcessState;

std::optional<std::string> read_small(const fs::path& path) {
  const base::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  constexpr std::size_t kMost = 256 * 1024;  // an environment may be large; nothing here is larger
  std::string text;
  std::array<char, 4096> piece;
  for (ssize_t got = 0; text.size() < kMost && (got = ::read(file.number(), piece.data(), piece.size())) != 0;) {
    if (got < 0) return std::nullopt;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return text;
}

namespace {

// Files of more processes than this are opened for each reading instead of kept open.
constexpr std::size_t kMostKeptOpen = 400;
// /proc/PID/status costs the kernel several times what stat does.
constexpr std::int64_t kStatusTurns = 10;

std::string user_name(uid_t uid) {
  std::array<char, 4096> room;
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(uid, &entry, room.data(), room.size(), &found) == 0 && found != nullptr) return found->pw_name;
  return std::to_string(uid);
}

std::int64_t boot_time(const fs::path& proc) {
  const std::string text = read_small(proc / "stat").value_or("");
  const std::size_t at = text.find("\nbtime ");
  return at == std::string::npos ? 0 : std::atoll(text.c_str() + at + 7);
}

std::optional<Stat> read_stat(int file) {
  std::array<char, 1024> text;
  const ssize_t got = ::pread(file, text.data(), text.size(), 0);
  if (got <= 0) return std::nullopt;  // ESRCH: it is gone
  return parse_stat({text.data(), static_cast<std::size_t>(got)});
}

}  // namespace

ProcessTable::ProcessTable(fs::path proc, std::int64_t refresh_ns)
    : proc_(std::move(proc)), refresh_ns_(refresh_ns), boot_unix_seconds_(boot_time(proc_)) {
  ticks_per_second_ = std::max<long>(::sysconf(_SC_CLK_TCK), 1);
  page_bytes_ = std::max<long>(::sysconf(_SC_PAGESIZE), 1);
}

void ProcessTable::learn(std::int64_t pid, const Stat& stat, Entry& entry) const {
  const fs::path folder = proc_ / std::to_string(pid);
  KnownProcess known;
  known.started_ticks = stat.started_ticks;
  model::ProcessReading& out = known.reading;
  out.pid = pid;
  out.name = stat.name;
  const auto parent = parse_stat(read_small(proc_ / std::to_string(stat.parent) / "stat").value_or(""));
  if (parent) out.parent_name = parent->name;
  if (boot_unix_seconds_ > 0) out.started_unix_seconds = boot_unix_seconds_ + stat.started_ticks / ticks_per_second_;
  struct stat status {};
  if (::stat(folder.c_str(), &status) == 0) out.user = user_name(status.st_uid);
  out.command = parse_command(read_small(folder / "cmdline").value_or(""));
  const Belonging belonging = parse_belonging(read_small(folder / "cgroup").value_or(""));
  out.container = belonging.container;
  out.slurm_job = belonging.slurm_job;
  out.kubernetes_pod = belonging.kubernetes_pod;
  const std::string environment = read_small(folder / "environ").value_or("");
  const Rank rank = find_rank(environment);
  out.rank = rank.rank;
  out.world_size = rank.world_size;
  if (out.slurm_job.empty()) out.slurm_job = find_variable(environment, "SLURM_JOB_ID").value_or("");
  if (auto pod = find_variable(environment, "POD_NAME"); pod && !out.kubernetes_pod.empty()) out.kubernetes_pod = *pod;
  known.run_folder = find_variable(environment, "VRAMFIT_RUN_DIR").value_or("");
  const auto visible = find_variable(environment, "CUDA_VISIBLE_DEVICES");
  known.has_visible_cards = visible.has_value();
  known.visible_cards = visible.value_or("");
  entry.known = std::move(known);
}

void ProcessTable::refresh(std::int64_t pid, Entry& entry, std::int64_t now_ns) const {
  const fs::path folder = proc_ / std::to_string(pid);
  if (!entry.stat) entry.stat = base::FileDescriptor(::open((folder / "stat").c_str(), O_RDONLY | O_CLOEXEC));
  auto stat = entry.stat ? read_stat(entry.stat.number()) : std::nullopt;
  if (!stat && entry.stat) {  // the pid may have gone to somebody else since
    entry.stat = base::FileDescriptor(::open((folder / "stat").c_str(), O_RDONLY | O_CLOEXEC));
    stat = entry.stat ? read_stat(entry.stat.number()) : std::nullopt;
  }
  if (!stat) {
    entry.stat.close();
    if (entry.known.started_ticks < 0) entry.known.reading.pid = pid;
    entry.known.reading.state = ProcessState::kUnseen;
    entry.known.reading.resident_bytes = entry.known.reading.locked_bytes = Absence::kLost;
    return;
  }
  // A program that was just started by fork and exec has its parent's words at first: they are read again soon after.
  const bool is_young = entry.read_ns >= 0 && entry.known.reading.name != stat->name;
  if (stat->started_ticks != entry.known.started_ticks || is_young) learn(pid, *stat, entry);
  model::ProcessReading& out = entry.known.reading;
  out.state = stat->state == 'Z' ? ProcessState::kZombie : ProcessState::kRunning;
  out.parent = stat->parent;
  out.resident_bytes = stat->resident_pages * page_bytes_;
  if (now_ns < entry.next_status_ns) return;
  entry.next_status_ns = now_ns + kStatusTurns * refresh_ns_;
  const std::string status = read_small(folder / "status").value_or("");
  const auto locked = find_amount(status, "VmLck"), pinned = find_amount(status, "VmPin");
  out.locked_bytes = locked && pinned ? model::Reading(*locked + *pinned) : model::Reading(Absence::kNotSupported);
}

const KnownProcess& ProcessTable::look(std::int64_t pid, std::int64_t now_ns) {
  Entry& entry = entries_[pid];
  entry.looked_ns = now_ns;
  if (entry.read_ns < 0 || now_ns - entry.read_ns >= refresh_ns_) {
    refresh(pid, entry, now_ns);
    entry.read_ns = now_ns;
    if (entries_.size() > kMostKeptOpen) entry.stat.close();
  }
  return entry.known;
}

void ProcessTable::forget_before(std::int64_t now_ns) {
  std::erase_if(entries_, [&](const auto& item) { return item.second.looked_ns < now_ns; });
}

}  // namespace vramfit::probe
