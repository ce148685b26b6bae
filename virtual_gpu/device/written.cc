#include "virtual_gpu/device/written.h"

#include <algorithm>

namespace vramfit::device {
namespace {

using Spans = std::map<uintptr_t, uintptr_t>;

// The first span that ends after `at`.
template <typename Map>
auto first_after(Map& spans, uintptr_t at) {
  auto found = spans.upper_bound(at);
  if (found != spans.begin() && std::prev(found)->second > at) --found;
  return found;
}

}  // namespace

void WrittenBytes::add(Span span) {
  if (span.begin >= span.end) return;
  const std::lock_guard guard(lock_);
  auto found = end_by_begin_.upper_bound(span.begin);
  if (found != end_by_begin_.begin() && std::prev(found)->second >= span.begin) --found;
  while (found != end_by_begin_.end() && found->first <= span.end) {
    span.begin = std::min(span.begin, found->first);
    span.end = std::max(span.end, found->second);
    found = end_by_begin_.erase(found);
  }
  end_by_begin_.emplace_hint(found, span.begin, span.end);
}

std::vector<Span> WrittenBytes::remove(Span span) {
  std::vector<Span> removed;
  const std::lock_guard guard(lock_);
  auto found = first_after(end_by_begin_, span.begin);
  while (found != end_by_begin_.end() && found->first < span.end) {
    const Span old{found->first, found->second};
    removed.push_back({std::max(old.begin, span.begin), std::min(old.end, span.end)});
    found = end_by_begin_.erase(found);
    if (old.begin < span.begin) end_by_begin_.emplace(old.begin, span.begin);
    if (old.end > span.end) end_by_begin_.emplace(span.end, old.end);
  }
  return removed;
}

std::vector<Span> WrittenBytes::inside(Span span) const {
  std::vector<Span> found_spans;
  const std::lock_guard guard(lock_);
  for (auto found = first_after(end_by_begin_, span.begin); found != end_by_begin_.end() && found->first < span.end;
       ++found) {
    found_spans.push_back({std::max(found->first, span.begin), std::min(found->second, span.end)});
  }
  return found_spans;
}

}  // namespace vramfit::device
