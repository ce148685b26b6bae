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
int nvmlDeviceGetFieldValues(Handle, int, vramfit::nvml::FieldValue*);
int nvmlDeviceGetRemappedRows(Handle, unsigned*, unsigned*, unsigned*, unsigned*);
int nvmlDeviceGetInforomVersion(Handle, int, char*, unsigned);
int nvmlDeviceGetPowerUsage(Handle, unsigned*);
int nvmlDeviceGetEnforcedPowerLimit(Handle, unsigned*);
int nvmlDeviceGetPowerManagementDefaultLimit(Handle, unsigned*);
int nvmlDeviceGetMaxMigDeviceCount(Handle, unsigned*);
int nvmlDeviceGetMigDeviceHandleByIndex(Handle, unsigned, Handle*);
int nvmlDeviceIsMigDeviceHandle(Handle, unsigned*);
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Handle, Handle*);
int nvmlDeviceGetAttributes_v2(Handle, vramfit::nvml::DeviceAttributes*);
int nvmlDeviceGetUtilizationRates(Handle, vramfit::nvml::Utilization*);
int nvmlDeviceGetEncoderStats(Handle, unsigned*, unsigned*, unsigned*);
}

namespace {

namespace nvml = vramfit::nvml;
using vramfit::testing::CardEnvironment;

// Two cards for players, one of a data centre whose power nobody knows, and an instance of such a one.
vramfit::testing::SessionOptions some_cards() {
  vramfit::testing::SessionOptions options;
  options.cards.push_back(options.cards[0]);
  vf_card card = options.cards[0];
  std::strcpy(card.name, "NVIDIA A100-SXM4-80GB");
  card.compute_minor = 0;
  card.memory_bus_bits = 5120;
  card.power_limit_milliwatts = -1;
  options.cards.push_back(card);
  std::strcpy(card.whole_name, card.name);
  std::strcpy(card.name, "NVIDIA A100-SXM4-80GB MIG 2g.20gb");
  card.whole_bytes = 80ll << 30;
  card.total_bytes = 20ll << 30;
  card.whole_sm_count = 108;
  card.sm_count = 28;
  card.mig_slices = 2;
  options.cards.push_back(card);
  return options;
}

const auto* const kEnvironment = ::testing::AddGlobalTestEnvironment(new CardEnvironment(some_cards()));

class Nvml : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(nvmlInit_v2(), nvml::kSuccess);
    ASSERT_EQ(nvmlDeviceGetHandleByIndex_v2(1, &second_), nvml::kSuccess);
    ASSERT_EQ(nvmlDeviceGetHandleByIndex_v2(2, &a100_), nvml::kSuccess);
    ASSERT_EQ(nvmlDeviceGetHandleByIndex_v2(3, &divided_), nvml::kSuccess);
  }
  void TearDown() override { nvmlShutdown(); }
  Handle second_ = nullptr, a100_ = nullptr, divided_ = nullptr;
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

// What is asked by number is answered one by one: those that a board lacks are no failure of the others.
TEST_F(Nvml, fields_are_answered_each_by_itself) {
  constexpr uint32_t kNoSuchField = 9999;
  nvml::FieldValue fields[] = {{.field = nvml::kFieldPowerInstant},
                               {.field = nvml::kFieldRowsRemappedUncorrected},
                               {.field = kNoSuchField},
                               {.field = nvml::kFieldEnergy},
                               {.field = nvml::kFieldPcieReplays}};
  ASSERT_EQ(nvmlDeviceGetFieldValues(second_, 5, fields), nvml::kSuccess);
  EXPECT_EQ(fields[0].answer, nvml::kSuccess);
  unsigned milliwatts = 0;
  ASSERT_EQ(nvmlDeviceGetPowerUsage(second_, &milliwatts), nvml::kSuccess);
  EXPECT_EQ(fields[0].value, milliwatts);
  EXPECT_EQ(fields[0].type, nvml::kFieldUnsigned);
  EXPECT_EQ(fields[1].answer, nvml::kNotSupported) << "a board for players";
  EXPECT_EQ(fields[2].answer, nvml::kNotSupported);
  EXPECT_EQ(fields[3].answer, nvml::kSuccess);
  EXPECT_EQ(fields[3].type, nvml::kFieldUnsignedLongLong);
  EXPECT_EQ(fields[4].answer, nvml::kSuccess);
  EXPECT_GT(fields[4].at_us, 0);
  ASSERT_EQ(nvmlDeviceGetFieldValues(a100_, 2, fields), nvml::kSuccess);
  EXPECT_EQ(fields[1].answer, nvml::kSuccess);
  EXPECT_EQ(fields[1].value, 0u);
  EXPECT_EQ(nvmlDeviceGetFieldValues(second_, 1, nullptr), nvml::kInvalidArgument);
  EXPECT_EQ(nvmlDeviceGetFieldValues(second_, 0, fields), nvml::kInvalidArgument);
}

TEST_F(Nvml, power_limits_are_the_boards_own_or_unknown) {
  unsigned limit = 0;
  ASSERT_EQ(nvmlDeviceGetEnforcedPowerLimit(second_, &limit), nvml::kSuccess);
  EXPECT_EQ(limit, 350000u);
  ASSERT_EQ(nvmlDeviceGetPowerManagementDefaultLimit(second_, &limit), nvml::kSuccess);
  EXPECT_EQ(limit, 350000u);
  EXPECT_EQ(nvmlDeviceGetEnforcedPowerLimit(a100_, &limit), nvml::kNotSupported);
}

TEST_F(Nvml, memory_tells_of_its_health_as_its_board_can) {
  unsigned corrected = 7, uncorrected = 7, is_pending = 7, has_failed = 7;
  EXPECT_EQ(nvmlDeviceGetRemappedRows(second_, &corrected, &uncorrected, &is_pending, &has_failed),
            nvml::kNotSupported);
  ASSERT_EQ(nvmlDeviceGetRemappedRows(a100_, &corrected, &uncorrected, &is_pending, &has_failed), nvml::kSuccess);
  EXPECT_EQ(corrected + uncorrected + is_pending + has_failed, 0u);
  std::array<char, 16> version{};
  ASSERT_EQ(nvmlDeviceGetInforomVersion(a100_, 1, version.data(), version.size()), nvml::kSuccess);
  EXPECT_STREQ(version.data(), "6.16");
  EXPECT_EQ(nvmlDeviceGetInforomVersion(second_, 1, version.data(), version.size()), nvml::kNotSupported);
}

// A real driver shows it so: the whole card, and in it the instance, which alone CUDA sees.
TEST_F(Nvml, an_instance_has_a_handle_of_its_own) {
  unsigned mode = 0, pending = 0, most = 0, is_instance = 7;
  ASSERT_EQ(nvmlDeviceGetMigMode(divided_, &mode, &pending), nvml::kSuccess);
  EXPECT_EQ(mode, 1u);
  ASSERT_EQ(nvmlDeviceGetMaxMigDeviceCount(divided_, &most), nvml::kSuccess);
  EXPECT_EQ(most, 7u);
  Handle instance = nullptr, other = nullptr, whole = nullptr;
  ASSERT_EQ(nvmlDeviceGetMigDeviceHandleByIndex(divided_, 0, &instance), nvml::kSuccess);
  EXPECT_EQ(nvmlDeviceGetMigDeviceHandleByIndex(divided_, 1, &other), nvml::kNotFound);
  EXPECT_EQ(nvmlDeviceGetMigDeviceHandleByIndex(a100_, 0, &other), nvml::kNotSupported);
  ASSERT_EQ(nvmlDeviceIsMigDeviceHandle(instance, &is_instance), nvml::kSuccess);
  EXPECT_EQ(is_instance, 1u);
  ASSERT_EQ(nvmlDeviceIsMigDeviceHandle(divided_, &is_instance), nvml::kSuccess);
  EXPECT_EQ(is_instance, 0u);
  ASSERT_EQ(nvmlDeviceGetDeviceHandleFromMigDeviceHandle(instance, &whole), nvml::kSuccess);
  EXPECT_EQ(whole, divided_);
  std::array<char, 96> text{};
  ASSERT_EQ(nvmlDeviceGetName(divided_, text.data(), text.size()), nvml::kSuccess);
  EXPECT_STREQ(text.data(), "NVIDIA A100-SXM4-80GB");
  ASSERT_EQ(nvmlDeviceGetName(instance, text.data(), text.size()), nvml::kSuccess);
  EXPECT_STREQ(text.data(), "NVIDIA A100-SXM4-80GB MIG 2g.20gb");
  ASSERT_EQ(nvmlDeviceGetUUID(instance, text.data(), text.size()), nvml::kSuccess);
  EXPECT_EQ(std::string_view(text.data()).substr(0, 4), "MIG-");
  ASSERT_EQ(nvmlDeviceGetHandleByUUID(text.data(), &other), nvml::kSuccess);
  EXPECT_EQ(other, instance);
  ASSERT_EQ(nvmlDeviceGetUUID(divided_, text.data(), text.size()), nvml::kSuccess);
  EXPECT_EQ(std::string_view(text.data()).substr(0, 4), "GPU-");
  ASSERT_EQ(nvmlDeviceGetHandleByUUID(text.data(), &other), nvml::kSuccess);
  EXPECT_EQ(other, divided_);
  nvml::MemoryV2 memory{.version = nvml::kMemoryV2Version};
  ASSERT_EQ(nvmlDeviceGetMemoryInfo_v2(instance, &memory), nvml::kSuccess);
  EXPECT_EQ(memory.total, 20ull << 30);
  ASSERT_EQ(nvmlDeviceGetMemoryInfo_v2(divided_, &memory), nvml::kSuccess);
  EXPECT_EQ(memory.total, 80ull << 30);
  nvml::DeviceAttributes has{};
  ASSERT_EQ(nvmlDeviceGetAttributes_v2(instance, &has), nvml::kSuccess);
  EXPECT_EQ(has.multiprocessors, 28u);
  EXPECT_EQ(has.gpu_instance_slices, 2u);
  EXPECT_EQ(has.memory_mib, 20480u);
  nvml::Utilization rates{};
  EXPECT_EQ(nvmlDeviceGetUtilizationRates(divided_, &rates), nvml::kNotSupported);
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
  EXPECT_EQ(count, 4u);
  Handle none = nullptr;
  EXPECT_EQ(nvmlDeviceGetHandleByIndex_v2(count, &none), nvml::kInvalidArgument);
}

}  // namespace
