// The word, of those that are known, that somebody meant to write: "did you mean".
#ifndef VRAMFIT_BASE_NEAREST_WORD_H
#define VRAMFIT_BASE_NEAREST_WORD_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit::base {

// The known word that is least changed, if few letters are: "expandable_segment" -> "expandable_segments". Otherwise
// the only one that it is short for: "bf16" -> "bfloat16".
std::optional<std::string> nearest_word(std::string_view word, const std::vector<std::string>& known);

// "; did you mean run?", to stand behind what is wrong with a word. Empty where none is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

}  // namespace vramfit::base

#endif
