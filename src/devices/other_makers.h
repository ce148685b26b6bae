// Cards of other makers than NVIDIA, by the names people type: a near name of NVIDIA's is no advice for them.
#ifndef VRAMFIT_DEVICES_OTHER_MAKERS_H
#define VRAMFIT_DEVICES_OTHER_MAKERS_H

#include <string_view>

namespace vramfit::devices {

// "AMD" of "mi300x", "Intel" of "Arc A770". Empty: no such name is known.
std::string_view other_maker_of(std::string_view spelling);

}  // namespace vramfit::devices

#endif
