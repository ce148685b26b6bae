#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "views/export.h"
#include "watch/recording.h"

namespace vramfit::views {

using base::Bytes;
using base::Result;
using report::exports::Counter;
using report::exports::ExportFacts;

namespace {

// What one sample tells of PyTorch on a card: all its processes together.
struct TorchUse {
  std::optional<Bytes> allocated, reserved;
};

TorchUse torch_use(const model::MachineSample& sample, const std::string& uuid) {
  TorchUse sum;
  for (const model::ProcessReading& process : sample.processes) {
    for (const model::CardUse& use : process.uses) {
      if (use.card != uuid) continue;
      if (use.allocated_bytes) sum.allocated = sum.allocated.value_or(Bytes()) + Bytes(*use.allocated_bytes);
      if (use.reserved_bytes) sum.reserved = sum.reserved.value_or(Bytes()) + Bytes(*use.reserved_bytes);
    }
  }
  return sum;
}

// A time in which nobody looked, as between two parts of a recording: what was last told holds until `from` at most.
struct Pause {
  std::int64_t from_ns = 0, to_ns = 0;
};

// Samples come at even times. Where the time to the next is many times that on both sides, nobody was looking; where it
// is only longer than before, the pace changed.
std::vector<Pause> find_pauses(const std::vector<std::int64_t>& times_ns) {
  constexpr std::int64_t kManyTimes = 5, kShortest = 1'000'000'000;
  std::vector<Pause> pauses;
  for (std::size_t i = 1; i < times_ns.size(); ++i) {
    const std::int64_t here = times_ns[i] - times_ns[i - 1];
    const std::int64_t before = i >= 2 ? times_ns[i - 1] - times_ns[i - 2] : 0;
    const std::int64_t after = i + 1 < times_ns.size() ? times_ns[i + 1] - times_ns[i] : 0;
    const std::int64_t pace = before > 0 && after > 0 ? std::min(before, after) : std::max(before, after);
    const bool is_new_pace = before > 0 && after > 0 && here < kManyTimes * std::max(before, after);
    if (pace == 0 || here < kShortest || here < kManyTimes * pace || is_new_pace) continue;
    pauses.push_back({times_ns[i - 1] + (before > 0 ? before : pace), times_ns[i]});
  }
  return pauses;
}

class WatchExport {
 public:
  explicit WatchExport(ExportFacts& facts) : facts_(facts) {}

  void add(const model::MachineSample& sample) {
    if (first_ns_ == 0) {
      first_ns_ = sample.at_unix_ns;
      facts_.begins_ms = first_ns_ / 1'000'000;
    }
    const std::int64_t at_ns = std::max<std::int64_t>(sample.at_unix_ns - first_ns_, 0);
    times_ns_.push_back(at_ns);
    for (const model::CardReading& card : sample.cards) {
      const int device = device_of(card);
      if (!card.used_bytes) continue;
      const Bytes used(*card.used_bytes);
      auto& known = facts_.cards[static_cast<std::size_t>(device)];
      known.peak = std::max({known.peak.value_or(Bytes()), used, Bytes(card.peak_used_bytes.value_or(0))});
      point("device", device, at_ns, used);
      const TorchUse torch = torch_use(sample, card.uuid);
      if (torch.allocated) point("allocated", device, at_ns, *torch.allocated);
      if (torch.reserved) point("reserved", device, at_ns, *torch.reserved);
    }
    end_what_was_not_told(at_ns);
  }

  // Called once all samples are there.
  void end_at_pauses() {
    for (const Pause& pause : find_pauses(times_ns_)) {
      for (Counter& counter : facts_.counters) {
        const auto next =
            std::ranges::lower_bound(counter.points, pause.to_ns, {}, &report::exports::CounterPoint::at_ns);
        if (next == counter.points.begin() || !std::prev(next)->value) continue;
        counter.points.insert(next, {pause.from_ns, std::nullopt});
      }
    }
  }

 private:
  // Cards are numbered as they first appear: their own index may change when one falls off the bus.
  int device_of(const model::CardReading& card) {
    const auto [found, is_new] = devices_.try_emplace(card.uuid + card.session, static_cast<int>(devices_.size()));
    if (is_new) facts_.cards.push_back({found->second, card.name, Bytes(card.total_bytes.value_or(0)), {}});
    return found->second;
  }

  void point(const char* name, int device, std::int64_t at_ns, Bytes value) {
    const auto [found, is_new] = counters_.try_emplace({device, name}, facts_.counters.size());
    if (is_new) facts_.counters.push_back(Counter{name, device, {}});
    facts_.counters[found->second].points.push_back({at_ns, value});
  }

  // A value holds until the next point: what this sample does not tell is not known from here on.
  void end_what_was_not_told(std::int64_t at_ns) {
    for (Counter& counter : facts_.counters) {
      const auto& last = counter.points.back();
      if (last.at_ns < at_ns && last.value) counter.points.push_back({at_ns, std::nullopt});
    }
  }

  ExportFacts& facts_;
  std::int64_t first_ns_ = 0;
  std::vector<std::int64_t> times_ns_;
  std::map<std::string, int> devices_;
  std::map<std::pair<int, std::string>, std::size_t> counters_;
};

}  // namespace

Result<ExportFacts> facts_of_watch(const std::filesystem::path& file) {
  const auto source = watch::open_watch_recording(file);
  if (!source) return std::unexpected(source.error());
  ExportFacts facts{.title = file.filename().string()};
  WatchExport taking(facts);
  while (true) {
    const auto sample = (*source)->next();
    if (!sample) return std::unexpected(sample.error());
    if (!*sample) {
      taking.end_at_pauses();
      facts.damage = watch::to_string((*source)->lost());
      return facts;
    }
    taking.add(**sample);
  }
}

}  // namespace vramfit::views
