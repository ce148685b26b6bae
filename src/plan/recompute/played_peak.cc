#include "plan/recompute/played_peak.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "plan/stream/reshape.h"

namespace vramfit::plan {
namespace {

// What frees no more than this share of the peak is not worth running anything again.
constexpr double kNoGain = 0.001;

std::int64_t find_most(const std::vector<Life>& lives, const model::StreamPass& pass) {
  std::vector<std::pair<PlayTime, std::int64_t>> changes;
  changes.reserve(2 * lives.size());
  for (const Life& life : lives) {
    changes.emplace_back(life.born, life.bytes);
    if (life.died != kNeverFreed) changes.emplace_back(std::max(life.born, life.died), -life.bytes);
  }
  std::ranges::sort(changes, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second > b.second;
  });
  std::int64_t level = 0, most = 0;
  for (const auto& [at, bytes] : changes) {
    if (at > at_event(pass.end)) break;
    level += bytes;
    if (at >= at_event(pass.begin)) most = std::max(most, level);
  }
  return most;
}

}  // namespace

PlayedPeak::PlayedPeak(const model::Job& job) {
  const auto own = job.streams.find("");
  if (own == job.streams.end() || own->second == nullptr || own->second->passes.empty()) return;
  stream_ = *own->second;
  stream_.passes = {stream_.passes.back()};
}

std::optional<Bytes> PlayedPeak::with(const std::vector<std::string>& modules, Kept kept) const {
  if (stream_.blocks.empty()) return std::nullopt;
  Reshaping reshaping;
  for (auto& phase : reshaping.shares) {
    for (auto& stage : phase) stage.fill(1);
  }
  for (const std::string& name : modules) {
    const auto module = std::ranges::find(stream_.modules, name, &model::StreamModule::name);
    if (module == stream_.modules.end()) return std::nullopt;
    reshaping.repeated.push_back(static_cast<std::int32_t>(module - stream_.modules.begin()));
  }
  reshaping.keeps_products = kept == Kept::kProducts;
  return Bytes(find_most(reshape(stream_, reshaping), stream_.passes.front()));
}

RepeatSet without_idle_as_played(const PlayedPeak& played, RepeatSet set) {
  const auto whole = played.with(set.modules, set.kept);
  if (!whole) return set;
  const auto enough = static_cast<std::int64_t>(static_cast<double>(whole->count()) * (1 + kNoGain));
  for (std::size_t i = 0; i < set.modules.size();) {
    std::vector<std::string> others = set.modules;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const auto without = played.with(others, set.kept);
    if (without && without->count() <= enough) {
      set.modules = std::move(others);
    } else {
      ++i;
    }
  }
  return set;
}

}  // namespace vramfit::plan
