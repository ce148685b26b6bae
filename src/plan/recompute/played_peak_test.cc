#include "plan/recompute/played_peak.h"

#include <gtest/gtest.h>
#include <vramfit/numbers.h>

#include <memory>

#include "plan/testing/example_job.h"

namespace vramfit::plan {
namespace {

using model::BlockOwner;
using model::StreamTime;

// conv | norm | pool, each of which saves what it was given; pool's indices are its own. Then a block that is large.
model::Job job_with_stem() {
  model::AllocationStream stream;
  const auto mib = [](std::int64_t count) { return Bytes::mib(count); };
  stream.modules = {{"conv", -1, mib(60)}, {"norm", -1, mib(60)}, {"pool", -1, mib(15)}, {"rest", -1, mib(20)}};
  stream.passes = {{0, 10, 30}};
  const auto add = [&](StreamTime born, StreamTime died, int module, std::int64_t count) {
    const std::uint8_t stage = born < 10 ? VF_STAGE_FORWARD : VF_STAGE_BACKWARD;
    const auto owner = born < 10 ? BlockOwner::kActivations : BlockOwner::kTemporaries;
    stream.blocks.push_back({born, died, module, mib(count).count(), VF_PHASE_TRAIN, stage, owner, false});
  };
  add(1, 26, 0, 60);  // conv's, until norm's backward
  add(2, 22, 1, 60);  // norm's, until pool's
  add(3, 16, 2, 15);  // pool's, until that of the rest
  add(4, 21, 2, 30);  // indices
  add(5, 14, 3, 100);
  add(6, 14, 3, 20);
  add(11, 17, -1, 20);  // gradients
  add(15, 23, -1, 15);
  add(20, 27, -1, 60);
  add(25, 29, -1, 60);
  model::Job job = example_job();
  job.streams[""] = std::make_shared<const model::AllocationStream>(std::move(stream));
  return job;
}

TEST(PlayedPeak, counts_what_others_hold) {
  const PlayedPeak played(job_with_stem());
  const Bytes as_it_is = played.with({}, Kept::kNothing).value();
  EXPECT_EQ(played.with({"conv"}, Kept::kNothing), as_it_is) << "norm holds what conv gave";
  EXPECT_EQ(played.with({"norm"}, Kept::kNothing), as_it_is) << "and pool what norm gave";
  EXPECT_LT(played.with({"pool"}, Kept::kNothing), as_it_is);
  EXPECT_EQ(played.with({"unknown"}, Kept::kNothing), std::nullopt);
}

TEST(PlayedPeak, a_set_loses_the_modules_that_bring_nothing) {
  const PlayedPeak played(job_with_stem());
  EXPECT_EQ(without_idle_as_played(played, {{"conv", "norm", "pool"}, Kept::kNothing}),
            (RepeatSet{{"pool"}, Kept::kNothing}));
  const RepeatSet unseen{{"unknown"}, Kept::kNothing};
  EXPECT_EQ(without_idle_as_played(played, unseen), unseen);
  EXPECT_EQ(without_idle_as_played(PlayedPeak(example_job()), unseen), unseen) << "no stream";
}

}  // namespace
}  // namespace vramfit::plan
