#include <gtest/gtest.h>

#include "plan/techniques/registry.h"
#include "plan/testing/technique_jobs.h"

namespace vramfit::plan {
namespace {

TEST(Allocator, is_left_alone_when_memory_is_not_fragmented) {
  EXPECT_EQ(allocator().applies_to(example_job(), example_target()).standing, Standing::kNotPossible);
  EXPECT_EQ(allocator().applies_to(job_with_everything_applicable(), example_target()).standing, Standing::kApplicable);
}

}  // namespace
}  // namespace vramfit::plan
