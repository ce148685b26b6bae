// What is known of the values in device memory, byte by byte: vramfit's Python follows operators with it
// (docs/decisions/0010-values-that-steer.md).
#ifndef VRAMFIT_VIRTUAL_GPU_DEVICE_VALUE_STATES_H
#define VRAMFIT_VIRTUAL_GPU_DEVICE_VALUE_STATES_H

#include <cstdint>
#include <map>
#include <mutex>

#include "virtual_gpu/device/written.h"
#include "vramfit/hook_functions.h"

namespace vramfit::device {

// The contract's numbers (vramfit/hook_functions.h), as a type of their own.
enum class ValueState : uint32_t {
  kUnknown = VF_VALUE_STATE_UNKNOWN,
  kOpen = VF_VALUE_STATE_OPEN,
  kAssumed = VF_VALUE_STATE_ASSUMED,
  kKnown = VF_VALUE_STATE_KNOWN
};

// Disjoint spans of addresses with a state each; what lies in none is unknown. Thread-safe.
class VF_EXPORT ValueStates {
 public:
  void set(Span span, ValueState state);
  // The least known state in `span`; an empty span is known.
  [[nodiscard]] ValueState least(Span span) const;
  // Gives `to` the states that the bytes at `from` have.
  void copy(uintptr_t to, Span from);

 private:
  struct Part {
    uintptr_t end = 0;
    ValueState state = ValueState::kUnknown;
  };
  void cut_out(Span span);

  mutable std::mutex lock_;
  std::map<uintptr_t, Part> parts_;  // by where they begin
};

}  // namespace vramfit::device

#endif
