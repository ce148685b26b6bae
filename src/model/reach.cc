#include "model/reach.h"

namespace vramfit::model {

bool is_settled(const Reach& reach) { return reach.whole; }

std::string_view words_for_fits(const Reach& reach) { return is_settled(reach) ? "fits" : "fits as far as it ran"; }

}  // namespace vramfit::model
