// A library of a test that is unloaded after the virtual GPU's, and calls it then.
#include "virtual_gpu/testing/last_library.h"

namespace {

void (*at_unloading)() = nullptr;

__attribute__((destructor)) void unload() {
  if (at_unloading != nullptr) at_unloading();
}

}  // namespace

void vramfit_test_at_unloading(void (*call)()) { at_unloading = call; }
