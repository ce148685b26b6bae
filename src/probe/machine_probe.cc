#include "probe/machine_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace vramfit::probe {

namespace {

constexpr std::int64_t kHostPaceNs = 500'000'000;

const model::CardReading* find_card(const model::MachineSample& sample, const std::string& uuid) {
  const auto found = std::ranges::find(sample.cards, uuid, &model::CardReading::uuid);
  return found == sample.cards.end() ? nullptr : &*found;
}

}  // namespace

int device_number(const KnownProcess& process, const model::CardReading& card) {
  const std::string index = card.index ? std::to_string(*card.index) : std::string();
  if (!process.has_visible_cards) return card.index ? static_cast<int>(*card.index) : -1;
  std::string_view rest = process.visible_cards;
  for (int number = 0; !rest.empty(); ++number) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    std::string_view entry = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    while (entry.starts_with(' ')) entry.remove_prefix(1);
    while (entry.ends_with(' ')) entry.remove_suffix(1);
    const bool named_by_uuid = entry.starts_with("GPU-") || entry.starts_with("MIG-");
    if (named_by_uuid ? card.uuid.starts_with(entry) : entry == index) return number;
  }
  return -1;
}

MachineProbe::MachineProbe(ProbeOptions options)
    : options_(std::move(options)),
      nvml_(options_.open_nvml, options_.pace),
      ledgers_(options_.session_folder),
      processes_(options_.host.proc) {}

// NVML may itself be a stand-in that shows the cards of one session: those are not shown twice.
void MachineProbe::add_sessions(std::int64_t now_ns, model::MachineSample& sample, std::vector<ListedUse>& uses) {
  if (!options_.sessions) return;
  std::set<std::string> shown;
  for (const auto& card : sample.cards) shown.insert(card.uuid);
  for (const LedgerView& view : ledgers_.sessions(now_ns)) {
    const vf_ledger& ledger = view.ledger();
    if (ledger.card_count == 0 || shown.contains(uuid_of(ledger.cards[0]))) continue;
    // Sessions that emulate the same card give it the same UUID: their own name tells them apart.
    const std::size_t first_card = sample.cards.size(), first_use = uses.size();
    list_uses(ledger, view.session(), sample, uses);
    for (std::size_t i = first_card; i < sample.cards.size(); ++i) {
      const std::string before = sample.cards[i].uuid;
      sample.cards[i].uuid = fmt::format("{}@{}", before, view.session());
      for (std::size_t k = first_use; k < uses.size(); ++k) {
        if (uses[k].use.card == before) uses[k].use.card = sample.cards[i].uuid;
      }
    }
  }
}

void MachineProbe::add_allocator(const KnownProcess& process, const model::MachineSample& sample, model::CardUse& use) {
  if (process.run_folder.empty()) return;
  const std::int64_t pid = process.reading.pid;
  auto& known = allocators_[{pid, process.started_ticks}];
  const auto path = std::filesystem::path(process.run_folder) / fmt::format("recording.{}.vfr", pid);
  if (const auto tail = read_recording_tail(path)) {
    for (const auto& [device, reading] : *tail) known[device] = reading;
  }
  const model::CardReading* card = find_card(sample, use.card);
  const auto found = card == nullptr ? known.end() : known.find(device_number(process, *card));
  if (found == known.end()) return;
  use.allocated_bytes = found->second.allocated_bytes;
  use.reserved_bytes = found->second.reserved_bytes;
}

void MachineProbe::add_processes(std::int64_t now_ns, model::MachineSample& sample, std::vector<ListedUse>& uses) {
  std::ranges::stable_sort(uses, {}, &ListedUse::pid);
  for (ListedUse& one : uses) {
    const KnownProcess& known = processes_.look(one.pid, now_ns);
    if (sample.processes.empty() || sample.processes.back().pid != one.pid) sample.processes.push_back(known.reading);
    add_allocator(known, sample, one.use);
    sample.processes.back().uses.push_back(std::move(one.use));
  }
  processes_.forget_before(now_ns);
  std::erase_if(allocators_, [&](const auto& item) {
    const auto found = std::ranges::lower_bound(sample.processes, item.first.first, {}, &model::ProcessReading::pid);
    return found == sample.processes.end() || found->pid != item.first.first;
  });
}

model::MachineSample MachineProbe::read(std::int64_t now_ns, std::int64_t unix_ns) {
  model::MachineSample sample{.at_unix_ns = unix_ns};
  std::vector<ListedUse> uses;
  nvml_.read(now_ns, sample, uses);
  add_sessions(now_ns, sample, uses);
  add_processes(now_ns, sample, uses);
  if (now_ns >= next_host_ns_) {
    host_ = read_host(options_.host);
    next_host_ns_ = now_ns + kHostPaceNs;
  }
  sample.host = host_;
  return sample;
}

}  // namespace vramfit::probe
