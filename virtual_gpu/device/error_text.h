// Names and texts of CUDA's error codes, as cudaGetErrorName, cudaGetErrorString and their driver twins print them.
#ifndef VRAMFIT_VIRTUAL_GPU_DEVICE_ERROR_TEXT_H
#define VRAMFIT_VIRTUAL_GPU_DEVICE_ERROR_TEXT_H

#include "virtual_gpu/ledger/export.h"

namespace vramfit::device {

struct ErrorText {
  int code;
  const char* runtime_name;  // null: the code is the driver's alone
  const char* driver_name;   // null: the code is the runtime's alone
  const char* text;
};

// Null: no such code.
VF_EXPORT const ErrorText* find_error_text(int code);

}  // namespace vramfit::device

#endif
