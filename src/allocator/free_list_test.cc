#include "allocator/free_list.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <utility>

namespace vramfit::allocator {
namespace {

using Key = std::pair<std::uint64_t, std::uint64_t>;

Key key_at(const FreeList& list, const FreeList::Cursor& at) { return {list.at(at).size, list.at(at).order}; }

// A std::set is what PyTorch uses; the list must agree with it in everything, with many equal sizes and with few.
TEST(FreeList, agrees_with_an_ordered_set) {
  for (const std::uint64_t sizes : {2ULL, 40ULL, 100000ULL}) {
    FreeList list;
    std::set<Key> expected;
    std::mt19937_64 random(sizes);
    for (int step = 0; step < 20000; ++step) {
      const Key key{512 * (1 + random() % sizes), random() % 5000};
      if (random() % 5 < 3) {
        if (expected.insert(key).second) list.insert({key.first, key.second, 7});
      } else if (const auto found = expected.lower_bound(key); found != expected.end()) {
        list.erase(found->first, found->second);
        expected.erase(found);
      }
      const auto bound = expected.lower_bound(key);
      const FreeList::Cursor at = list.lower_bound(key.first, key.second);
      ASSERT_EQ(at.is_end(), bound == expected.end());
      if (!at.is_end()) {
        ASSERT_EQ(key_at(list, at), *bound);
      }
      const FreeList::Cursor before = list.previous(at);
      ASSERT_EQ(before.is_end(), bound == expected.begin());
      if (!before.is_end()) {
        ASSERT_EQ(key_at(list, before), *std::prev(bound));
      }
    }
    ASSERT_EQ(list.size(), expected.size());
    auto next = expected.begin();
    for (auto at = list.first(); !at.is_end(); at = list.next(at)) ASSERT_EQ(key_at(list, at), *next++);
    EXPECT_EQ(next, expected.end());
  }
}

// Blocks are cut and grow: sizes near the old one mostly stay where they are, others move.
TEST(FreeList, replaces_as_erasing_and_inserting_would) {
  for (const std::uint64_t sizes : {60ULL, 100000ULL}) {
    FreeList list;
    std::set<Key> expected;
    std::mt19937_64 random(sizes);
    while (expected.size() < 400) {
      const Key key{512 * (1 + random() % sizes), random() % 5000};
      if (expected.insert(key).second) list.insert({key.first, key.second, 7});
    }
    for (int step = 0; step < 20000; ++step) {
      auto old = expected.lower_bound({512 * (1 + random() % sizes), 0});
      if (old == expected.end()) old = expected.begin();
      const Key from = *old;
      const bool is_near = step % 3 != 0;
      const Key to{is_near ? from.first + 512 * (random() % 3) : 512 * (1 + random() % sizes), random() % 5000};
      if (to != from && expected.contains(to)) continue;
      expected.erase(old);
      expected.insert(to);
      list.replace(from.first, from.second, {to.first, to.second, 9});
      const FreeList::Cursor at = list.lower_bound(to.first, to.second);
      ASSERT_EQ(key_at(list, at), to);
      ASSERT_EQ(list.at(at).block, 9U);
    }
    ASSERT_EQ(list.size(), expected.size());
    auto next = expected.begin();
    for (auto at = list.first(); !at.is_end(); at = list.next(at)) ASSERT_EQ(key_at(list, at), *next++);
  }
}

}  // namespace
}  // namespace vramfit::allocator
