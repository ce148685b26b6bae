#include "virtual_gpu/ledger/visible.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <string_view>

namespace vramfit::ledger {
namespace {

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::string text_of(std::string_view prefix, std::span<const uint8_t, 16> uuid) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text(prefix);
  for (size_t i = 0; i < uuid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kDigits[uuid[i] >> 4];
    text += kDigits[uuid[i] & 15];
  }
  return text;
}

int find_by_uuid(const vf_ledger& ledger, std::string_view prefix) {
  int found = -1;
  for (uint32_t index = 0; index < ledger.card_count; ++index) {
    const vf_card& card = ledger.cards[index];
    if (!uuid_text(card).starts_with(prefix) && !whole_uuid_text(card).starts_with(prefix)) continue;
    if (found >= 0) return -1;  // a prefix must be unique
    found = static_cast<int>(index);
  }
  return found;
}

int find_card(const vf_ledger& ledger, std::string_view entry) {
  if (entry.starts_with("GPU-") || entry.starts_with("MIG-")) return find_by_uuid(ledger, entry);
  int index = -1;
  const auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), index);
  const bool whole = error == std::errc{} && end == entry.data() + entry.size();
  return whole && index >= 0 && index < static_cast<int>(ledger.card_count) ? index : -1;
}

}  // namespace

std::string uuid_text(const vf_card& card) { return text_of(is_mig_instance(card) ? "MIG-" : "GPU-", card.uuid); }

std::string whole_uuid_text(const vf_card& card) {
  if (!is_mig_instance(card)) return uuid_text(card);
  uint8_t uuid[16];
  std::ranges::copy(card.uuid, uuid);
  uuid[0] ^= 0xff;
  return text_of("GPU-", uuid);
}

std::vector<int> visible_cards(const vf_ledger& ledger, const char* variable) {
  std::vector<int> cards;
  if (variable == nullptr) {
    for (uint32_t index = 0; index < ledger.card_count; ++index) cards.push_back(static_cast<int>(index));
    return cards;
  }
  std::string_view rest = variable;
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    const int card = find_card(ledger, trim(rest.substr(0, comma)));
    if (card < 0) break;
    if (std::ranges::find(cards, card) != cards.end()) return {};
    cards.push_back(card);
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  }
  return cards;
}

}  // namespace vramfit::ledger
