// Takes the name of a card apart: "NVIDIA A100-SXM4 80 GB" is the model a100, the form sxm4 and 80 GB.
#ifndef VRAMFIT_DEVICES_CARD_NAMES_H
#define VRAMFIT_DEVICES_CARD_NAMES_H

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/letters.h"
#include "model/card.h"

namespace vramfit::devices {

using base::is_digit;

// Lower case, cut at punctuation, without makers' words; a series stands alone: "GeForce_RTX-3060Ti" is {rtx, 3060ti}.
std::vector<std::string> words_of(std::string_view spelling);

// The words as one: "NVIDIA GeForce RTX 3060" and "rtx3060" are both "rtx3060", "A100 40GiB" is "a10040gb".
std::string normalised(std::string_view spelling);

struct CardName {
  std::vector<std::string> model;  // {rtx, 3060ti}: without forms and sizes
  std::set<std::string> forms;     // pcie, sxm4, nvl, hbm3
  std::optional<int> size_gb;      // as the name says it: 24 of "RTX 3090 24GB"
  bool has_two_sizes = false;      // no card is called that
  std::string joined_model() const;
  std::string joined_model_without_generation() const;  // "rtx6000" of {rtx, 6000, ada, generation}
  friend bool operator==(const CardName&, const CardName&) = default;
};

CardName parse_card_name(std::string_view spelling);

// Whether a maker calls a card with this much memory so: 16 GB for a T4, which reports 14.6 GiB of them, never 8 or 32.
bool is_size_of(int size_gb, base::Bytes memory);

// All that one card is called.
struct CardNames {
  explicit CardNames(const model::Card& of);

  const model::Card* card;
  std::vector<std::string> exact;  // normalised key, name and aliases
  std::vector<CardName> names;     // the same, taken apart
  std::set<std::string> forms;     // of all of them
};

// How a typed name matches a card's names, the best first.
enum class NameMatch {
  kExact,      // it is one of its names
  kAgrees,     // it says model, form or size as the card has them: "RTX 3060 12GB", "A100 SXM"
  kModel,      // its model, without saying which form or size: "A100"
  kShortened,  // its model without the series or the generation: "3090", "RTX 8000", "6000 Ada"
  kNone,
};
NameMatch match_name(const CardNames& card, std::string_view typed);

}  // namespace vramfit::devices

#endif
