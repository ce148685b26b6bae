#include <gtest/gtest.h>

#include "plan/techniques/registry.h"
#include "plan/testing/technique_jobs.h"

namespace vramfit::plan {
namespace {

TEST(HalfTeacher, halves_the_teachers_weights_and_leaves_the_students) {
  model::Job job = example_job();
  EXPECT_EQ(half_teacher().applies_to(job, example_target()).standing, Standing::kNotPossible);
  job.teacher = model::TeacherFacts{"BigNet", Bytes::mib(60), true};
  ASSERT_EQ(half_teacher().applies_to(job, example_target()), applicable());
  const auto change = half_teacher().options(job, example_target())[0];
  EXPECT_EQ(half_teacher().describe(change), "teacher in bf16");
  const Forecast forecast = forecast_with(half_teacher(), job, example_target(), change);
  EXPECT_EQ(forecast.stage_peaks[0].holdings.weights, Bytes::mib(70));
  EXPECT_EQ(forecast.stage_peaks[2].holdings.optimizer, job.stage_peaks[2].holdings.optimizer);
  EXPECT_EQ(forecast.effect, Effect::kPrecision);
  job.teacher->is_float = false;
  EXPECT_EQ(half_teacher().applies_to(job, example_target()).standing, Standing::kInForce);
  job.teacher = model::TeacherFacts{"BigNet", Bytes::mib(6), true};
  EXPECT_EQ(half_teacher().applies_to(job, example_target()).reason,
            "weights of the teacher (BigNet) are 6.0 MiB alone");
}

}  // namespace
}  // namespace vramfit::plan
