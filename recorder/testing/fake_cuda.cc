#include <cstring>

#include "fake_card.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

using vramfit::recorder::testing::FakeCard;

EXPORTED FakeCard* fake_card(int ordinal) {
  static FakeCard cards[vramfit::recorder::testing::kFakeCards];
  return &cards[ordinal];
}

EXPORTED int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return ordinal < vramfit::recorder::testing::kFakeCards ? 0 : 101;
}

EXPORTED int cuDeviceGetName(char* name, int bytes, int) {
  std::strncpy(name, "NVIDIA H200", static_cast<size_t>(bytes));
  return 0;
}

EXPORTED int cuDeviceTotalMem_v2(size_t* total, int device) {
  *total = static_cast<size_t>(fake_card(device)->cuda_total);
  return 0;
}

EXPORTED int cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
  for (int i = 0; i < 16; ++i) uuid[i] = static_cast<unsigned char>(0x10 + i);
  uuid[15] = static_cast<unsigned char>(device);
  return 0;
}
