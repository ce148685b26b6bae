#include "base/error.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace vramfit::base {
namespace {

TEST(Error, text_names_what_where_and_remedy_on_lines_of_their_own) {
  const Error error{ErrorCode::kNotFound, "no card is called \"gtx 9999\"", "--gpu", "vramfit gpus"};
  EXPECT_EQ(to_string(error), "no card is called \"gtx 9999\"\n  where: --gpu\n  try:   vramfit gpus");
}

TEST(Error, empty_parts_are_left_out) {
  EXPECT_EQ(to_string(Error{ErrorCode::kSystem, "it broke", "", ""}), "it broke");
}

TEST(Error, the_systems_own_words_are_kept) {
  errno = ENOENT;
  const Result<int> result = fail_errno("cannot open the file", "x.json");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().what, "cannot open the file: No such file or directory");
  EXPECT_EQ(result.error().where, "x.json");
}

}  // namespace
}  // namespace vramfit::base
