#include "allocator/oom.h"

#include <gtest/gtest.h>

#include "allocator/testing/sizes.h"

namespace vramfit::allocator {
namespace {

OutOfMemory plain() {
  OutOfMemory oom;
  oom.requested_bytes = 30 * kMib + 1;
  oom.tried_bytes = 32 * kMib;
  oom.device_total = 1024 * kMib;
  oom.device_free = 12 * kMib;
  oom.allocated = 900 * kMib;
  oom.reserved = 1000 * kMib;
  return oom;
}

TEST(OutOfMemory, the_text_names_the_segment_and_not_the_tensor) {
  EXPECT_EQ(message_of(plain(), 3, {2, 12}),
            "CUDA out of memory. Tried to allocate 32.00 MiB. GPU 3 has a total capacity of 1024.00 MiB of which 12.00 "
            "MiB is free. Of the allocated memory 900.00 MiB is allocated by PyTorch, and 100.00 MiB is reserved by "
            "PyTorch but unallocated.");
}

TEST(OutOfMemory, of_2_1_misspells_a_word) {
  EXPECT_NE(message_of(plain(), 0, {2, 1}).find("total capacty of"), std::string::npos);
  EXPECT_NE(message_of(plain(), 0, {2, 2}).find("total capacity of"), std::string::npos);
}

TEST(OutOfMemory, a_limit_and_private_pools_are_told) {
  OutOfMemory oom = plain();
  oom.limit = 512 * kMib;
  oom.free_in_private_pools = 40 * kMib;
  const std::string text = message_of(oom, 0, {2, 12});
  EXPECT_NE(text.find("is free. 512.00 MiB allowed; Of the allocated memory 940.00 MiB is"), std::string::npos) << text;
  EXPECT_NE(text.find("with 40.00 MiB allocated in private pools (e.g., CUDA Graphs), and 60.00 MiB is reserved"),
            std::string::npos)
      << text;
}

TEST(OutOfMemory, a_rejection_names_what_was_requested) {
  OutOfMemory oom = plain();
  oom.is_rejection = true;
  EXPECT_TRUE(message_of(oom, 0, {2, 12}).ends_with("Requested size: 30.00 MiB"));
}

}  // namespace
}  // namespace vramfit::allocator
