// NVML needs no context and names a card by index, bus or identifier.
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "virtual_gpu/nvml/nvml.h"
#include "virtual_gpu/testing/card_fixture.h"

using vramfit::nvml::Handle;

extern "C" {
int nvmlInit_v2();
int nvmlShutdown();
int nvmlDeviceGetCount_v2(unsigned*);
int nvmlDeviceGetHandleByIndex_v2(unsigned, Handle*);
int nvmlDeviceGetHandleByUUID(const char*, Handle*);
int nvmlDeviceGetHandleByPciBusId_v2(const char*, Handle*);
int nvmlDeviceGetUUID(Handle, char*, unsigned);
int nvmlDeviceGetName(Handle, char*, unsigned);
int nvmlDeviceGetPciInfo_v3(Handle, vramfit::nvml::PciInfo*);
int nvmlDeviceGetMemoryInfo_v2(Handle, vramfit::nvml::MemoryV2*);
int nvmlDeviceGetBrand(Handle, int*);
int nvmlDeviceGetNumGpuCores(Handle, unsigned*);
int nvmlDeviceGetNumFans(Handle, unsigned*);
int nvmlDeviceGetFanSpeed(Handle, unsigned*);
int nvmlDeviceGetTotalEnergyConsumption(Handle, unsigned long long*);
int nvmlDeviceGetMaxPcieLinkGeneration(Handle, unsigned*);
int nvmlDeviceGetMaxPcieLinkWidth(Handle, unsigned*);
int nvmlDeviceGetCurrPcieLinkGeneration(Handle, unsigned*);
int nvmlDeviceGetMigMode(Handle, unsigned*, unsigned*);
int nvmlDeviceGetSerial(Handle, char*, unsigned);
int nvmlDeviceGetEncoderUtilization(Handle, unsigned*, unsigned*);
int nvmlDeviceGetEncoderStats(Handle, unsigned*, unsigned*, unsigned*);
}

namespace {

namespace nvml = vramfit::nvml;
using vramfit::testing::CardEnvironment;

vramfit::testing::SessionOptions two_cards() {
  vramfit::testing::SessionOptions options;
  options.cards.push_back(options.cards[0]);
  return options;
}

const auto* const kEnvironment = ::testing::AddGlobalTestEnvironment(new CardEnvironment(two_cards()));

class Nvml : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(nvmlInit_v2(), nvml::kSuccess);
    ASSERT_EQ(nvmlDeviceGetHandleByIndex_v2(1, &second_), nvml::kSuccess);
  }
  void TearDown() override { nvmlShutdown(); }
  Handle second_ = nullptr;
};

TEST_F(Nvml, finds_a_card_by_its_identifier_and_its_bus) {
  std::array<char, 96> uuid{};
  ASSERT_EQ(nvmlDeviceGetUUID(second_, uuid.data(), uuid.size()), nvml::kSuccess);
  Handle found = nullptr;
  ASSERT_EQ(nvmlDeviceGetHandleByUUID(uuid.data(), &found), nvml::kSuccess);
  EXPECT_EQ(found, second_);
  nvml::PciInfo bus;
  ASSERT_EQ(nvmlDeviceGetPciInfo_v3(second_, &bus), nvml::kSuccess);
  ASSERT_EQ(nvmlDeviceGetHandleByPciBusId_v2(bus.bus_id, &found), nvml::kSuccess);
  EXPECT_EQ(found, second_);
  EXPECT_EQ(nvmlDeviceGetHandleByUUID("GPU-none", &found), nvml::kNotFound);
  EXPECT_EQ(found, nullptr);
}

TEST_F(Nvml, says_what_board_it_is) {
  int brand = 0;
  unsigned cores = 0, fans = 7;
  ASSERT_EQ(nvmlDeviceGetBrand(second_, &brand), nvml::kSuccess);
  ASSERT_EQ(nvmlDeviceGetNumGpuCores(second_, &cores), nvml::kSuccess);
  ASSERT_EQ(nvmlDeviceGetNumFans(second_, &fans), nvml::kSuccess);
  EXPECT_EQ(brand, 15);      // NVML_BRAND_GEFORCE_RTX
  EXPECT_EQ(cores, 10496u);  // an RTX 3090, by NVIDIA's data sheet
  EXPECT_EQ(fans, 1u);
  EXPECT_EQ(nvmlDeviceGetBrand(nullptr, &brand), nvml::kInvalidArgument);
}

// What nvidia-smi and dcgm-exporter ask of every board, and an idle RTX 3090 tells.
TEST_F(Nvml, monitors_get_an_answer_to_all_they_ask) {
  unsigned fan = 7, generation = 0, now = 0, lanes = 0, percent = 7, period = 0, sessions = 7, frames = 7, wait = 7;
  unsigned long long millijoules = 0;
  EXPECT_EQ(nvmlDeviceGetFanSpeed(second_, &fan), nvml::kSuccess);
  EXPECT_EQ(fan, 0u) << "it stands still";
  EXPECT_EQ(nvmlDeviceGetTotalEnergyConsumption(second_, &millijoules), nvml::kSuccess);
  EXPECT_GT(millijoules, 0u);
  EXPECT_EQ(nvmlDeviceGetMaxPcieLinkGeneration(second_, &generation), nvml::kSuccess);
  EXPECT_EQ(generation, 4u);
  EXPECT_EQ(nvmlDeviceGetCurrPcieLinkGeneration(second_, &now), nvml::kSuccess);
  EXPECT_EQ(now, generation);
  EXPECT_EQ(nvmlDeviceGetMaxPcieLinkWidth(second_, &lanes), nvml::kSuccess);
  EXPECT_EQ(lanes, 16u);
  EXPECT_EQ(nvmlDeviceGetEncoderUtilization(second_, &percent, &period), nvml::kSuccess);
  EXPECT_EQ(percent, 0u);
  EXPECT_EQ(nvmlDeviceGetEncoderStats(second_, &sessions, &frames, &wait), nvml::kSuccess);
  EXPECT_EQ(sessions + frames + wait, 0u);
}

// GeForce boards have neither, and say so.
TEST_F(Nvml, a_board_for_players_has_no_serial_number_and_no_slices) {
  std::array<char, 32> serial{};
  unsigned mode = 0, pending = 0;
  EXPECT_EQ(nvmlDeviceGetSerial(second_, serial.data(), serial.size()), nvml::kNotSupported);
  EXPECT_EQ(nvmlDeviceGetMigMode(second_, &mode, &pending), nvml::kNotSupported);
  EXPECT_EQ(nvmlDeviceGetFanSpeed(nullptr, &mode), nvml::kInvalidArgument);
  EXPECT_EQ(nvmlDeviceGetMaxPcieLinkWidth(nullptr, &mode), nvml::kInvalidArgument);
}

TEST_F(Nvml, a_text_that_does_not_fit_is_refused) {
  std::array<char, 4> room{};
  EXPECT_EQ(nvmlDeviceGetName(second_, room.data(), room.size()), nvml::kInsufficientSize);
}

TEST_F(Nvml, memory_wants_the_version_of_its_struct) {
  nvml::MemoryV2 memory = {};
  EXPECT_EQ(nvmlDeviceGetMemoryInfo_v2(second_, &memory), nvml::kArgumentVersionMismatch);
  memory.version = sizeof memory | (2u << 24);
  ASSERT_EQ(nvmlDeviceGetMemoryInfo_v2(second_, &memory), nvml::kSuccess);
  EXPECT_EQ(memory.total, static_cast<uint64_t>(CardEnvironment::ledger().cards[1].total_bytes));
  EXPECT_EQ(memory.used + memory.free, memory.total);
}

TEST_F(Nvml, a_card_beyond_the_last_does_not_exist) {
  unsigned count = 0;
  ASSERT_EQ(nvmlDeviceGetCount_v2(&count), nvml::kSuccess);
  EXPECT_EQ(count, 2u);
  Handle none = nullptr;
  EXPECT_EQ(nvmlDeviceGetHandleByIndex_v2(count, &none), nvml::kInvalidArgument);
}

}  // namespace
