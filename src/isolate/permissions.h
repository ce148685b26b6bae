// Bits of a file's mode that the layers look at.
#ifndef VRAMFIT_ISOLATE_PERMISSIONS_H
#define VRAMFIT_ISOLATE_PERMISSIONS_H

#include <sys/types.h>

namespace vramfit::isolate {

inline constexpr mode_t kPermissions = 07777, kWriteBits = 0222;

}  // namespace vramfit::isolate

#endif
