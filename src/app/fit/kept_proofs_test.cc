#include "app/fit/kept_proofs.h"

#include <gtest/gtest.h>

#include <string>

#include "app/fit/active_clock.h"

namespace vramfit::app {
namespace {

class CountingProver final : public plan::Prover {
 public:
  base::Result<plan::Proof> prove(const model::Plan&, double) override {
    ++runs;
    plan::Proof proof;
    proof.outcome = outcome;
    return proof;
  }
  plan::Outcome outcome = plan::Outcome::kFits;
  int runs = 0;
};

const model::Plan kPlan{"half", {{"autocast", {{"dtype", std::string("float16")}}}}};
const model::Plan kOther{"other", {{"checkpoint", {}}}};

TEST(KeptProofs, no_plan_is_run_twice_whatever_it_is_called) {
  CountingProver prover;
  KeptProofs kept;
  kept.prove_by(prover);
  ASSERT_EQ(kept.prove(kPlan, 1)->outcome, plan::Outcome::kFits);
  EXPECT_EQ(kept.prove({"another name", kPlan.changes}, 1)->outcome, plan::Outcome::kFits);
  EXPECT_EQ(prover.runs, 1);
  EXPECT_TRUE(kept.prove(kOther, 1));
  EXPECT_EQ(kept.runs(), 2);
}

TEST(KeptProofs, a_later_run_counts_more) {
  CountingProver prover;
  KeptProofs kept;
  kept.prove_by(prover);
  ASSERT_TRUE(kept.prove(kPlan, 1));
  plan::Proof late;
  late.outcome = plan::Outcome::kOutOfMemory;
  kept.overrule(kPlan, late);
  EXPECT_EQ(kept.prove(kPlan, 1)->outcome, plan::Outcome::kOutOfMemory);
  EXPECT_EQ(kept.runs(), 1);
}

TEST(KeptProofs, what_ran_out_of_time_may_be_run_again) {
  CountingProver prover;
  prover.outcome = plan::Outcome::kTimedOut;
  KeptProofs kept;
  kept.prove_by(prover);
  ASSERT_TRUE(kept.prove(kPlan, 1));
  ASSERT_TRUE(kept.prove(kPlan, 1));
  EXPECT_EQ(prover.runs, 2);
}

TEST(ActiveClock, leaves_out_what_was_waited) {
  class Hour final : public base::Clock {
   public:
    std::int64_t now_ns() const override { return 3'600'000'000'000; }
  };
  const Hour hour;
  ActiveClock clock(hour);
  EXPECT_EQ(clock.now_ns(), hour.now_ns());
  clock.exclude(600);
  EXPECT_EQ(clock.now_ns(), 3'000'000'000'000);
}

}  // namespace
}  // namespace vramfit::app
