#ifndef VRAMFIT_RECORDER_RESERVED_BOOK_H
#define VRAMFIT_RECORDER_RESERVED_BOOK_H

#include <cstdint>
#include <unordered_map>
#include <unordered_set>

namespace vramfit::recorder {

// What PyTorch has reserved of one card. PyTorch tells with every block, but not when it gives segments back, as
// torch.cuda.empty_cache() does; cudaMalloc and cudaFree tell of that, and of what others than PyTorch ask for.
class ReservedBook {
 public:
  void given(uint64_t address, int64_t size) { unreported_[address] = size; }

  void taken_back(uint64_t address, int64_t size) {
    if (reported_.erase(address) > 0) reserved_ -= size;
    unreported_.erase(address);
  }

  // PyTorch reports it with a block. What was given since is its own where its reservation grew by as much.
  void report(int64_t reserved) {
    int64_t sum = 0;
    for (const auto& [address, size] : unreported_) sum += size;
    const int64_t grown = reserved - reserved_;
    for (const auto& [address, size] : unreported_) {
      if (size == grown || sum == grown) reported_.insert(address);
    }
    unreported_.clear();
    reserved_ = reserved;
  }

  int64_t reserved() const { return reserved_; }
  // Otherwise PyTorch may have memory that it has not told of.
  bool is_settled() const { return unreported_.empty(); }

 private:
  std::unordered_map<uint64_t, int64_t> unreported_;
  std::unordered_set<uint64_t> reported_;
  int64_t reserved_ = 0;
};

}  // namespace vramfit::recorder

#endif
