#include "virtual_gpu/host/late_fill.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "virtual_gpu/testing/card_fixture.h"

namespace vramfit::host {
namespace {

using testing::in_child;
using testing::kMiB;

std::atomic<bool> has_begun{false}, may_end{false};

// Stands for an operator of PyTorch's: a reference to a tensor is one pointer, here to the memory itself.
void* write_sevens(void* self) {
  has_begun = true;
  while (!may_end) usleep(1000);
  std::memset(*static_cast<void**>(self), 7, kMiB);
  return self;
}

TEST(LateFill, a_child_that_was_forked_in_the_middle_of_one_sees_it_whole) {
  vramfit_host_enable(1);
  auto* block = static_cast<volatile char*>(allocate(kMiB));
  ASSERT_NE(block, nullptr);
  const auto address = reinterpret_cast<uint64_t>(block);
  const uint64_t reserved = vramfit_host_reserve(kMiB);
  vf_host_call call = {};
  call.signature = VF_HOST_SIGNATURE_UNARY;
  call.function = reinterpret_cast<void*>(write_sevens);
  call.self = reinterpret_cast<void*>(reserved);
  ASSERT_NE(vramfit_host_defer(address, reserved, &call, 1), 0u);
  std::thread looking([&] { vramfit_host_fill(address, 1); });
  while (!has_begun) usleep(1000);
  std::thread going_on([] {
    usleep(100'000);  // the fork is waiting by then, or has left a child that would wait for good
    may_end = true;
  });
  const int status = in_child([&] { return block[kMiB - 1]; });
  looking.join();
  going_on.join();
  EXPECT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(block[0], 7);
  vramfit_host_enable(0);
  release(reinterpret_cast<void*>(address));
}

}  // namespace
}  // namespace vramfit::host
