// Which cards a view shows: all of them, or those that somebody chose by their numbers.
#ifndef VRAMFIT_TUI_CARD_CHOICE_H
#define VRAMFIT_TUI_CARD_CHOICE_H

#include <string>
#include <string_view>
#include <vector>

#include "model/machine.h"

namespace vramfit::tui {

// Numbers as the view shows them ("0", "v0" of a virtual card) or the beginnings of UUIDs. None: all cards.
using CardChoice = std::vector<std::string>;

// The number of a card or slice. Virtual cards of all sessions are counted through, since each session has a card 0.
std::string label_of(const model::CardReading& card, const model::MachineSample& sample);
// The numbers of all cards, without slices, in the order in which they are shown.
std::vector<std::string> card_labels(const model::MachineSample& sample);

// A slice is shown with its card, and alone where its own UUID was given.
bool is_chosen(const model::CardReading& card, const model::MachineSample& sample, const CardChoice& choice);
// What of the choice is no card of this machine.
std::vector<std::string> missing_cards(const model::MachineSample& sample, const CardChoice& choice);

// A key: a digit is that card, or the virtual one of that number where there is no other. What is no card changes
// nothing.
void choose_digit(CardChoice& choice, std::string_view digit, const std::vector<std::string>& labels);
// From all cards to the first (`by` 1) or the last (-1), from there to the next, and behind the end to all again.
void step(CardChoice& choice, int by, const std::vector<std::string>& labels);

}  // namespace vramfit::tui

#endif
