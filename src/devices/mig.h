// A slice of a card: "h100:1g.10gb" is what one of seven users of an H100 has.
//
// NVIDIA's Multi-Instance GPU cuts a card into instances with memory, multiprocessors and a share of L2 of their own. A
// job in one sees a smaller card, under the name "NVIDIA H100 80GB HBM3 MIG 1g.10gb". The profiles of a card are in the
// catalogue.
#ifndef VRAMFIT_DEVICES_MIG_H
#define VRAMFIT_DEVICES_MIG_H

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "model/card.h"

namespace vramfit::devices {

struct SliceName {
  std::string_view card;  // "h100"
  std::string profile;    // "1g.10gb", in lower case, with "+me" and the like
};

// Parts "h100:1g.10gb", "H100 MIG 1g.10gb" and "h100-1g.10gb+me". None where no profile stands at the end.
std::optional<SliceName> find_slice_name(std::string_view name);

// Profiles with media engines ("1g.10gb+me") are as large as those without.
const model::MigProfile* find_profile(const model::Card& card, std::string_view profile);

// The card that a job in the instance sees. Memory and SMs are the profile's; L2 and bandwidth are shared out by slices
// of memory, rates and the context by SMs.
model::Card cut_slice(const model::Card& card, const model::MigProfile& profile, std::string_view called);

// A card without this profile: which it has.
base::Error no_such_profile(const model::Card& card, std::string_view profile);

}  // namespace vramfit::devices

#endif
