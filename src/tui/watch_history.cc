#include "tui/watch_history.h"

#include <algorithm>

namespace vramfit::tui {

namespace {

std::optional<float> higher(const std::optional<float>& one, const std::optional<float>& other) {
  if (!one) return other;
  return other ? std::optional(std::max(*one, *other)) : one;
}

}  // namespace

void WatchHistory::add(const model::MachineSample& sample) {
  for (const auto& card : sample.cards) {
    HistoryPoint point;
    if (card.used_bytes && card.total_bytes && *card.total_bytes > 0) {
      point.memory = static_cast<float>(static_cast<double>(*card.used_bytes) / static_cast<double>(*card.total_bytes));
    }
    if (card.gpu_percent) point.busy = static_cast<float>(*card.gpu_percent) / 100;
    auto& points = points_[card.uuid];
    points.push_back(point);
    if (points.size() > most_) points.pop_front();
  }
  std::erase_if(points_, [&](const auto& item) {
    return std::ranges::find(sample.cards, item.first, &model::CardReading::uuid) == sample.cards.end();
  });
}

std::vector<HistoryPoint> WatchHistory::last(const std::string& card, int columns, int stride) const {
  const auto found = points_.find(card);
  std::vector<HistoryPoint> shown;
  if (found == points_.end()) return shown;
  const auto& points = found->second;
  for (auto end = static_cast<std::ptrdiff_t>(points.size()); end > 0 && std::ssize(shown) < columns; end -= stride) {
    HistoryPoint point;
    for (auto i = std::max<std::ptrdiff_t>(end - stride, 0); i < end; ++i) {
      point.memory = higher(point.memory, points[static_cast<std::size_t>(i)].memory);
      point.busy = higher(point.busy, points[static_cast<std::size_t>(i)].busy);
    }
    shown.push_back(point);
  }
  std::ranges::reverse(shown);
  return shown;
}

}  // namespace vramfit::tui
