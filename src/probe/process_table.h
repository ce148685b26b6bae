// The processes that use cards, as /proc tells them. What never changes (name, user, container, rank) is read once per
// process; state and memory at most once a second. A pid is taken for the same process only while its start time is.
#ifndef VRAMFIT_PROBE_PROCESS_TABLE_H
#define VRAMFIT_PROBE_PROCESS_TABLE_H

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "base/file.h"
#include "model/machine.h"
#include "probe/proc_text.h"

namespace vramfit::probe {

struct KnownProcess {
  model::ProcessReading reading;
  std::int64_t started_ticks = -1;
  std::string run_folder, visible_cards;  // VRAMFIT_RUN_DIR and CUDA_VISIBLE_DEVICES of its environment
  bool has_visible_cards = false;
};

class ProcessTable {
 public:
  explicit ProcessTable(std::filesystem::path proc = "/proc", std::int64_t refresh_ns = 1'000'000'000);

  // Facts as of now; never fails: a process that /proc does not show is "unseen". Valid until the next forget().
  const KnownProcess& look(std::int64_t pid, std::int64_t now_ns);
  // Drops the processes that were not looked at since `now_ns`.
  void forget_before(std::int64_t now_ns);

 private:
  struct Entry {
    KnownProcess known;
    base::FileDescriptor stat;  // kept open: one read then tells state, memory and whether it is still the same process
    std::int64_t read_ns = -1, looked_ns = -1, next_status_ns = 0;
  };
  void learn(std::int64_t pid, const Stat& stat, Entry& entry) const;
  void refresh(std::int64_t pid, Entry& entry, std::int64_t now_ns) const;

  std::filesystem::path proc_;
  std::int64_t refresh_ns_;
  std::int64_t boot_unix_seconds_ = 0, ticks_per_second_ = 100, page_bytes_ = 4096;
  std::map<std::int64_t, Entry> entries_;
};

// A whole small file of /proc or /sys; nothing when it cannot be read.
std::optional<std::string> read_small(const std::filesystem::path& path);

}  // namespace vramfit::probe

#endif
