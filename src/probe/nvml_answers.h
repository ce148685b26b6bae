// What NVML's answers and numbers mean for a reading.
#ifndef VRAMFIT_PROBE_NVML_ANSWERS_H
#define VRAMFIT_PROBE_NVML_ANSWERS_H

#include <cstdint>

#include "model/machine.h"

namespace vramfit::probe::nvml {

model::Absence absence_of(int answer);
model::Reading bytes_of(std::uint64_t bytes);

}  // namespace vramfit::probe::nvml

#endif
