#include "verify/peaks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <utility>

#include "model/recording.h"

namespace vramfit::verify {

using base::Bytes;

namespace {

struct Event {
  std::int64_t at_ns = 0;
  std::size_t process = 0;
  const vf_record* record = nullptr;
  bool ends_process = false;
};

std::vector<Event> merge(std::span<const model::Recording> recordings) {
  std::vector<Event> events;
  for (std::size_t process = 0; process < recordings.size(); ++process) {
    const model::Recording& recording = recordings[process];
    for (const vf_record& record : recording.records) {
      events.push_back({recording.started_at_ns + record.at_ns, process, &record, false});
    }
    if (!events.empty() && events.back().process == process) {
      events.push_back({events.back().at_ns, process, nullptr, true});
    }
  }
  std::ranges::stable_sort(events, {}, &Event::at_ns);
  return events;
}

// What lives on one card, by process and address.
using Living = std::map<std::pair<std::size_t, std::uint64_t>, std::int64_t>;

std::int64_t sum(const Living& living) {
  std::int64_t total = 0;
  for (const auto& entry : living) total += entry.second;
  return total;
}

// Adding all up again after each event would take hours of a long run: the sum is kept, and `sum` is its check.
class Level {
 public:
  void put(std::size_t process, std::uint64_t address, std::int64_t size) {
    take(process, address);
    living_[{process, address}] = size;
    now_ += size;
    most_ = std::max(most_, now_);
  }
  void take(std::size_t process, std::uint64_t address) {
    const auto found = living_.find({process, address});
    if (found == living_.end()) return;
    now_ -= found->second;
    living_.erase(found);
  }
  void end(std::size_t process) {
    std::erase_if(living_, [&](const auto& entry) { return entry.first.first == process; });
    now_ = sum(living_);
  }
  Bytes most() const { return Bytes(most_); }

 private:
  Living living_;
  std::int64_t now_ = 0, most_ = 0;
};

struct CardLevels {
  Level blocks, segments;
};

void count(const Event& event, CardLevels& card) {
  const vf_record& record = *event.record;
  switch (record.kind) {
    case VF_RECORD_BLOCK_ALLOC:
      return card.blocks.put(event.process, record.address, record.size);
    case VF_RECORD_BLOCK_FREE:
      return card.blocks.take(event.process, record.address);
    case VF_RECORD_SEGMENT_ALLOC:
      return card.segments.put(event.process, record.address, record.size);
    case VF_RECORD_SEGMENT_FREE:
      return card.segments.take(event.process, record.address);
    default:
      return;
  }
}

}  // namespace

std::map<int, CountedPeaks> count_peaks(std::span<const model::Recording> recordings) {
  std::map<int, CardLevels> cards;
  for (const Event& event : merge(recordings)) {
    if (!event.ends_process) {
      count(event, cards[event.record->device]);
      continue;
    }
    for (auto& [device, card] : cards) {
      card.blocks.end(event.process);
      card.segments.end(event.process);
    }
  }
  std::map<int, CountedPeaks> peaks;
  for (const auto& [device, card] : cards) peaks[device] = {card.blocks.most(), card.segments.most()};
  return peaks;
}

std::vector<std::string> check_peaks(std::span<const model::Recording> recordings, const model::RunResult& result) {
  std::vector<std::string> wrong;
  const auto counted = count_peaks(recordings);
  for (const model::DeviceResult& device : result.devices) {
    const auto found = counted.find(device.index);
    const CountedPeaks peaks = found != counted.end() ? found->second : CountedPeaks{};
    const auto compare = [&](const char* what, Bytes told, Bytes is) {
      if (told == is) return;
      wrong.push_back(fmt::format("card {}: {} bytes {} at the peak are told, {} counted", device.index, told.count(),
                                  what, is.count()));
    };
    compare("allocated", device.peaks.allocated, peaks.allocated);
    compare("reserved", device.peaks.reserved, peaks.reserved);
  }
  const auto is_told = [&](int card) {
    return std::ranges::any_of(result.devices, [&](const auto& device) { return device.index == card; });
  };
  for (const auto& [card, peaks] : counted) {
    if (is_told(card) || peaks.allocated + peaks.reserved == Bytes()) continue;
    wrong.push_back(fmt::format("card {}: nothing is told of it, and {} bytes were allocated there at the peak", card,
                                peaks.allocated.count()));
  }
  return wrong;
}

}  // namespace vramfit::verify
