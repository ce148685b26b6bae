// How many kernels were launched and how much memory they touched, by size: what the time model works with. A record
// for each of a step's thousands of launches would be most of a recording.
#ifndef VRAMFIT_RECORDER_KERNEL_TALLY_H
#define VRAMFIT_RECORDER_KERNEL_TALLY_H

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>

#include "recorder.h"

namespace vramfit::recorder {

// The blocks that PyTorch's allocator has handed out.
class LiveBlocks {
 public:
  void add(uint64_t address, int64_t size);
  void remove(uint64_t address);
  // The bytes from `address` to the end of the block it lies in; 0: in none.
  int64_t bytes_behind(uint64_t address) const;
  void lock() { lock_.lock(); }
  void unlock() { lock_.unlock(); }

 private:
  mutable std::mutex lock_;
  std::map<uint64_t, int64_t> size_by_address_;
};
LiveBlocks& live_blocks();

struct KernelMemory {
  int64_t most_each = 0;  // bytes of each pointer; 0: to its block's end
  int64_t bytes = 0;      // beside the pointers
  bool picks_rows = false;
  int64_t one_by_one_bytes = 0;  // of an element, where threads load and store single ones; 0: where they don't
};
struct KernelPass {
  int64_t bytes = 0;
  int64_t elements = 0;  // that threads load and store one by one: those of its largest tensor; of bytes that no
                         // pointer leads to, half are loaded and half are stored
};
KernelPass pass_of(std::span<const uint64_t> pointers, const KernelMemory& memory, const LiveBlocks& blocks);

class KernelTally {
 public:
  void add(Recorder& recorder, uint8_t device, std::span<const uint64_t> pointers, const KernelMemory& memory);
  // Called before the stage, the phase or the step changes: records carry those of the moment in which they are
  // written.
  void flush(Recorder& recorder);
  // No other thread is within it, or within the live blocks, at a fork. A child has launched nothing yet.
  void before_fork();
  void after_fork(bool in_child);

 private:
  // Launches are grouped by the logarithm of their bytes, so that those of a record are alike to a factor of two, and
  // by whether they go one by one: what bounds such a kernel is often not memory.
  struct Size {
    int64_t launches = 0, bytes = 0, elements = 0;
  };
  void flush_locked(Recorder& recorder);

  std::mutex lock_;
  uint8_t device_ = 0;
  std::array<std::array<Size, 64>, 2> sizes_{};  // of vectors, one by one
};
KernelTally& kernel_tally();

}  // namespace vramfit::recorder

#endif
