#include "compare/sequence_diff.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace vramfit::compare {
namespace {

using Sequence = std::vector<std::uint64_t>;

// The textbook's table, slow and obvious.
std::size_t longest(const Sequence& a, const Sequence& b) {
  std::vector<std::vector<std::size_t>> length(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      length[i][j] = a[i - 1] == b[j - 1] ? length[i - 1][j - 1] + 1 : std::max(length[i - 1][j], length[i][j - 1]);
    }
  }
  return length[a.size()][b.size()];
}

void expect_valid(const std::vector<Match>& matches, const Sequence& a, const Sequence& b) {
  for (std::size_t i = 0; i < matches.size(); ++i) {
    ASSERT_LT(matches[i].first, a.size());
    ASSERT_LT(matches[i].second, b.size());
    ASSERT_EQ(a[matches[i].first], b[matches[i].second]);
    if (i == 0) continue;
    ASSERT_LT(matches[i - 1].first, matches[i].first);
    ASSERT_LT(matches[i - 1].second, matches[i].second);
  }
}

Sequence random_sequence(std::mt19937_64& random, std::size_t size, std::uint64_t words) {
  Sequence sequence(size);
  for (auto& word : sequence) word = random() % words;
  return sequence;
}

TEST(SequenceDiff, of_small_sequences_it_finds_as_much_as_the_textbooks_table) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 2000; ++round) {
    const Sequence a = random_sequence(random, random() % 14, 1 + random() % 4);
    const Sequence b = random_sequence(random, random() % 14, 1 + random() % 4);
    const auto matches = common_subsequence(a, b);
    expect_valid(matches, a, b);
    ASSERT_EQ(matches.size(), longest(a, b)) << "round " << round;
  }
}

TEST(SequenceDiff, with_little_effort_the_matches_are_still_right) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 300; ++round) {
    const Sequence a = random_sequence(random, 200, 50), b = random_sequence(random, 150, 50);
    expect_valid(common_subsequence(a, b, 4), a, b);
  }
}

TEST(SequenceDiff, events_put_in_and_left_out_are_all_found) {
  std::mt19937_64 random(3);
  const Sequence a = random_sequence(random, 20000, 300);
  Sequence b;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (i % 100 == 7) b.push_back(1'000'000 + i);
    if (i % 500 != 9) b.push_back(a[i]);
  }
  const auto matches = common_subsequence(a, b);
  expect_valid(matches, a, b);
  EXPECT_EQ(matches.size(), a.size() - a.size() / 500);
}

// Work that grew with the square of their number would not end within the test program's limit.
TEST(SequenceDiff, half_a_million_events_without_anything_in_common_have_none) {
  Sequence a(500'000), b(500'000);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = 2 * i, b[i] = 2 * i + 1;
  EXPECT_TRUE(common_subsequence(a, b).empty());
}

}  // namespace
}  // namespace vramfit::compare
