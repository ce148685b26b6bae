#include "job/run.h"

#include <gtest/gtest.h>

namespace vramfit::job {
namespace {

TEST(LimitRun, leaves_a_request_without_a_limit_alone) {
  RunRequest request;
  EXPECT_FALSE(limit_run(request, 100).timeout_seconds);
  request.timeout_seconds = 7;
  EXPECT_EQ(limit_run(request, 100).timeout_seconds, 7);
}

TEST(LimitRun, gives_each_run_what_is_left_and_no_more_than_its_own) {
  RunRequest request;
  request.whole_seconds = 60;
  EXPECT_EQ(limit_run(request, 0).timeout_seconds, 60);
  EXPECT_EQ(limit_run(request, 45).timeout_seconds, 15);
  EXPECT_EQ(limit_run(request, 61).timeout_seconds, 0);
  request.timeout_seconds = 10;
  EXPECT_EQ(limit_run(request, 45).timeout_seconds, 10);
  EXPECT_EQ(limit_run(request, 55).timeout_seconds, 5);
}

}  // namespace
}  // namespace vramfit::job
