// Code that was loaded and its functions, which the files of modules, functions and launches share.
#ifndef VRAMFIT_VIRTUAL_GPU_DRIVER_CODE_H
#define VRAMFIT_VIRTUAL_GPU_DRIVER_CODE_H

#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "virtual_gpu/device/kernel.h"
#include "virtual_gpu/driver/driver.h"
#include "virtual_gpu/driver/globals.h"

namespace vramfit::driver {

// What lies behind CUmodule and CUlibrary alike.
struct Code {
  std::vector<device::Image> images;
  std::set<void*> functions;
  Globals globals;
  CUcontext context = nullptr;  // a module's, which goes with it; libraries are of none
};

// What lies behind CUfunction and CUkernel alike.
struct Function {
  Code* code = nullptr;
  std::string name;
  int shared_bytes_limit = 48 * 1024;
};

struct Loaded {
  std::mutex lock;
  std::set<Code*> codes;
  std::set<Function*> functions;
};

Loaded& loaded();
void unload_modules_of(CUcontext context);
// The lock of what is loaded is held, and the code is taken out.
void free_code(Code* code);
// Whether a handle is one of a loaded function, or of a kernel that the runtime registered (cudaGetFuncBySymbol).
bool is_function(const void* handle);

}  // namespace vramfit::driver

#endif
