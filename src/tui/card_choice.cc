#include "tui/card_choice.h"

#include <fmt/format.h>

#include <algorithm>

namespace vramfit::tui {

namespace {

// Shorter beginnings fit every card of the machine.
constexpr std::size_t kLeastOfUuid = 5;

bool is_meant(const model::CardReading& card, const model::MachineSample& sample, std::string_view word) {
  if (card.parent.empty() && label_of(card, sample) == word) return true;
  return word.size() >= kLeastOfUuid && card.uuid.starts_with(word);
}

}  // namespace

std::string label_of(const model::CardReading& card, const model::MachineSample& sample) {
  if (card.session.empty()) return card.index ? fmt::format("{}", *card.index) : "-";
  int number = 0;
  for (const auto& one : sample.cards) {
    if (&one == &card) break;
    number += one.session.empty() ? 0 : 1;
  }
  return fmt::format("v{}", number);
}

std::vector<std::string> card_labels(const model::MachineSample& sample) {
  std::vector<std::string> labels;
  for (const auto& card : sample.cards) {
    if (card.parent.empty()) labels.push_back(label_of(card, sample));
  }
  return labels;
}

bool is_chosen(const model::CardReading& card, const model::MachineSample& sample, const CardChoice& choice) {
  if (choice.empty()) return true;
  const auto is_named = [&](const model::CardReading& one) {
    return std::ranges::any_of(choice, [&](const std::string& word) { return is_meant(one, sample, word); });
  };
  if (is_named(card)) return true;
  const auto parent = std::ranges::find(sample.cards, card.parent, &model::CardReading::uuid);
  return !card.parent.empty() && parent != sample.cards.end() && is_named(*parent);
}

std::vector<std::string> missing_cards(const model::MachineSample& sample, const CardChoice& choice) {
  std::vector<std::string> missing;
  for (const std::string& word : choice) {
    if (std::ranges::none_of(sample.cards, [&](const auto& card) { return is_meant(card, sample, word); })) {
      missing.push_back(word);
    }
  }
  return missing;
}

void choose_digit(CardChoice& choice, std::string_view digit, const std::vector<std::string>& labels) {
  for (const std::string& label : {std::string(digit), fmt::format("v{}", digit)}) {
    if (std::ranges::find(labels, label) == labels.end()) continue;
    choice = {label};
    return;
  }
}

void step(CardChoice& choice, int by, const std::vector<std::string>& labels) {
  // All cards are the place between the last and the first.
  const auto places = std::ssize(labels) + 1;
  const auto found = choice.size() == 1 ? std::ranges::find(labels, choice.front()) : labels.end();
  const auto now = found == labels.end() ? 0 : found - labels.begin() + 1;
  const auto next = (now + by + places) % places;
  if (next == 0) {
    choice.clear();
  } else {
    choice = {labels[static_cast<std::size_t>(next - 1)]};
  }
}

}  // namespace vramfit::tui
