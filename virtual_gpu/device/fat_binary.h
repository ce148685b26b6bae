// What a fat binary holds: the images a compiler left of its kernels, and which of them a card runs.
#ifndef VRAMFIT_VIRTUAL_GPU_DEVICE_FAT_BINARY_H
#define VRAMFIT_VIRTUAL_GPU_DEVICE_FAT_BINARY_H

#include <vector>

#include "virtual_gpu/ledger/export.h"

namespace vramfit::device {

// One image inside a fat binary. `architecture` is 10 * major + minor, as in sm_86.
struct Image {
  bool is_ptx = false;
  unsigned architecture = 0;
  bool operator==(const Image&) const = default;
};

// Reads only the headers, in the layout that cuobjdump shows: a wrapper (magic 0x466243b1) points to a container (magic
// 0xba55ed50) of entries, each with its kind and architecture. `data` may be the wrapper, the container, an ELF cubin
// or PTX text. Empty: none of these.
VF_EXPORT std::vector<Image> images_of(const void* data);
// Machine code runs on its own major version from its minor on; PTX is compiled for any later card.
VF_EXPORT bool runs_on(const std::vector<Image>& images, int major, int minor);

// What a card of that capability runs of a fat binary, as function attributes tell it. CUB looks up its tuning by
// `ptx`, and refuses an architecture that it wasn't compiled for.
struct Build {
  unsigned ptx = 0;     // the virtual architecture it was compiled for
  unsigned binary = 0;  // the machine code's
  bool operator==(const Build&) const = default;
};
// The nearest machine code, else the newest PTX, compiled for the card; the card's own where nothing runs on it.
VF_EXPORT Build build_for(const std::vector<Image>& images, int major, int minor);

}  // namespace vramfit::device

#endif
