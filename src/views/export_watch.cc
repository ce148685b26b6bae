#include <algorithm>
#include <map>
#include <optional>

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

class WatchExport {
 public:
  explicit WatchExport(ExportFacts& facts) : facts_(facts) {}

  void add(const model::MachineSample& sample) {
    if (first_ns_ == 0) {
      first_ns_ = sample.at_unix_ns;
      facts_.begins_ms = first_ns_ / 1'000'000;
    }
    const std::int64_t at_ns = std::max<std::int64_t>(sample.at_unix_ns - first_ns_, 0);
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
      facts.damage = watch::to_string((*source)->lost());
      return facts;
    }
    taking.add(**sample);
  }
}

}  // namespace vramfit::views
