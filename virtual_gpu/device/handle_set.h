// Which objects were ever handed out as handles. A program may give us any number as one: it is looked up here before
// it is followed, by any thread, without a lock.
#ifndef VRAMFIT_VIRTUAL_GPU_DEVICE_HANDLE_SET_H
#define VRAMFIT_VIRTUAL_GPU_DEVICE_HANDLE_SET_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace vramfit::device {

class HandleSet {
 public:
  HandleSet() { grow(64); }
  HandleSet(const HandleSet&) = delete;
  HandleSet& operator=(const HandleSet&) = delete;

  // Adds a handle, which never leaves again; one caller at a time.
  void insert(const void* handle) {
    if (contains(handle)) return;
    if (2 * (count_ + 1) > tables_.back().size()) grow(2 * tables_.back().size());
    put(tables_.back(), handle);
    ++count_;
  }

  bool contains(const void* handle) const {
    const Table& table = *current_.load(std::memory_order_acquire);
    for (std::size_t slot = first_slot(table, handle);; slot = (slot + 1) % table.size()) {
      const void* found = table[slot].load(std::memory_order_acquire);
      if (found == handle) return handle != nullptr;
      if (found == nullptr) return false;
    }
  }

 private:
  using Table = std::vector<std::atomic<const void*>>;

  static std::size_t first_slot(const Table& table, const void* handle) {
    return (reinterpret_cast<std::uintptr_t>(handle) * 0x9e3779b97f4a7c15u >> 32) % table.size();
  }

  static void put(Table& table, const void* handle) {
    std::size_t slot = first_slot(table, handle);
    while (table[slot].load(std::memory_order_relaxed) != nullptr) slot = (slot + 1) % table.size();
    table[slot].store(handle, std::memory_order_release);
  }

  // Older tables stay: another thread may be reading one.
  void grow(std::size_t slots) {
    Table& larger = tables_.emplace_back(slots);
    if (tables_.size() > 1) {
      for (const auto& handle : tables_[tables_.size() - 2]) {
        if (const void* kept = handle.load(std::memory_order_relaxed)) put(larger, kept);
      }
    }
    current_.store(&larger, std::memory_order_release);
  }

  std::deque<Table> tables_;
  std::atomic<const Table*> current_{nullptr};
  std::size_t count_ = 0;
};

}  // namespace vramfit::device

#endif
