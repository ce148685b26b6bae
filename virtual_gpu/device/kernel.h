// Which kernels exist for which cards: fat binaries as the compiler registers them, and the check a launch makes.
#ifndef VRAMFIT_VIRTUAL_GPU_DEVICE_KERNEL_H
#define VRAMFIT_VIRTUAL_GPU_DEVICE_KERNEL_H

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include "virtual_gpu/device/error.h"
#include "virtual_gpu/device/kernel_arguments.h"
#include "virtual_gpu/device/work.h"

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

// A registered fat binary or a loaded module.
struct VF_EXPORT Module {
  const void* data = nullptr;
  std::atomic<int> is_read{0};
  std::vector<Image> images;  // once is_read
  bool is_extension = false;  // once is_read: in a library that is not PyTorch's own
};

VF_EXPORT Module* register_module(const void* data);
// The kernel behind a host function belongs to that module. Cheap: called for every kernel at load time.
VF_EXPORT void register_kernel(Module* module, const void* host_function, const char* name = nullptr);
// What the kernel's arguments are like (kernel_arguments.h), by the name it was registered with.
VF_EXPORT KernelForm form_of_kernel(const void* host_function);
VF_EXPORT Error check_module(Module& module, int card);
// kNone, or kNoKernelImage when the kernel's module has nothing for the card. Unregistered functions pass. The first
// kernel of an extension takes what its code holds on the card; kOutOfMemory: there is no room for it.
VF_EXPORT Error check_kernel(const void* host_function, int card);
VF_EXPORT Build build_of_kernel(const void* host_function, int card);
// What cudaLaunchKernel refuses whatever the kernel.
VF_EXPORT Error check_launch(const Dim& grid, const Dim& block, size_t shared_bytes, int card);

}  // namespace vramfit::device

#endif
