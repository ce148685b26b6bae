#include "plan/search/largest_batch.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/techniques/registry.h"
#include "plan/testing/example_job.h"

namespace vramfit::plan {
namespace {

class StoppedClock final : public base::Clock {
 public:
  std::int64_t now_ns() const override { return now; }
  std::int64_t now = 0;
};

// Fits up to so many samples.
class SizeProver final : public Prover {
 public:
  explicit SizeProver(std::int64_t most) : most_(most) {}
  base::Result<Proof> prove(const model::Plan& plan, double) override {
    const std::int64_t size = *model::find_integer(plan.changes.at(0), "batch_size");
    asked.push_back(size);
    Proof proof;
    if (std::ssize(asked) > interrupt_after) return base::fail(base::ErrorCode::kInterrupted, "interrupted");
    proof.outcome = size == breaks_at ? Outcome::kFailed : size <= most_ ? Outcome::kFits : Outcome::kOutOfMemory;
    proof.peak_device = Bytes::mib(1);
    return proof;
  }
  std::vector<std::int64_t> asked;
  std::int64_t breaks_at = -1, interrupt_after = 1000;

 private:
  std::int64_t most_;
};

LargestBatch find(SizeProver& prover, std::int64_t limit_mib = 2048) {
  model::Job job = example_job();
  job.loaders[0].batches = 101;
  const StoppedClock clock;
  Target target = example_target(limit_mib);
  target.keep_effective_batch = false;
  return find_largest_batch(job, target, prover, 60, clock);
}

std::int64_t size_of(const LargestBatch& found) {
  return *model::find_integer(found.trials[*found.best].plan.changes.front(), "batch_size");
}

TEST(LargestBatch, is_found_to_the_sample_wherever_the_forecast_begins) {
  for (std::int64_t most = 1; most <= 120; ++most) {
    for (const std::int64_t limit_mib : {600, 2048, 9000}) {
      SizeProver prover(most);
      const LargestBatch found = find(prover, limit_mib);
      ASSERT_EQ(found.ending, Ending::kCheapestProven) << most;
      EXPECT_EQ(size_of(found), most);
      EXPECT_FALSE(found.is_all_data);
      EXPECT_NE(std::ranges::find(prover.asked, most + 1), prover.asked.end()) << "one more was run";
      EXPECT_LE(prover.asked.size(), 14U) << most;
      std::ranges::sort(prover.asked);
      EXPECT_EQ(std::ranges::adjacent_find(prover.asked), prover.asked.end()) << "nothing is run twice";
    }
  }
}

TEST(LargestBatch, ends_at_the_data_and_at_one_sample) {
  SizeProver endless(1000000), hopeless(0);
  const LargestBatch all = find(endless);
  EXPECT_TRUE(all.is_all_data);
  EXPECT_EQ(size_of(all), 8 * 100);
  const LargestBatch none = find(hopeless);
  EXPECT_EQ(none.ending, Ending::kNothingFits);
  EXPECT_FALSE(none.best);
  EXPECT_EQ(hopeless.asked.back(), 1);
}

TEST(LargestBatch, what_breaks_the_script_or_interrupts_keeps_what_was_proven) {
  SizeProver interrupted(37);
  interrupted.interrupt_after = 4;
  const LargestBatch some = find(interrupted, 600);
  EXPECT_EQ(some.ending, Ending::kInterrupted);
  EXPECT_EQ(some.trials.size(), 4U);
  SizeProver broken(37);
  broken.breaks_at = 38;
  const LargestBatch unknown = find(broken, 600);
  EXPECT_EQ(unknown.ending, Ending::kNothingProven);
  ASSERT_TRUE(unknown.best);
  EXPECT_LE(size_of(unknown), 37);
}

}  // namespace
}  // namespace vramfit::plan
