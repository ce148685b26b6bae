#include "virtual_gpu/device/ranges.h"

#include <map>
#include <mutex>
#include <shared_mutex>

#include "virtual_gpu/device/context.h"

namespace vramfit::device {
namespace {

// Never destroyed: other libraries' destructors may still free memory.
struct Table {
  std::shared_mutex lock;
  std::map<uintptr_t, Allocation> by_begin;
  uint64_t next_id = 1;
};

Table& table() {
  static auto* const kTable = new Table;
  return *kTable;
}

template <typename Fits>
std::vector<Allocation> ranges_that(Fits fits) {
  Table& all = table();
  std::vector<Allocation> found;
  const std::shared_lock guard(all.lock);
  for (const auto& [begin, allocation] : all.by_begin) {
    if (fits(allocation)) found.push_back(allocation);
  }
  return found;
}

}  // namespace

bool add_range(Allocation allocation) {
  allocation.context = context_of_new();
  Table& all = table();
  const std::unique_lock guard(all.lock);
  const Range& range = allocation.range;
  const auto next = all.by_begin.upper_bound(range.begin);
  if (next != all.by_begin.end() && next->first < range.begin + range.bytes) return false;
  if (next != all.by_begin.begin()) {
    const Range& before = std::prev(next)->second.range;
    if (before.begin + before.bytes > range.begin) return false;
  }
  allocation.id = all.next_id++;
  all.by_begin.emplace_hint(next, range.begin, allocation);
  return true;
}

std::optional<Allocation> find_allocation(const void* address) {
  Table& all = table();
  const auto at = reinterpret_cast<uintptr_t>(address);
  const std::shared_lock guard(all.lock);
  auto found = all.by_begin.upper_bound(at);
  if (found == all.by_begin.begin()) return std::nullopt;
  --found;
  const Range& range = found->second.range;
  if (at - range.begin >= range.bytes) return std::nullopt;
  return found->second;
}

std::optional<Allocation> take_range(const void* address) {
  Table& all = table();
  const std::unique_lock guard(all.lock);
  const auto found = all.by_begin.find(reinterpret_cast<uintptr_t>(address));
  if (found == all.by_begin.end()) return std::nullopt;
  Allocation taken = found->second;
  all.by_begin.erase(found);
  return taken;
}

std::vector<Allocation> ranges_on_card(int card) {
  return ranges_that([&](const Allocation& allocation) { return allocation.range.card == card; });
}

std::vector<Allocation> ranges_of_context(const void* context) {
  return ranges_that([&](const Allocation& allocation) { return allocation.context == context; });
}

Range find_range(const void* address) {
  const auto found = find_allocation(address);
  return found ? found->range : Range{};
}

}  // namespace vramfit::device
