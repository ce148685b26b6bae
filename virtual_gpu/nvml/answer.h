// How a reading is answered: after what a script forces on the card, and what it scripts of the reading.
#ifndef VRAMFIT_VIRTUAL_GPU_NVML_ANSWER_H
#define VRAMFIT_VIRTUAL_GPU_NVML_ANSWER_H

#include "virtual_gpu/nvml/script.h"

namespace vramfit::nvml {

template <typename Value>
int tell(Handle handle, Value* out, Value value) {
  if (const int answer = forced_answer(handle); answer != kSuccess) return answer;
  if (out == nullptr || index_of(handle) < 0) return kInvalidArgument;
  *out = value;
  return kSuccess;
}

// The scripted reading, or the one of an idle card.
template <typename Value>
int tell_scripted(Handle handle, Value* out, std::string_view name, Value otherwise) {
  const auto reading = scripted_reading(handle, name);
  return tell(handle, out, reading ? static_cast<Value>(*reading) : otherwise);
}

// Only a script gives a card this reading.
template <typename Value>
int tell_if_scripted(Handle handle, Value* out, std::string_view name) {
  if (const int answer = forced_answer(handle); answer != kSuccess) return answer;
  const auto reading = scripted_reading(handle, name);
  return reading ? tell(handle, out, static_cast<Value>(*reading)) : int{kNotSupported};
}

// A handle that no reading can be asked of: why. kSuccess: it is a card's.
inline int why_not(Handle handle) {
  if (const int answer = forced_answer(handle); answer != kSuccess) return answer;
  return index_of(handle) < 0 ? int{kInvalidArgument} : int{kSuccess};
}

}  // namespace vramfit::nvml

#endif
