#include "watch/peaks.h"

#include <algorithm>

namespace vramfit::watch {

namespace {

void raise(model::Reading& peak, const model::Reading& value) {
  if (value && (!peak || *value > *peak)) peak = value;
}

}  // namespace

void PeakCollector::add(const model::MachineSample& sample, double seconds) {
  const bool before = samples_++ == 0;
  if (samples_ > 2) longest_gap_ = std::max(longest_gap_, seconds - last_seconds_);
  last_seconds_ = seconds;
  std::map<std::string, model::Reading> own;
  for (const auto& process : sample.processes) {
    if (before || !is_own_(process)) continue;
    for (const auto& use : process.uses) {
      seen_[use.card].pids.insert(process.pid);
      if (use.used_bytes) own[use.card] = own[use.card].value_or(0) + *use.used_bytes;
    }
  }
  for (const auto& card : sample.cards) {
    if (std::ranges::find(order_, card.uuid) == order_.end()) order_.push_back(card.uuid);
    OwnPeak& seen = seen_[card.uuid];
    model::CardPeak& peak = seen.peak;
    peak.uuid = card.uuid;
    peak.name = card.name;
    peak.session = card.session;
    if (card.index) peak.index = card.index;
    if (card.total_bytes) peak.total_bytes = card.total_bytes;
    if (before) peak.card_before_bytes = card.used_bytes;
    raise(peak.card_peak_bytes, card.used_bytes);
    const auto taken = own.find(card.uuid);
    if (taken == own.end() || !taken->second) continue;
    if (!peak.peak_bytes || *taken->second > *peak.peak_bytes) peak.at_seconds = seconds;
    raise(peak.peak_bytes, taken->second);
  }
}

void PeakCollector::set_exact(const std::string& uuid, std::int64_t peak_bytes) {
  const auto found = seen_.find(uuid);
  if (found == seen_.end()) return;
  found->second.peak.peak_bytes = found->second.peak.card_peak_bytes = peak_bytes;
  found->second.peak.exact = true;
}

std::vector<model::CardPeak> PeakCollector::cards() const {
  std::vector<model::CardPeak> cards;
  for (const std::string& uuid : order_) {
    const OwnPeak& seen = seen_.at(uuid);
    cards.push_back(seen.peak);
    cards.back().processes = static_cast<int>(seen.pids.size());
  }
  return cards;
}

}  // namespace vramfit::watch
