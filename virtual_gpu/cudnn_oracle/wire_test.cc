#include "wire.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace vramfit::cudnn_oracle {
namespace {

Question convolution() {
  Question question;
  question.device_json = R"({"deviceName":"card"})";
  question.descriptors = {
      {.type = 17, .attributes = {{.name = 902, .type = 3, .count = 4, .bytes = std::string(32, '\x07')}}},
      {.type = 15, .attributes = {{.name = 801, .type = 15, .count = 1, .children = {0}}}}};
  question.graph = 1;
  question.heuristic_mode = 2;
  question.most = 5;
  return question;
}

TEST(Wire, a_question_survives_the_wire) {
  const auto back = decode_question(encode(convolution()));
  ASSERT_TRUE(back.has_value()) << back.error();
  EXPECT_EQ(*back, convolution());
}

TEST(Wire, an_answer_survives_the_wire) {
  const Answer answer{.status = 0,
                      .message = "fine",
                      .cudnn_version = 92000,
                      .plans = {{.engine = 55, .workspace_bytes = 51527680, .numerical_notes = {0, 3}}, {}}};
  const auto back = decode_answer(encode(answer));
  ASSERT_TRUE(back.has_value()) << back.error();
  EXPECT_EQ(*back, answer);
}

TEST(Wire, every_truncation_is_refused) {
  const std::string whole = encode(convolution());
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(decode_question(whole.substr(0, size)).has_value()) << size;
  }
  EXPECT_FALSE(decode_question(whole + "x").has_value());
}

TEST(Wire, a_count_that_lies_reserves_nothing) {
  std::string bytes = encode(Answer{});
  bytes.replace(bytes.size() - 4, 4, "\xff\xff\xff\x7f");
  EXPECT_FALSE(decode_answer(bytes).has_value());
}

TEST(Wire, a_descriptor_may_only_refer_back) {
  Question question = convolution();
  question.descriptors[1].attributes[0].children = {1};
  EXPECT_FALSE(decode_question(encode(question)).has_value());
  question = convolution();
  question.graph = 2;
  EXPECT_FALSE(decode_question(encode(question)).has_value());
}

TEST(Wire, frames_cross_a_pipe_and_a_clean_end_is_told_from_a_torn_one) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_TRUE(write_frame(ends[1], "hello"));
  ASSERT_EQ(write(ends[1], "\x09\x00\x00\x00to", 6), 6);
  close(ends[1]);
  EXPECT_EQ(read_frame(ends[0]), "hello");
  EXPECT_EQ(read_frame(ends[0]).error(), "truncated frame");
  EXPECT_EQ(read_frame(ends[0]).error(), "end");
  close(ends[0]);
}

TEST(Wire, one_time_limit_holds_for_a_whole_frame) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "\x09\x00", 2), 2);  // half of a length
  EXPECT_EQ(read_frame(ends[0], 1).error(), "no answer");
  ASSERT_EQ(write(ends[1], "\x09\x00\x00\x00to", 6), 6);  // a part of a frame
  EXPECT_EQ(read_frame(ends[0], 1).error(), "no answer");
  EXPECT_FALSE(write_frame(ends[1], std::string(1 << 20, 'x'), 1)) << "nobody reads";
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace vramfit::cudnn_oracle
