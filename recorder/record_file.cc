#include "record_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

namespace vramfit::recorder {

int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

RecordFile::RecordFile(std::string path, size_t limit_bytes)
    : path_(std::move(path)),
      max_windows_(std::clamp<size_t>((limit_bytes + kWindowBytes - 1) / kWindowBytes, 1, kMaxWindows)),
      started_at_ns_(monotonic_ns()),
      windows_(std::make_unique<std::atomic<std::byte*>[]>(max_windows_)) {}

RecordFile::~RecordFile() {
  for (size_t i = 0; i < max_windows_; ++i) {
    if (std::byte* mapped = windows_[i].load()) munmap(mapped, kWindowBytes);
  }
  if (fd_ >= 0) ::close(fd_);
}

std::byte* RecordFile::stop(Stopped why, int error) {
  error_.store(error, std::memory_order_relaxed);
  stopped_.store(why, std::memory_order_relaxed);
  return nullptr;
}

bool RecordFile::grow_to(size_t bytes) {
  int result = 0;
  do {
    result = fallocate(fd_, 0, 0, static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  if (result == 0) return true;
  // Some network file systems can't reserve; there a full disk can't be told beforehand.
  return errno == EOPNOTSUPP && ftruncate(fd_, static_cast<off_t>(bytes)) == 0;
}

std::byte* RecordFile::open_window(size_t index) {
  const std::lock_guard guard(lock_);
  if (std::byte* mapped = windows_[index].load(std::memory_order_acquire)) return mapped;
  if (why_stopped() != Stopped::kNo) return nullptr;
  const bool first = fd_ < 0;
  if (first) {
    fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd_ < 0) return stop(Stopped::kCannotOpen, errno);
  }
  if (!grow_to((index + 1) * kWindowBytes)) return stop(Stopped::kCannotGrow, errno);
  void* mapped =
      mmap(nullptr, kWindowBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, static_cast<off_t>(index * kWindowBytes));
  if (mapped == MAP_FAILED) return stop(Stopped::kCannotGrow, errno);
  auto* bytes = static_cast<std::byte*>(mapped);
  if (index == 0) {
    vf_recording_header header{};
    header.magic = VF_RECORDING_MAGIC;
    header.record_bytes = sizeof(vf_record);
    header.pid = getpid();
    header.started_at_ns = started_at_ns_;
    std::memcpy(bytes, &header, sizeof header);
  }
  // A window long past goes out of this process's resident memory; the file keeps it, and a straggler faults it back.
  if (index >= 2) {
    if (std::byte* old = windows_[index - 2].load()) madvise(old, kWindowBytes, MADV_DONTNEED);
  }
  windows_[index].store(bytes, std::memory_order_release);
  return bytes;
}

std::byte* RecordFile::window(size_t index) {
  if (index >= max_windows_) return stop(Stopped::kLimit, 0);
  if (std::byte* mapped = windows_[index].load(std::memory_order_acquire)) return mapped;
  // Windows open in order, so that the file never has a hole: window 0 carries the header.
  for (size_t i = 0; i < index; ++i) {
    if (windows_[i].load(std::memory_order_acquire) == nullptr && open_window(i) == nullptr) return nullptr;
  }
  return open_window(index);
}

bool RecordFile::append(const vf_record& record) {
  if (why_stopped() != Stopped::kNo) return false;
  const uint64_t slot = next_slot_.fetch_add(1, std::memory_order_relaxed);
  std::byte* bytes = window(slot / kSlotsPerWindow);
  if (bytes == nullptr) return false;
  std::byte* target = bytes + (slot % kSlotsPerWindow) * sizeof(vf_record);
  static_assert(offsetof(vf_record, kind) == 0);
  std::memcpy(target + 1, reinterpret_cast<const std::byte*>(&record) + 1, sizeof(vf_record) - 1);
  std::atomic_ref(*reinterpret_cast<uint8_t*>(target)).store(record.kind, std::memory_order_release);
  return true;
}

void RecordFile::relabel(uint64_t from, uint8_t before, uint8_t after) {
  if (fd_ < 0) return;
  const uint64_t end = next_slot();
  for (uint64_t slot = std::max<uint64_t>(from, 1); slot < end; ++slot) {
    const size_t index = slot / kSlotsPerWindow;
    std::byte* bytes = index < max_windows_ ? windows_[index].load(std::memory_order_acquire) : nullptr;
    if (bytes == nullptr) return;
    auto* record = reinterpret_cast<vf_record*>(bytes + (slot % kSlotsPerWindow) * sizeof(vf_record));
    if (std::atomic_ref(record->kind).load(std::memory_order_acquire) == 0 || record->phase != before) continue;
    record->phase = after;
    if (record->kind == VF_RECORD_STEP) record->kind = VF_RECORD_PHASE;
  }
}

void RecordFile::abandon() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  stopped_.store(Stopped::kCannotGrow, std::memory_order_relaxed);
}

}  // namespace vramfit::recorder
