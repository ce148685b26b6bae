#include "virtual_gpu/device/value_states.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace vramfit::device {
namespace {

// The first part that ends after `at`.
template <typename Map>
auto first_part_after(Map& parts, uintptr_t at) {
  auto found = parts.upper_bound(at);
  if (found != parts.begin() && std::prev(found)->second.end > at) --found;
  return found;
}

}  // namespace

void ValueStates::cut_out(Span span) {
  auto found = first_part_after(parts_, span.begin);
  while (found != parts_.end() && found->first < span.end) {
    const uintptr_t begin = found->first;
    const Part old = found->second;
    found = parts_.erase(found);
    if (begin < span.begin) parts_.emplace(begin, Part{span.begin, old.state});
    if (old.end > span.end) parts_.emplace(span.end, old);
  }
}

void ValueStates::set(Span span, ValueState state) {
  if (span.begin >= span.end) return;
  const std::lock_guard guard(lock_);
  cut_out(span);
  if (state == ValueState::kUnknown) return;
  auto next = parts_.lower_bound(span.begin);
  if (next != parts_.end() && next->first == span.end && next->second.state == state) {
    span.end = next->second.end;
    next = parts_.erase(next);
  }
  if (next != parts_.begin()) {
    auto& before = std::prev(next)->second;
    if (before.end == span.begin && before.state == state) {
      before.end = span.end;
      return;
    }
  }
  parts_.emplace_hint(next, span.begin, Part{span.end, state});
}

ValueState ValueStates::least(Span span) const {
  ValueState least = ValueState::kKnown;
  const std::lock_guard guard(lock_);
  uintptr_t at = span.begin;
  for (auto found = first_part_after(parts_, at); at < span.end; ++found) {
    if (found == parts_.end() || found->first > at) return ValueState::kUnknown;
    least = std::min(least, found->second.state);
    at = found->second.end;
  }
  return least;
}

void ValueStates::copy(uintptr_t to, Span from) {
  std::vector<std::pair<Span, ValueState>> moved;
  {
    const std::lock_guard guard(lock_);
    for (auto found = first_part_after(parts_, from.begin); found != parts_.end() && found->first < from.end; ++found) {
      const uintptr_t begin = std::max(found->first, from.begin);
      const uintptr_t end = std::min(found->second.end, from.end);
      moved.push_back({{begin - from.begin + to, end - from.begin + to}, found->second.state});
    }
  }
  set({to, to + (from.end - from.begin)}, ValueState::kUnknown);
  for (const auto& [span, state] : moved) set(span, state);
}

}  // namespace vramfit::device
