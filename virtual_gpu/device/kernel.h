// Which kernels exist for which cards: modules as the compiler registers them, and the check a launch makes.
#ifndef VRAMFIT_VIRTUAL_GPU_DEVICE_KERNEL_H
#define VRAMFIT_VIRTUAL_GPU_DEVICE_KERNEL_H

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include "virtual_gpu/device/error.h"
#include "virtual_gpu/device/fat_binary.h"
#include "virtual_gpu/device/kernel_arguments.h"
#include "virtual_gpu/device/work.h"

namespace vramfit::device {

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
VF_EXPORT bool is_kernel(const void* host_function);  // one that was registered
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
