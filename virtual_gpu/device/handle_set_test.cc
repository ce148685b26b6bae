#include "virtual_gpu/device/handle_set.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace vramfit::device {
namespace {

TEST(HandleSet, knows_what_was_put_into_it_and_nothing_else) {
  HandleSet set;
  std::vector<int> objects(1000);
  EXPECT_FALSE(set.contains(nullptr));
  for (std::size_t i = 0; i < objects.size(); i += 2) set.insert(&objects[i]);
  set.insert(&objects[0]);
  for (std::size_t i = 0; i < objects.size(); ++i) EXPECT_EQ(set.contains(&objects[i]), i % 2 == 0) << i;
  EXPECT_FALSE(set.contains(reinterpret_cast<void*>(0xdeadbee0)));
}

TEST(HandleSet, is_read_while_it_grows) {
  HandleSet set;
  std::vector<int> objects(20000);
  std::atomic<std::size_t> inserted{0};
  std::thread reader([&] {
    for (std::size_t seen = 0; seen < objects.size(); seen = inserted.load(std::memory_order_acquire)) {
      const bool is_known = seen == 0 || (set.contains(&objects[seen - 1]) && set.contains(&objects[seen / 2]));
      EXPECT_TRUE(is_known) << seen;
    }
  });
  for (int& object : objects) {
    set.insert(&object);
    inserted.fetch_add(1, std::memory_order_release);
  }
  reader.join();
}

}  // namespace
}  // namespace vramfit::device
