#include "facts/card_facts.h"

#include <vramfit/ledger.h>

#include <algorithm>

#include "liveness/peaks.h"

namespace vramfit::facts {

using base::Bytes;
using liveness::CardHistory;

namespace {

void add_history(const CardHistory& history, CardFacts& card) {
  card.has_history = true;
  card.context = history.overheads.context;
  card.libraries = history.overheads.libraries;
  card.peaks = find_peaks(history);
  card.phases = find_phase_peaks(history);
  card.fullest = find_peak_event(history);
  if (!history.ooms.empty()) card.last_out_of_memory = history.ooms.back().at;
}

void add_accounting(const vf_card& described, const vf_card_use& use, CardFacts& card) {
  AccountedUse accounted{Bytes(described.occupied_bytes), Bytes(use.peak_used_bytes), use.refused, {}};
  if (use.refused > 0 && use.smallest_free_bytes_at_refusal >= 0) {
    accounted.shortfall = Bytes(use.largest_refused_bytes) - Bytes(use.smallest_free_bytes_at_refusal);
  }
  card.peaks.device = accounted.peak;
  card.accounted = accounted;
}

// What a real card tells of itself. What each process held beside PyTorch's memory is among its events.
void add_real(std::span<const Process> processes, const CardHistory* history, CardFacts& card) {
  card.tells_own = true;
  for (const Process& process : processes) {
    for (const RealCard& told : process.real_cards) {
      if (told.device != card.device) continue;
      card.tells_own &= told.tells_own;
      if (std::ranges::find(card.real, told.uuid, &RealCard::uuid) == card.real.end()) card.real.push_back(told);
    }
  }
  card.tells_own &= !card.real.empty();
  if (!card.tells_own || history == nullptr || card.fullest == liveness::kNever) return;
  const liveness::Level& level = history->levels[find_fullest_with(*history, card.fullest)];
  card.others = std::max(Bytes(0), rest_of(level));
}

int count_contexts(std::span<const Process> processes, int device) {
  const auto holds = [&](const CardUse& use) { return use.device == device && use.has_context; };
  return static_cast<int>(std::ranges::count_if(
      processes, [&](const Process& process) { return std::ranges::any_of(process.cards, holds); }));
}

}  // namespace

std::vector<CardFacts> read_cards(std::span<const CardHistory> histories, std::span<const Process> processes,
                                  const vf_ledger* ledger) {
  std::vector<int> devices;
  for (const CardHistory& history : histories) devices.push_back(history.device);
  if (ledger != nullptr) {
    devices.clear();
    for (std::uint32_t i = 0; i < ledger->card_count; ++i) devices.push_back(static_cast<int>(i));
  }
  std::vector<CardFacts> cards;
  for (const int device : devices) {
    CardFacts& card = cards.emplace_back();
    card.device = device;
    card.contexts = count_contexts(processes, device);
    if (const CardHistory* history = find_history(histories, device)) add_history(*history, card);
    if (ledger != nullptr) {
      add_accounting(ledger->cards[device], ledger->use[device], card);
    } else {
      add_real(processes, find_history(histories, device), card);
    }
  }
  return cards;
}

}  // namespace vramfit::facts
