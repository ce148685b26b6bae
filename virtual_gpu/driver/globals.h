// The variables of a module: their names and sizes from the symbol table of its cubin, their memory when somebody asks.
#ifndef VRAMFIT_VIRTUAL_GPU_DRIVER_GLOBALS_H
#define VRAMFIT_VIRTUAL_GPU_DRIVER_GLOBALS_H

#include <map>
#include <string>

#include "virtual_gpu/driver/driver.h"

namespace vramfit::driver {

class Globals {
 public:
  // `image` is what a module is loaded from; only ELF has a symbol table that is read. It is not kept.
  explicit Globals(const void* image);
  Globals() = default;
  ~Globals();
  Globals(const Globals&) = delete;
  Globals& operator=(const Globals&) = delete;

  // Either output may be null, as in cuModuleGetGlobal. On the current card, of which a module has one.
  CUresult find(const char* name, CUdeviceptr* address, size_t* bytes);

 private:
  struct Variable {
    size_t bytes = 0;
    void* address = nullptr;
    uint64_t allocation = 0;  // its id: a context takes a library's variables along, and another may get the address
    [[nodiscard]] bool is_there() const;
  };
  std::map<std::string, Variable, std::less<>> variables_;
};

}  // namespace vramfit::driver

#endif
