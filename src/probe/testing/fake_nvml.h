// An NVML of plain functions over one global state: what a driver does that no card here would do on request.
#ifndef VRAMFIT_PROBE_TESTING_FAKE_NVML_H
#define VRAMFIT_PROBE_TESTING_FAKE_NVML_H

#include <cstdint>
#include <string>
#include <vector>

#include "probe/nvml_source.h"

namespace vramfit::probe::testing {

struct FakeCard {
  std::string uuid = "GPU-a", name = "Fake";
  std::uint64_t total = 1000, used = 400, reserved = 50;
  int answer = nvml::kSuccess;  // of everything about it
  int process_answer = nvml::kSuccess;
  std::vector<nvml::ProcessV2> processes;
  int utilization_calls = 0;
};

struct FakeDriver {
  bool loaded = true;
  int initialisations = 0, openings = 0;
  std::vector<FakeCard> cards = {FakeCard()};
};
FakeDriver& fake_driver();

enum class Age { kNew, kOld };  // old: neither memory_v2 nor versions of the process list
// Opens the fake; a driver that is not loaded answers so to init.
NvmlSource::Opener fake_opener(Age age = Age::kNew);

}  // namespace vramfit::probe::testing

#endif
