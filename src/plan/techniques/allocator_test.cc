#include <gtest/gtest.h>

#include <memory>

#include "plan/stream/testing/example_stream.h"
#include "plan/techniques/registry.h"
#include "plan/testing/technique_jobs.h"

namespace vramfit::plan {
namespace {

TEST(Allocator, is_left_alone_when_memory_is_not_fragmented) {
  EXPECT_EQ(allocator().applies_to(example_job(), example_target()).standing, Standing::kNotPossible);
  EXPECT_EQ(allocator().applies_to(job_with_everything_applicable(), example_target()).standing, Standing::kApplicable);
}

TEST(Allocator, is_judged_by_the_stream_of_each_plan_where_there_is_one_to_play) {
  model::Job job = example_job();
  job.streams[""] = std::make_shared<model::AllocationStream>(example_stream());
  EXPECT_EQ(allocator().applies_to(job, example_target()).standing, Standing::kApplicable);
}

}  // namespace
}  // namespace vramfit::plan
