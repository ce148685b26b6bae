// What the *_bufferSize functions of both interfaces answer with, and what is noted about it.
#ifndef VRAMFIT_VIRTUAL_GPU_CUSOLVER_ANSWER_H
#define VRAMFIT_VIRTUAL_GPU_CUSOLVER_ANSWER_H

#include <algorithm>
#include <climits>

#include "virtual_gpu/cusolver/handle.h"

namespace vramfit::cusolver {

inline constexpr const char* kMeasured =
    "cuSOLVER work areas as cuSOLVER 12.0.4 asked for on an H200; other releases, cards and complex numbers were not "
    "measured";
inline constexpr const char* kGuessed =
    "cuSOLVER work areas of sytrf, sytrs, gesvda and batched syevj follow the LAPACK routines they are modelled on";

// The typed interface counts elements of its type.
inline int answer_elements(Handle* handle, int* out, int64_t bytes, int64_t size, const char* assumed = kMeasured) {
  if (handle == nullptr) return kNotInitialized;
  if (out == nullptr) return kInvalidValue;
  *out = static_cast<int>(std::min<int64_t>((bytes + size - 1) / size, INT_MAX));
  ledger::note_assumed(assumed);
  return kSuccess;
}

// The 64-bit one counts bytes. Nothing is known about what it wants of the host.
inline int answer_bytes(Handle* handle, size_t* device, size_t* host, int64_t bytes, const char* assumed = kMeasured) {
  if (handle == nullptr) return kNotInitialized;
  if (device == nullptr || host == nullptr) return kInvalidValue;
  *device = static_cast<size_t>(bytes);
  *host = 0;
  ledger::note_assumed(assumed);
  return kSuccess;
}

inline int64_t multiprocessors() {
  const vf_card* card = ledger::card(ledger::current_card());
  return card != nullptr ? card->sm_count : 0;
}

}  // namespace vramfit::cusolver

#endif
