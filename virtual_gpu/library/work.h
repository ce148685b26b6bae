// What a library reports about the work it would have done: an entry in the recording and time on the stream.
#ifndef VRAMFIT_VIRTUAL_GPU_LIBRARY_WORK_H
#define VRAMFIT_VIRTUAL_GPU_LIBRARY_WORK_H

#include <algorithm>
#include <cstdint>

#include "virtual_gpu/device/device.h"
#include "virtual_gpu/ledger/ledger.h"
#include "vramfit/recording.h"

namespace vramfit::library {

struct Work {
  vf_record_kind kind = VF_RECORD_MATMUL;  // or VF_RECORD_CONVOLUTION
  vf_dtype type = VF_DTYPE_F32;
  int64_t multiply_adds = 0;
  int64_t bytes = 0;  // read and written once each
  // The sizes of each of `batch` products; a convolution's rows are output pixels, its batch is groups. 0: not known.
  int64_t rows = 0, columns = 0, batch = 1;
};

// Multiply-adds an SM finishes per clock, to the nearest power of two that most cards since Turing reach. Only the
// order of work on streams depends on it; the time model of src/devices reads the recording instead.
constexpr int64_t multiply_adds_per_clock(vf_dtype type) {
  switch (type) {
    case VF_DTYPE_F64:
      return 2;
    case VF_DTYPE_F16:
    case VF_DTYPE_BF16:
    case VF_DTYPE_TF32:
      return 256;
    case VF_DTYPE_F8:
    case VF_DTYPE_I8:
      return 512;
    default:
      return 64;
  }
}

inline int64_t duration_ns(const Work& work, const vf_card* card) {
  if (card == nullptr || card->sm_count <= 0 || card->sm_clock_khz <= 0) return device::kKernelNs;
  const double rate = static_cast<double>(card->sm_count) * static_cast<double>(card->sm_clock_khz) * 1e3 *
                      static_cast<double>(multiply_adds_per_clock(work.type));
  const double nanoseconds = static_cast<double>(work.multiply_adds) / rate * 1e9;
  return std::max(device::kKernelNs, static_cast<int64_t>(nanoseconds));
}

inline void run(void* stream, const Work& work, const char* function) {
  const int ordinal = ledger::current_card();
  ledger::emit(static_cast<uint8_t>(work.kind), ordinal, vf_shape_of(work.rows, work.columns, work.batch), work.type,
               work.multiply_adds, work.bytes, function);
  device::enqueue(stream, duration_ns(work, ledger::card(ordinal)));
}

// A kernel about which nothing more is worth saying.
inline void launch(void* stream) { device::enqueue(stream, device::kKernelNs); }

}  // namespace vramfit::library

#endif
