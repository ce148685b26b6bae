#include "model/reach.h"

#include <gtest/gtest.h>

namespace vramfit::model {
namespace {

Reach watched() {
  Reach reach;
  reach.watched = true;
  return reach;
}

TEST(Reach, a_run_to_the_scripts_own_end_fits) {
  Reach reach;
  reach.whole = true;
  EXPECT_EQ(words_for_fits(reach), "fits");
}

TEST(Reach, a_cut_run_whose_lines_nobody_watched_fits_as_far_as_it_ran) {
  EXPECT_EQ(words_for_fits(Reach{}), "fits as far as it ran");
}

TEST(Reach, that_no_line_is_known_to_be_left_out_is_not_enough) {
  Reach reach = watched();
  EXPECT_FALSE(is_settled(reach)) << "a later step of the same loop may need more";
  reach.unreached.push_back(
      {"train.py", 7, 7, "train.py:7 in main", "print(step)", "if step % 500 == 0", UsesCard::kNo});
  EXPECT_FALSE(is_settled(reach));
}

TEST(Reach, an_open_question_is_one) {
  Reach reach = watched();
  reach.open.push_back("the samples of data loader 1 differ in size, and only 5 of 9 were looked at");
  EXPECT_FALSE(is_settled(reach));
}

}  // namespace
}  // namespace vramfit::model
