#include "virtual_gpu/nvml/board.h"

#include <algorithm>

namespace vramfit::nvml {

bool is_laptop(const vf_card& card) {
  const std::string_view name = card_name(card);
  return name.contains("Laptop") || name.contains("Max-Q");
}

bool has_fans(const vf_card& card) {
  static constexpr std::string_view kWithFans[] = {"GeForce", "TITAN", "Quadro", "RTX", "NVIDIA T"};
  const std::string_view name = card_name(card);
  if (is_laptop(card) || card.is_integrated != 0) return false;
  return std::ranges::any_of(kWithFans, [name](std::string_view word) { return name.contains(word); });
}

bool is_of_data_centre(const vf_card& card) { return card.is_integrated == 0 && !has_fans(card) && !is_laptop(card); }

bool remaps_rows(const vf_card& card) {
  const std::string_view name = card_name(card);
  const bool is_for_players = name.contains("GeForce") || name.contains("TITAN");
  return capability(card) >= 80 && card.is_integrated == 0 && !is_for_players && !is_laptop(card);
}

bool retires_pages(const vf_card& card) { return capability(card) < 80 && is_of_data_centre(card); }

}  // namespace vramfit::nvml
