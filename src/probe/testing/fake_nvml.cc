#include "probe/testing/fake_nvml.h"

#include <algorithm>
#include <cstdio>

namespace vramfit::probe::testing {

FakeDriver& fake_driver() {
  static FakeDriver driver;
  return driver;
}

namespace {

nvml::Device handle_of(std::size_t index) { return reinterpret_cast<nvml::Device>(index + 1); }
FakeCard& card_of(nvml::Device device) { return fake_driver().cards[reinterpret_cast<std::size_t>(device) - 1]; }
int answer_of(nvml::Device device) { return fake_driver().loaded ? card_of(device).answer : int{nvml::kUninitialized}; }

int init() {
  if (!fake_driver().loaded) return nvml::kDriverNotLoaded;
  ++fake_driver().initialisations;
  return nvml::kSuccess;
}
int shutdown() { return nvml::kSuccess; }
int count(unsigned* out) {
  *out = static_cast<unsigned>(fake_driver().cards.size());
  return fake_driver().loaded ? nvml::kSuccess : nvml::kUninitialized;
}
int by_index(unsigned index, nvml::Device* out) {
  *out = handle_of(index);
  return answer_of(*out);
}
int uuid(nvml::Device device, char* out, unsigned room) {
  std::snprintf(out, room, "%s", card_of(device).uuid.c_str());
  return answer_of(device);
}
int name(nvml::Device device, char* out, unsigned room) {
  std::snprintf(out, room, "%s", card_of(device).name.c_str());
  return answer_of(device);
}
int memory_v2(nvml::Device device, nvml::MemoryV2* out) {
  const FakeCard& card = card_of(device);
  out->total = card.total;
  out->used = card.used;
  out->reserved = card.reserved;
  out->free = card.total - card.used - card.reserved;
  return answer_of(device);
}
int memory(nvml::Device device, nvml::Memory* out) {
  const FakeCard& card = card_of(device);
  *out = {card.total, card.total - card.used - card.reserved, card.used + card.reserved};
  return answer_of(device);
}
int utilization(nvml::Device device, nvml::Utilization*) {
  ++card_of(device).utilization_calls;
  return nvml::kNotSupported;
}

template <class Entry>
int list(nvml::Device device, unsigned* room, Entry* entries) {
  const FakeCard& card = card_of(device);
  if (card.process_answer != nvml::kSuccess) return card.process_answer;
  const unsigned had = *room;
  *room = static_cast<unsigned>(card.processes.size());
  if (had < *room) return nvml::kInsufficientSize;
  for (std::size_t i = 0; i < card.processes.size(); ++i) {
    entries[i].pid = card.processes[i].pid;
    entries[i].used_bytes = card.processes[i].used_bytes;
  }
  return answer_of(device);
}

}  // namespace

NvmlSource::Opener fake_opener(Age age) {
  return [age]() -> base::Result<nvml::Library> {
    ++fake_driver().openings;
    nvml::Library library{.path = "fake"};
    nvml::Calls& calls = library.calls;
    calls.init = init;
    calls.shutdown = shutdown;
    calls.count = count;
    calls.by_index = by_index;
    calls.uuid = uuid;
    calls.name = name;
    calls.memory = memory;
    calls.utilization = utilization;
    if (age == Age::kOld) {
      calls.compute.v1 = list<nvml::ProcessV1>;
    } else {
      calls.memory_v2 = memory_v2;
      calls.compute.v3 = list<nvml::ProcessV2>;
    }
    return library;
  };
}

}  // namespace vramfit::probe::testing
