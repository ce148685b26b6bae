#include "model/reach.h"

#include <algorithm>

namespace vramfit::model {

bool is_settled(const Reach& reach) {
  if (reach.whole) return true;
  if (!reach.watched || !reach.open.empty()) return false;
  return std::ranges::all_of(reach.unreached, [](const Unreached& lines) { return lines.card == "no"; });
}

std::string_view words_for_fits(const Reach& reach) { return is_settled(reach) ? "fits" : "fits as far as it ran"; }

}  // namespace vramfit::model
