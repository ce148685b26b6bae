// What an operation on the emulated device can answer. The numbers are CUDA's own, equal in the runtime (cudaError_t)
// and the driver (CUresult) since CUDA 10.1 wherever both have the code; cuda.h and driver_types.h list them.
#ifndef VRAMFIT_VIRTUAL_GPU_DEVICE_ERROR_H
#define VRAMFIT_VIRTUAL_GPU_DEVICE_ERROR_H

namespace vramfit::device {

enum class Error : int {
  kNone = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kInvalidConfiguration = 9,  // runtime only; the driver says kInvalidValue
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidContext = 201,
  kNoKernelImage = 209,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kPeerAlreadyEnabled = 704,
  kPeerNotEnabled = 705,
  kAlreadyRegistered = 712,
  kNotRegistered = 713,
  kNotPermitted = 800,
  kNotSupported = 801,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
  kCaptureMerge = 902,
  kCaptureUnmatched = 903,
  kCaptureUnjoined = 904,
  kCaptureIsolation = 905,
  kCaptureImplicit = 906,
  kCapturedEvent = 907,
  kCaptureWrongThread = 908,
  kGraphExecUpdateFailure = 910
};

}  // namespace vramfit::device

#endif
