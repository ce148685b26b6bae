// How far two words are apart, as somebody types: letters added, left out, changed, and two neighbours swapped.
#ifndef VRAMFIT_BASE_EDIT_DISTANCE_H
#define VRAMFIT_BASE_EDIT_DISTANCE_H

#include <cstddef>
#include <string_view>

namespace vramfit::base {

// The restricted Damerau-Levenshtein distance ("optimal string alignment"): "rnu" is one step from "run".
std::size_t edit_distance(std::string_view left, std::string_view right);

}  // namespace vramfit::base

#endif
