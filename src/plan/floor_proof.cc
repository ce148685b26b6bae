#include "plan/floor_proof.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "plan/hardware.h"

namespace vramfit::plan {
namespace {

using model::Floor;

constexpr double kEightBitOfState = (2.0 + 2 * 4.0 / 256) / 8;  // as techniques/optimizer has it
constexpr double kNf4Share = (0.5 + 4.0 / 64) / 4;  // of float32: 4 bits, and a float32 scale for 64 (arXiv 2305.14314)
constexpr double kRoomBesideShards = 0.9;           // of a card: activations and buckets take the rest

// What an operator takes beside what lasts: the largest block that is nobody's.
Bytes find_transient(const model::Job& job) {
  const auto stream = job.streams.find("");
  Bytes most;
  if (stream == job.streams.end() || stream->second == nullptr) return most;
  for (const model::StreamBlock& block : stream->second->blocks) {
    if (block.owner == model::BlockOwner::kTemporaries || block.owner == model::BlockOwner::kWorkspaces) {
      most = std::max(most, Bytes(block.bytes));
    }
  }
  return most;
}

std::string describe_count(double count) {
  if (count >= 1e9) return fmt::format("{:.1f} billion", count / 1e9);
  if (count >= 1e6) return fmt::format("{:.0f} million", count / 1e6);
  return fmt::format("{:.0f}", count);
}

std::string describe_owner(const model::Job& job) {
  if (job.root_class.empty()) return "";
  const std::string class_name = job.root_class.substr(job.root_class.rfind('.') + 1);
  return fmt::format("{}, {} parameters", class_name, describe_count(static_cast<double>(job.parameters)));
}

void add(Floor& floor, std::string text, Bytes frees) {
  if (frees <= Bytes(0)) return;
  floor.remedies.push_back({std::move(text), frees, floor.sum() - frees});
}

void add_of_training(Floor& floor, const model::Job& job) {
  const bool has_moments = floor.optimizer > scaled(floor.weights, 1.5);
  const Bytes largest = job.optimizer ? job.optimizer->largest : Bytes(0);
  if (has_moments) {
    add(floor, "Adam's moments in 8 bits (bitsandbytes)", floor.optimizer - scaled(floor.optimizer, kEightBitOfState));
  }
  add(floor, "an optimizer without state (SGD)", floor.optimizer);
  add(floor, "gradients used and given back within backward", floor.gradients - largest);
  add(floor, "optimizer state and its step on the host (ZeRO-Offload)", floor.optimizer);
  add(floor, "weights and gradients in bf16: small updates round away", scaled(floor.weights + floor.gradients, 0.5));
  add(floor, "LoRA: the weights are frozen, small adapters are trained", floor.gradients + floor.optimizer);
  add(floor, "QLoRA: the same, the frozen weights in 4 bits",
      floor.gradients + floor.optimizer + floor.weights - scaled(floor.weights, kNf4Share));
}

void add_of_evaluation(Floor& floor) {
  add(floor, "weights in half precision", scaled(floor.weights, 0.5));
  add(floor, "weights in 8 bits", scaled(floor.weights, 0.75));
  add(floor, "weights in 4 bits, with a scale for each 64", floor.weights - scaled(floor.weights, kNf4Share));
}

// Each holds context, an operator's own memory, and its share of the rest.
model::FloorCards count_cards(const Floor& floor, const std::string& name, Bytes memory) {
  const Bytes room = scaled(memory, kRoomBesideShards) - floor.context - floor.transient;
  const Bytes shared = floor.weights + floor.moved + floor.gradients + floor.optimizer;
  if (room <= Bytes(0)) return {name, 0, floor.context + floor.transient};
  const double count = std::ceil(static_cast<double>(shared.count()) / static_cast<double>(room.count()));
  return {name, static_cast<std::int64_t>(count), floor.context + floor.transient + scaled(shared, 1 / count)};
}

void add_cards(Floor& floor, const Target& target, std::span<const model::Card> catalogue) {
  floor.cards.push_back(count_cards(floor, target.card.name, target.limit));
  const auto is_sold = [](const model::Card& card) {
    return card.price_factor > 0 && !card.is_integrated && card.category != "laptop";
  };
  const model::Card *smallest = nullptr, *largest = nullptr;
  for (const model::Card& card : catalogue) {
    if (!is_sold(card)) continue;
    if (largest == nullptr || card.memory > largest->memory) largest = &card;
    const bool holds = card.memory >= floor.sum() + floor.transient;
    if (holds && (smallest == nullptr || card.memory < smallest->memory)) smallest = &card;
  }
  if (smallest != nullptr) {
    floor.cards.push_back({smallest->name, 1, floor.sum() + floor.transient});
  } else if (largest != nullptr && largest->memory > target.limit) {
    floor.cards.push_back(count_cards(floor, largest->name, largest->memory));
  }
}

}  // namespace

Floor prove_floor(const model::Job& job, const Target& target, std::span<const model::Card> catalogue) {
  Floor floor = find_floor(job);
  floor.owner = describe_owner(job);
  floor.transient = find_transient(job);
  job.optimizer ? add_of_training(floor, job) : add_of_evaluation(floor);
  std::ranges::stable_sort(floor.remedies, {}, &model::FloorRemedy::frees);
  add_cards(floor, target, catalogue);
  return floor;
}

}  // namespace vramfit::plan
