// libcuda.so.1 and libnvidia-ml.so.1 of a machine with eight cards, for tests: what they answer is a test's to set.
#ifndef VRAMFIT_RECORDER_TESTING_FAKE_CARD_H
#define VRAMFIT_RECORDER_TESTING_FAKE_CARD_H

#include <cstdint>
#include <vector>

#include "abi/nvml.h"

namespace vramfit::recorder::testing {

// The figures of an H200 with driver 580.159.04, before anything uses it. NVML's total holds the driver's reserve,
// which CUDA's does not.
struct FakeCard {
  int64_t cuda_total = 150109880320, nvml_total = 150754820096, nvml_reserved = 644939776;
  int64_t used = 0;  // of what CUDA can give
  std::vector<abi::nvml::ProcessV2> processes;
  int process_answer = abi::nvml::kSuccess;
  bool has_memory_v2 = true;
};

inline constexpr int kFakeCards = 8;

// Exported by libcuda.so.1, imported by the other and by the test.
extern "C" FakeCard* fake_card(int ordinal);

}  // namespace vramfit::recorder::testing

#endif
