#include "wire.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

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

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

struct Pipe {
  Pipe() { EXPECT_EQ(pipe(ends), 0); }
  ~Pipe() {
    for (const int end : ends) close(end);
  }
  int ends[2] = {};
};

TEST(Wire, a_peer_that_stops_within_a_frame_is_late) {
  for (const std::string& begun : {std::string(), std::string("\x05\0", 2), std::string("\x05\0\0\0hel", 7)}) {
    const Pipe pipe;
    ASSERT_EQ(write(pipe.ends[1], begun.data(), begun.size()), static_cast<ssize_t>(begun.size()));
    const auto began = Clock::now();
    EXPECT_EQ(read_frame(pipe.ends[0], milliseconds(100)).error(), kLate) << begun.size();
    EXPECT_LT(Clock::now() - began, milliseconds(5000));
  }
}

TEST(Wire, a_peer_that_writes_a_byte_now_and_then_does_not_put_the_limit_off) {
  const Pipe pipe;
  std::thread peer([&] {
    const std::string frame("\x64\0\0\0slowly", 10);
    for (const char byte : frame) {
      ASSERT_EQ(write(pipe.ends[1], &byte, 1), 1);
      std::this_thread::sleep_for(milliseconds(60));
    }
  });
  const auto began = Clock::now();
  EXPECT_EQ(read_frame(pipe.ends[0], milliseconds(200)).error(), kLate);
  EXPECT_LT(Clock::now() - began, milliseconds(500));
  peer.join();
}

TEST(Wire, a_peer_that_reads_nothing_is_late) {
  const Pipe pipe;
  const std::string more_than_a_pipe_holds(size_t{1} << 20, 'x');
  const auto began = Clock::now();
  EXPECT_EQ(write_frame(pipe.ends[1], more_than_a_pipe_holds, milliseconds(100)).error(), kLate);
  EXPECT_LT(Clock::now() - began, milliseconds(5000));
}

TEST(Wire, a_large_frame_crosses_within_its_limit) {
  const Pipe pipe;
  const std::string large(size_t{1} << 20, 'x');
  std::thread writer([&] { EXPECT_TRUE(write_frame(pipe.ends[1], large, milliseconds(60000))); });
  EXPECT_EQ(read_frame(pipe.ends[0], milliseconds(60000)), large);
  writer.join();
}

}  // namespace
}  // namespace vramfit::cudnn_oracle
