#ifndef VRAMFIT_RECORDER_RECORD_FILE_H
#define VRAMFIT_RECORDER_RECORD_FILE_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "vramfit/recording.h"

namespace vramfit::recorder {

// recording.<pid>.vfr: an append-only array of 64-byte records in mapped windows of 4 MiB.
//
//   slot      0        1 .. 65535      65536 .. 131071
//             header   records         records            (slots past the last one written are all zero)
//             `------- window 0 -----' `---- window 1 --
//
// append() takes a slot with one atomic add and copies the record into it, the kind last, so that a process killed in
// between leaves an empty slot and never half a record. Only opening a new window takes the lock. Blocks of the file
// are reserved when it grows, so that a full disk is an error here and never a SIGBUS in the job.
class RecordFile {
 public:
  static constexpr size_t kWindowBytes = 4ull << 20;
  static constexpr size_t kSlotsPerWindow = kWindowBytes / sizeof(vf_record);
  static constexpr size_t kMaxWindows = 4096;  // 16 GiB, whatever the limit says

  enum class Stopped { kNo = 0, kLimit, kCannotOpen, kCannotGrow };

  // The file is created at the first append. `limit_bytes` bounds its size, rounded up to a window.
  RecordFile(std::string path, size_t limit_bytes);
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;
  ~RecordFile();

  // False when the record was not kept; why_stopped() then says why. Thread-safe.
  bool append(const vf_record& record);
  // The slot that the next record gets.
  uint64_t next_slot() const { return next_slot_.load(std::memory_order_relaxed); }
  // The records in slots from `from` on that are of phase `before` are of phase `after`; the ends of steps among them
  // count for nothing, and become plain changes of phase.
  void relabel(uint64_t from, uint8_t before, uint8_t after);
  Stopped why_stopped() const { return stopped_.load(std::memory_order_relaxed); }
  int error() const { return error_.load(std::memory_order_relaxed); }  // errno of the failure, 0 for the limit
  int64_t started_at_ns() const { return started_at_ns_; }

  // Forgets, in a forked child, the file without touching its mapped bytes, which belong to the parent.
  void abandon();

 private:
  std::byte* window(size_t index);
  std::byte* open_window(size_t index);
  bool grow_to(size_t bytes);
  std::byte* stop(Stopped why, int error);

  std::string path_;
  size_t max_windows_;
  int64_t started_at_ns_;
  std::atomic<uint64_t> next_slot_{1};  // slot 0 is the header
  std::atomic<Stopped> stopped_{Stopped::kNo};
  std::atomic<int> error_{0};
  std::mutex lock_;
  int fd_ = -1;
  std::unique_ptr<std::atomic<std::byte*>[]> windows_;
};

int64_t monotonic_ns();

}  // namespace vramfit::recorder

#endif
