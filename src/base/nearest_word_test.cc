#include "base/nearest_word.h"

#include <gtest/gtest.h>

namespace vramfit::base {
namespace {

TEST(NearestWord, is_a_near_one) {
  const std::vector<std::string> known = {"backend", "expandable_segments"};
  EXPECT_EQ(nearest_word("bakend", known), "backend");
  EXPECT_EQ(nearest_word("expandable_segment", known), "expandable_segments");
  EXPECT_EQ(nearest_word("something_else", known), std::nullopt);
  EXPECT_EQ(nearest_word("", known), std::nullopt);
}

TEST(NearestWord, is_the_only_one_that_it_is_short_for) {
  EXPECT_EQ(nearest_word("bf16", {"float16", "bfloat16"}), "bfloat16");
  EXPECT_EQ(nearest_word("bt16", {"bright_16", "bit_of_16"}), std::nullopt);
  EXPECT_EQ(nearest_word("bf", {"bfloat16"}), std::nullopt);
}

TEST(NearestWord, of_a_word_that_is_too_long_to_be_misspelt_is_none) {
  EXPECT_EQ(nearest_word(std::string(100'000, 'a'), {std::string(100'000, 'a')}), std::nullopt);
}

TEST(NearestWord, two_letters_in_the_wrong_order_are_one_mistake) {
  EXPECT_EQ(nearest_word("rnu", {"fit", "run"}), "run");
  EXPECT_EQ(nearest_word("--gup", {"--gpu", "--steps"}), "--gpu");
  EXPECT_EQ(nearest_word("nur", {"run"}), std::nullopt);
}

TEST(NearestWord, what_is_near_a_names_first_words_means_it) {
  const std::vector<std::string> known = {"memory_bus_bits", "memory_bytes", "name"};
  EXPECT_EQ(nearest_word("memmory", known), "memory_bytes") << "the shortest";
  EXPECT_EQ(nearest_word("mem", known), std::nullopt);
  EXPECT_EQ(nearest_word("colour", known), std::nullopt);
}

TEST(NearestWord, is_said_behind_what_is_wrong) {
  EXPECT_EQ(did_you_mean("rnu", {"fit", "run"}), "; did you mean run?");
  EXPECT_EQ(did_you_mean("colour", {"fit", "run"}), "");
}

}  // namespace
}  // namespace vramfit::base
