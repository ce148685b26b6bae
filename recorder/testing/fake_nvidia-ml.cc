#include <algorithm>
#include <cstring>
#include <string_view>

#include "fake_card.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace nvml = vramfit::abi::nvml;
using vramfit::recorder::testing::fake_card;
using vramfit::recorder::testing::FakeCard;

EXPORTED int nvmlInit_v2() { return nvml::kSuccess; }

EXPORTED int nvmlSystemGetDriverVersion(char* text, unsigned bytes) {
  std::strncpy(text, "580.159.04", bytes);
  return nvml::kSuccess;
}

EXPORTED int nvmlDeviceGetHandleByUUID(const char* uuid, void** handle) {
  constexpr std::string_view kBegin = "GPU-10111213-1415-1617-1819-1a1b1c1d1e0";
  const std::string_view asked(uuid);
  if (!asked.starts_with(kBegin) || asked.size() != kBegin.size() + 1) return nvml::kNotFound;
  *handle = fake_card(asked.back() - '0');
  return nvml::kSuccess;
}

EXPORTED int nvmlDeviceGetMemoryInfo_v2(const FakeCard* card, nvml::MemoryV2* memory) {
  if (!card->has_memory_v2) return nvml::kNotSupported;
  if (memory->version != nvml::kMemoryV2Version) return nvml::kArgumentVersionMismatch;
  memory->total = static_cast<uint64_t>(card->nvml_total);
  memory->reserved = static_cast<uint64_t>(card->nvml_reserved);
  memory->used = static_cast<uint64_t>(card->used);
  memory->free = static_cast<uint64_t>(card->nvml_total - card->nvml_reserved - card->used);
  return nvml::kSuccess;
}

// The first version counts the driver's reserve as used.
EXPORTED int nvmlDeviceGetMemoryInfo(const FakeCard* card, nvml::Memory* memory) {
  memory->total = static_cast<uint64_t>(card->nvml_total);
  memory->used = static_cast<uint64_t>(card->used + card->nvml_reserved);
  memory->free = memory->total - memory->used;
  return nvml::kSuccess;
}

EXPORTED int nvmlDeviceGetComputeRunningProcesses_v3(const FakeCard* card, unsigned* count, nvml::ProcessV2* entries) {
  if (card->process_answer != nvml::kSuccess) return card->process_answer;
  const unsigned room = *count;
  *count = static_cast<unsigned>(card->processes.size());
  if (room < *count) return nvml::kInsufficientSize;
  std::copy(card->processes.begin(), card->processes.end(), entries);
  return nvml::kSuccess;
}
