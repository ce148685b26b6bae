#include "ingest/text/log_prefix.h"

#include <gtest/gtest.h>

namespace vramfit::ingest {
namespace {

std::string_view rest(std::string_view line) { return line.substr(parse_log_prefix(line).length); }

TEST(LogPrefix, of_many_loggers_is_taken_off_and_indentation_stays) {
  for (const std::string_view prefix :
       {"2024-05-01 10:00:00,123 ERROR ", "[2024-05-01 10:00:00,123] [INFO] [utils.py:822:see_memory_usage] ",
        "ERROR 03-23 04:09:00 [core.py:390] ", "Nov 21 10:02:05 host python3[77]: ", "[rank3]: ", "[default3]:", "[3]:",
        "2024-05-01T10:00:00.123456789Z stderr F ", "trainer-1  | ", "(RayTrainWorker pid=123, ip=10.0.0.1) ",
        "E0328 18:18:48.413000 140217767576768 torch/distributed/api.py:826] ", "[1,3]<stderr>:", "3: ", "> ",
        "ERROR:root:", "[Stage-0] ERROR 03-23 04:09:00 [worker.py:430] ", "2024-05-01 10:00:00.123 | ERROR    | "}) {
    const std::string line = std::string(prefix) + "  File \"a.py\", line 1, in f";
    // A blank that follows a prefix may be the prefix's own.
    EXPECT_TRUE(rest(line) == "  File \"a.py\", line 1, in f" || rest(line) == " File \"a.py\", line 1, in f")
        << prefix;
  }
}

TEST(LogPrefix, tells_the_rank_and_the_process) {
  EXPECT_EQ(parse_log_prefix("[rank3]: x").speaker.rank, 3);
  EXPECT_EQ(parse_log_prefix("[default12]:x").speaker.rank, 12);
  EXPECT_EQ(parse_log_prefix("[1,5]<stderr>:x").speaker.rank, 5);
  EXPECT_EQ(parse_log_prefix("(Worker rank=2 pid=4) x").speaker.rank, 2);
  EXPECT_EQ(parse_log_prefix("trainer-1  | x").speaker.process, "trainer-1");
  EXPECT_EQ(parse_log_prefix("no prefix here").speaker, model::Speaker{});
}

TEST(LogPrefix, behind_blanks) {
  EXPECT_EQ(parse_log_prefix("  3: x").speaker.rank, 3);
  EXPECT_EQ(parse_log_prefix("  ERROR x").length, 8u);
  EXPECT_EQ(parse_log_prefix("   [error] x").length, 11u);
}

TEST(LogPrefix, texts_that_only_look_alike_are_left) {
  for (const std::string_view line :
       {"| 0  Tesla T4  Off | 00000000:00:04.0 Off |", "Traceback (most recent call last):", "RuntimeError: 3: bad",
        "  File \"a.py\", line 3, in f", "    x = f(x)", "    ^^^^", "torch.OutOfMemoryError: CUDA out of memory",
        ">>> x = 1"}) {
    EXPECT_EQ(parse_log_prefix(line).length, 0u) << line;
  }
}

}  // namespace
}  // namespace vramfit::ingest
