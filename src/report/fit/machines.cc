#include <fmt/format.h>

#include "report/fit/parts.h"
#include "report/layout.h"

namespace vramfit::report {
namespace {

using model::FitResult;

// Shortens a card's name for a table that is short of room.

std::string without_maker(const std::string& name) {
  constexpr std::string_view kMaker = "NVIDIA ";
  return name.starts_with(kMaker) ? name.substr(kMaker.size()) : name;
}

std::string describe_cards(const model::FloorCards& cards) {
  if (cards.count == 0) {
    return fmt::format("no number of {}: each needs {} beside its share", cards.card, to_string(cards.each));
  }
  if (cards.count == 1) return fmt::format("1 {}, which would hold it whole", cards.card);
  return fmt::format("{} x {}, with {} on each", cards.count, cards.card, to_string(cards.each));
}

void add_remedies(std::string& text, const model::Floor& floor, base::Bytes limit) {
  std::vector<std::vector<std::string>> rows = {{"less by", "leaves", ""}};
  for (const model::FloorRemedy& remedy : floor.remedies) {
    const std::string_view enough = remedy.leaves <= limit ? " (below the card's memory)" : "";
    rows.push_back({to_string(remedy.frees), to_string(remedy.leaves), remedy.text + std::string(enough)});
  }
  if (rows.size() > 1) {
    text += "\nWhat would make that less, each alone (by arithmetic, not run)\n";
    text += table({{Align::kRight}, {Align::kRight}, {Align::kLeft, 56}}, rows);
  }
  std::string cards;
  for (const model::FloorCards& one : floor.cards) cards += (cards.empty() ? "" : "; or ") + describe_cards(one);
  if (!cards.empty()) {
    text += wrap("Cards that hold it with weights, gradients and state in shards (FSDP, ZeRO-3): " + cards +
                     ". Sharing the batch alone (DistributedDataParallel) leaves all of it on each card.",
                 kPageWidth, 2) +
            "\n";
  }
}

// Where nothing fits: what no batch, precision of the activations or recomputation makes smaller.

// What an edit would free; none of it was run.

// "2 x NVIDIA A100-PCIE-40GB  needs 12.1 of 39.4 GiB  x0.31  price 2.4"

// One line of it: the cheapest card for the job as it is.

}  // namespace

void add_floor(std::string& text, const FitResult& result) {
  if (!result.floor) return;
  const model::Floor& floor = *result.floor;
  std::vector<std::vector<std::string>> rows = {{to_string(floor.weights), "weights and buffers"}};
  if (floor.moved > base::Bytes(0)) rows.push_back({to_string(floor.moved), "what the optimizer moves beside them"});
  if (floor.gradients > base::Bytes(0)) rows.push_back({to_string(floor.gradients), "their gradients"});
  if (floor.optimizer > base::Bytes(0)) rows.push_back({to_string(floor.optimizer), "state of " + floor.name});
  rows.push_back({to_string(floor.context), "CUDA context and libraries"});
  rows.push_back({to_string(floor.sum()), fmt::format("in all, of {} on the card", to_string(result.limit))});
  if (floor.transient > base::Bytes(0)) {
    rows.push_back({to_string(floor.transient), "more while the operator runs that takes most beside"});
  }
  text += "\nWhat it holds whatever the batch is\n";
  if (!floor.owner.empty()) text += "  " + wrap(floor.owner, kPageWidth - 2, 2) + "\n";
  text += table({{Align::kRight}, {Align::kLeft, 60}}, rows);
  if (floor.sum() <= result.limit) return;
  add_remedies(text, floor, result.limit);
  text += wrap(
              "This alone is more than the card has: neither a smaller batch nor recomputation can help, only a "
              "smaller network, an optimizer that keeps less, weights of fewer bits, the host's memory, or other "
              "cards.",
              kPageWidth, 2) +
          "\n";
}

void add_advice(std::string& text, const FitResult& result) {
  if (result.advice.empty()) return;
  text += "\nWhat an edit would free (from this job's figures; not run)\n";
  for (const std::string& sentence : result.advice) text += "  - " + wrap(sentence, kPageWidth - 4, 4) + "\n";
}

void add_hardware(std::string& text, const FitResult& result) {
  if (result.hardware.empty()) return;
  std::vector<std::vector<std::string>> rows = {{"", "card", "needs", "of", "time", "price", ""}};
  for (const model::HardwareRow& row : result.hardware) {
    rows.push_back({row.with_plan ? "best plan" : "as it is",
                    (row.count > 1 ? fmt::format("{} x ", row.count) : "") + without_maker(row.name),
                    to_string(row.needs), to_string(row.memory), fmt::format("x{:.2f}", row.time_factor),
                    fmt::format("{:.2f}", row.price), row.proven ? "run" : ""});
  }
  text += "\nOther cards that it fits\n";
  text += table({{}, {Align::kLeft, 30}, {Align::kRight}, {Align::kRight}, {Align::kRight}, {Align::kRight}, {}}, rows);
  text += wrap(
              "needs, time (of a step, against now): from a model, but for cards where it was run. price: of all of "
              "them, an RTX 3090 being 1. Several cards share each batch (DistributedDataParallel).",
              kPageWidth, 2) +
          "\n";
}

void add_cheapest_card(std::string& text, const FitResult& result) {
  if (result.hardware.empty() || result.hardware.front().with_plan) return;
  const model::HardwareRow& row = result.hardware.front();
  text += "\n" +
          wrap(fmt::format("As it is, it would fit {}{}: {} of {}, by the model (-v shows more cards).",
                           row.count > 1 ? fmt::format("{} x ", row.count) : "", without_maker(row.name),
                           to_string(row.needs), to_string(row.memory)),
               kPageWidth, 0) +
          "\n";
}

}  // namespace vramfit::report
