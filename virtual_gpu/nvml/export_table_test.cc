// What NVIDIA's own nvidia-smi asks beside the public calls; tests/programs/test_nvidia_smi.py runs it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string_view>
#include <vector>

#include "virtual_gpu/ledger/accounts.h"
#include "virtual_gpu/nvml/nvml.h"
#include "virtual_gpu/testing/card_fixture.h"

using vramfit::nvml::Handle;

extern "C" {
int nvmlInit_v2();
int nvmlShutdown();
int nvmlDeviceGetHandleByIndex_v2(unsigned, Handle*);
int nvmlInternalGetExportTable(const void**, const void*);
int nvmlEventSetCreate(void**);
int nvmlEventSetFree(void*);
int nvmlEventSetWait_v2(void*, void*, unsigned);
int nvmlDeviceGetSupportedEventTypes(Handle, unsigned long long*);
int nvmlDeviceRegisterEvents(Handle, unsigned long long, void*);
}

namespace {

namespace nvml = vramfit::nvml;

using vramfit::testing::CardEnvironment;

class NvmlInside : public ::testing::Test {
 protected:
  using Entry = int (*)(void*, void*, void*, void*);

  NvmlInside() {
    EXPECT_EQ(nvmlInit_v2(), nvml::kSuccess);
    EXPECT_EQ(nvmlDeviceGetHandleByIndex_v2(0, &card_), nvml::kSuccess);
  }
  ~NvmlInside() override { nvmlShutdown(); }

  // 6c3efec4-8fc9-4e6c-a327-ee696e12f7c4
  static Entry entry(std::size_t number) {
    constexpr std::array<unsigned char, 16> kId{0xc4, 0xfe, 0x3e, 0x6c, 0xc9, 0x8f, 0x6c, 0x4e,
                                                0xa3, 0x27, 0xee, 0x69, 0x6e, 0x12, 0xf7, 0xc4};
    const void* table = nullptr;
    EXPECT_EQ(nvmlInternalGetExportTable(&table, kId.data()), nvml::kSuccess);
    const auto* const words = static_cast<const std::uintptr_t*>(table);
    EXPECT_GT(words[0], number * sizeof(void*));
    return reinterpret_cast<Entry>(words[number]);
  }
  void* card() const { return const_cast<vf_card*>(card_); }

  Handle card_ = nullptr;
};

TEST_F(NvmlInside, another_table_is_refused) {
  const std::array<unsigned char, 16> other{};
  const void* table = nullptr;
  EXPECT_EQ(nvmlInternalGetExportTable(&table, other.data()), nvml::kNotSupported);
  EXPECT_EQ(nvmlInternalGetExportTable(&table, nullptr), nvml::kInvalidArgument);
}

TEST_F(NvmlInside, a_card_is_found_by_its_index) {
  void* found = nullptr;
  EXPECT_EQ(entry(81)(nullptr, &found, reinterpret_cast<void*>(0x22), nullptr), nvml::kSuccess);
  EXPECT_EQ(found, card());
}

TEST_F(NvmlInside, lists_of_processes_are_told_and_never_left_as_the_caller_made_them) {
  std::vector<std::byte> room(std::size_t{4} * 4128, std::byte{0xff});
  for (const std::size_t list : {213U, 214U, 215U}) {
    unsigned count = 4;
    EXPECT_EQ(entry(list)(card(), &count, room.data(), nullptr), nvml::kSuccess);
    EXPECT_EQ(count, 0U) << "nobody uses the card";
  }
}

TEST_F(NvmlInside, who_computes_is_in_the_first_list_with_a_name) {
  vf_process& user = CardEnvironment::ledger().processes[VF_MAX_PROCESSES - 1];
  user.pid = getpid();
  user.started = vramfit::ledger::start_time_of(getpid());
  user.used_bytes[0] = 1 << 20;
  std::vector<char> room(std::size_t{4} * 4128, 'x');
  unsigned count = 4;
  EXPECT_EQ(entry(213)(card(), &count, room.data(), nullptr), nvml::kSuccess);
  ASSERT_EQ(count, 1U);
  std::uint32_t pid = 0;
  std::uint64_t bytes = 0;
  std::memcpy(&pid, room.data(), sizeof pid);
  std::memcpy(&bytes, room.data() + 8, sizeof bytes);
  EXPECT_EQ(pid, static_cast<std::uint32_t>(getpid()));
  EXPECT_EQ(bytes, 1U << 20);
  EXPECT_NE(std::string_view(room.data() + 32).find("nvml"), std::string_view::npos) << room.data() + 32;
  EXPECT_EQ(entry(214)(card(), &(count = 4), room.data(), nullptr), nvml::kSuccess);
  EXPECT_EQ(count, 0U);
  user = {};
}

TEST_F(NvmlInside, of_other_entries_nothing_is_written) {
  unsigned untouched = 17;
  EXPECT_EQ(entry(230)(card(), &untouched, nullptr, nullptr), nvml::kNotSupported);
  EXPECT_EQ(untouched, 17U);
  EXPECT_EQ(entry(5)(nullptr, nullptr, nullptr, nullptr), nvml::kSuccess);
}

TEST_F(NvmlInside, who_waits_for_an_event_is_told_that_none_came) {
  void* set = nullptr;
  ASSERT_EQ(nvmlEventSetCreate(&set), nvml::kSuccess);
  unsigned long long types = 0;
  EXPECT_EQ(nvmlDeviceGetSupportedEventTypes(card_, &types), nvml::kSuccess);
  EXPECT_EQ(nvmlDeviceRegisterEvents(card_, types, set), nvml::kSuccess);
  EXPECT_EQ(nvmlDeviceRegisterEvents(card_, ~0ULL, set), nvml::kNotSupported);
  std::array<std::byte, 64> data{};
  EXPECT_EQ(nvmlEventSetWait_v2(set, data.data(), 1), nvml::kTimeout);
  EXPECT_EQ(nvmlEventSetFree(set), nvml::kSuccess);
  EXPECT_EQ(nvmlEventSetFree(set), nvml::kInvalidArgument);
  EXPECT_EQ(nvmlEventSetWait_v2(set, data.data(), 1), nvml::kInvalidArgument);
  EXPECT_EQ(nvmlDeviceRegisterEvents(card_, types, set), nvml::kInvalidArgument);
}

}  // namespace
