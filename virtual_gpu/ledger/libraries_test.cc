// What a process's first kernel and its libraries take of a card.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "virtual_gpu/device/device.h"
#include "virtual_gpu/device/stream.h"
#include "virtual_gpu/ledger/ledger.h"
#include "virtual_gpu/testing/card_fixture.h"

namespace vramfit::ledger {
namespace {

using testing::CardEnvironment;
using testing::in_child;
using testing::kMiB;

constexpr int64_t kContext = 100 * kMiB, kKernels = 40 * kMiB, kLibrary = 11 * kMiB;

testing::SessionOptions two_cards() {
  testing::SessionOptions options;
  options.cards = std::vector<vf_card>(2, testing::example_card());
  for (vf_card& card : options.cards) {
    card.context_bytes = kContext;
    card.kernel_bytes = kKernels;
    card.library_bytes = kLibrary;
  }
  return options;
}

const auto* const kEnvironment = ::testing::AddGlobalTestEnvironment(new CardEnvironment(two_cards()));

// The bytes held of the card, as it tells them after what earlier processes left was given back.
int64_t held(int card) {
  const MemoryInfo info = memory_info(card);
  return info.total_bytes - info.free_bytes;
}

// A process that has touched no card yet: each test has its own.
void in_fresh_process(const std::function<void()>& body) {
  EXPECT_EQ(in_child([&] {
              body();
              return ::testing::Test::HasFailure() ? 1 : 0;
            }),
            0);
}

TEST(Libraries, the_first_kernel_takes_its_memory_and_the_next_ones_none) {
  in_fresh_process([] {
    ASSERT_TRUE(touch(0)) << why_unusable();
    EXPECT_EQ(held(0), kContext) << "a context alone runs nothing";
    device::enqueue(nullptr, device::kKernelNs);
    EXPECT_EQ(held(0), kContext + kKernels);
    device::enqueue(nullptr, device::kKernelNs);
    EXPECT_EQ(held(0), kContext + kKernels);
  });
}

TEST(Libraries, each_library_is_charged_once_for_each_card) {
  in_fresh_process([] {
    EXPECT_TRUE(charge_use(0, Library::kBlas));
    EXPECT_TRUE(charge_use(0, Library::kBlas));
    EXPECT_EQ(held(0), kContext + kLibrary);
    EXPECT_TRUE(charge_use(0, Library::kCudnn));
    EXPECT_EQ(held(0), kContext + 2 * kLibrary);
    EXPECT_EQ(held(1), 0);
    EXPECT_TRUE(charge_use(1, Library::kBlas));
    EXPECT_EQ(held(1), kContext + kLibrary);
  });
}

TEST(Libraries, what_they_hold_is_named_beside_the_context) {
  in_fresh_process([] {
    EXPECT_TRUE(charge_kernels(0) && charge_use(0, Library::kExtension));
    for (const vf_process& process : observe()->processes) {
      if (process.pid != getpid()) continue;
      EXPECT_EQ(process.library_bytes[0], kKernels + kLibrary);
    }
  });
}

//  card  |context|others ...............................| a kernel needs more than is left
TEST(Libraries, a_card_without_room_for_the_first_kernel_refuses_the_launch_and_not_the_next_try) {
  in_fresh_process([] {
    ASSERT_TRUE(touch(0)) << why_unusable();
    const int64_t rest = memory_info(0).free_bytes - kKernels / 2;
    ASSERT_TRUE(take(0, rest));
    device::Work work;
    EXPECT_EQ(device::submit(nullptr, work), device::Error::kOutOfMemory);
    give_back(0, rest);
    EXPECT_EQ(device::submit(nullptr, work), device::Error::kNone);
    EXPECT_EQ(held(0), kContext + kKernels);
  });
}

TEST(Libraries, an_unknown_card_has_no_libraries) {
  in_fresh_process([] {
    EXPECT_FALSE(charge_kernels(7));
    EXPECT_FALSE(charge_use(-1, Library::kBlas));
  });
}

}  // namespace
}  // namespace vramfit::ledger
