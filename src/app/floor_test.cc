#include "app/floor.h"

#include <gtest/gtest.h>

namespace vramfit::app {
namespace {

using base::Bytes;

// A job that uses `peak` when it may, and runs on anything from `least` on.
class FakeJob final : public job::Runner {
 public:
  FakeJob(Bytes least, Bytes peak) : least_(least), peak_(peak) {}
  base::Result<job::RunOutcome> run(const job::RunRequest& request, base::ProgressSink&) override {
    const Bytes total = request.cards.at(0).total.value();
    ++runs;
    job::RunOutcome outcome;
    outcome.result.verdict = total >= least_ ? model::Verdict::kFits : model::Verdict::kOutOfMemory;
    outcome.result.exit_code = total >= least_ ? 0 : 1;
    model::DeviceResult device;
    device.peaks = {least_ - Bytes::mib(150), peak_ - Bytes::mib(100), peak_};
    outcome.result.devices = {device};
    return outcome;
  }
  int runs = 0;

 private:
  Bytes least_, peak_;
};

job::RunRequest on_one_card() {
  job::RunRequest request;
  request.cards.resize(1);
  return request;
}

TEST(Floor, both_needs_are_found_to_the_resolution) {
  for (const int least : {300, 1111, 2714, 3280}) {
    FakeJob job(Bytes::mib(least), Bytes::mib(3280));
    const auto needs = find_floor(job, on_one_card(), {}, base::silent_progress());
    ASSERT_TRUE(needs);
    const model::Needs& found = needs->at(0).value();
    EXPECT_GE(found.bytes, Bytes::mib(least));
    EXPECT_LE(found.bytes, Bytes::mib(least + 8));
    EXPECT_EQ(found.without_retry, Bytes::mib(3280));
    EXPECT_EQ(found.runs, job.runs);
    EXPECT_LE(job.runs, 12);
  }
}

// Ranks 0 and 1 need alike, card 2 far less, card 3 nothing.
class FakeRanks final : public job::Runner {
 public:
  base::Result<job::RunOutcome> run(const job::RunRequest& request, base::ProgressSink&) override {
    constexpr std::int64_t kLeast[] = {2000, 2004, 700};
    job::RunOutcome outcome;
    outcome.result.verdict = model::Verdict::kFits;
    outcome.result.devices.resize(4);
    for (int i = 0; i < 4; ++i) outcome.result.devices[static_cast<std::size_t>(i)].index = i;
    for (std::size_t i = 0; i < 3; ++i) {
      const Bytes least = Bytes::mib(kLeast[i]);
      outcome.result.devices[i].peaks = {least - Bytes::mib(150), least + Bytes::mib(100), least + Bytes::mib(200)};
      if (request.cards.at(i).total.value() < least) outcome.result.verdict = model::Verdict::kOutOfMemory;
    }
    return outcome;
  }
};

TEST(Floor, each_card_has_its_own_and_those_alike_share_one) {
  FakeRanks job;
  job::RunRequest request;
  request.cards.resize(4);
  const auto needs = find_floor(job, request, {.resolution = Bytes::mib(8), .most_runs = 40}, base::silent_progress());
  ASSERT_TRUE(needs);
  ASSERT_EQ(needs->size(), 4U);
  EXPECT_NEAR(needs->at(0)->bytes.as_mib(), 2008, 8);
  EXPECT_EQ(needs->at(0), needs->at(1));
  EXPECT_NEAR(needs->at(2)->bytes.as_mib(), 704, 8);
  EXPECT_FALSE(needs->at(3));
}

TEST(Floor, a_job_that_never_runs_has_none) {
  FakeJob job(Bytes::gib(5000), Bytes::gib(5000));
  EXPECT_FALSE(find_floor(job, on_one_card(), {}, base::silent_progress()));
}

}  // namespace
}  // namespace vramfit::app
