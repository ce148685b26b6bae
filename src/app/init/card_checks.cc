#include <fmt/format.h>

#include <algorithm>

#include "app/init/checks.h"

namespace vramfit::app {

using base::Bytes;
using model::CardReading;
using model::EnvironmentCheck;
using model::EnvironmentState;

namespace {

std::string title_of(const CardReading& card) {
  return fmt::format("card {} ({})", card.index ? fmt::format("{}", *card.index) : "?", card.name);
}

void add_cards(const InitFacts& facts, std::vector<EnvironmentCheck>& checks) {
  for (const CardReading& card : facts.machine.cards) {
    const std::string title = title_of(card);
    if (!card.problem.empty()) {
      checks.push_back({"card", EnvironmentState::kProblem, fmt::format("{}: {}", title, card.problem),
                        "Jobs on it will fail.", "sudo nvidia-smi --gpu-reset -i N, or a restart of the machine"});
      continue;
    }
    if (!card.parent.empty()) continue;
    if (card.mig_mode.value_or(0) == 1) {
      const bool has_slices =
          std::ranges::any_of(facts.machine.cards, [&](const CardReading& slice) { return slice.parent == card.uuid; });
      checks.push_back(
          {"mig", has_slices ? EnvironmentState::kWarning : EnvironmentState::kProblem,
           fmt::format("{} is divided by MIG{}", title, has_slices ? "" : ", and has no slices"),
           has_slices ? "A job gets one slice, named by its UUID, and only its memory." : "No job can use it.",
           has_slices ? "CUDA_VISIBLE_DEVICES=MIG-...; nvidia-smi -L lists them"
                      : "sudo nvidia-smi mig -cgi 9 -C, or sudo nvidia-smi -mig 0"});
    }
    if (card.persistence_mode && *card.persistence_mode == 0) {
      checks.push_back({"persistence", EnvironmentState::kWarning, fmt::format("{}: persistence mode is off", title),
                        "Without a process on it the driver lets go of the card, and the next start takes seconds.",
                        "sudo nvidia-smi -pm 1"});
    }
    if (card.ecc_uncorrected.value_or(0) > 0) {
      checks.push_back({"ecc", EnvironmentState::kWarning,
                        fmt::format("{}: {} uncorrected memory errors", title, *card.ecc_uncorrected),
                        "Results may be wrong; rows may be waiting for a reset to be replaced.",
                        "nvidia-smi -q -d ECC,ROW_REMAPPER; then a reset"});
    }
  }
}

// Who else is on the cards.
void add_others(const InitFacts& facts, std::vector<EnvironmentCheck>& checks) {
  constexpr Bytes kWorthSaying = Bytes::mib(64);
  bool all_free = true;
  for (const CardReading& card : facts.machine.cards) {
    std::int64_t held = 0, count = 0;
    std::string largest;
    for (const auto& process : facts.machine.processes) {
      for (const auto& use : process.uses) {
        if (use.card != card.uuid) continue;
        ++count;
        held += use.used_bytes.value_or(0);
        if (largest.empty()) largest = fmt::format("pid {} {}", process.pid, process.name);
      }
    }
    const std::int64_t unexplained = card.unexplained_bytes.value_or(0);
    if (count > 0) {
      all_free = false;
      checks.push_back(
          {"others", EnvironmentState::kWarning,
           fmt::format("{}: {} other process{} hold{} {} ({}{})", title_of(card), count, count == 1 ? "" : "es",
                       count == 1 ? "s" : "", to_string(Bytes(held)), largest, count == 1 ? "" : ", ..."),
           "That much less is there for a job.", "vramfit watch; vramfit run --occupied for what it means"});
    } else if (unexplained > kWorthSaying.count()) {
      all_free = false;
      checks.push_back({"others", EnvironmentState::kWarning,
                        fmt::format("{}: {} used by no process that the driver shows", title_of(card),
                                    to_string(Bytes(unexplained))),
                        "Processes of other containers, or what a dead job left.", "sudo fuser -v /dev/nvidia*"});
    }
  }
  if (all_free) checks.push_back(good("others", "no other process is on the cards"));
}

}  // namespace

std::vector<EnvironmentCheck> check_cards(const InitFacts& facts) {
  if (facts.machine.cards.empty()) {
    return {unknown("cards", "kernels, MIG, persistence mode and other processes: there is no card to look at")};
  }
  std::vector<EnvironmentCheck> checks;
  add_cards(facts, checks);
  add_others(facts, checks);
  return checks;
}

}  // namespace vramfit::app
