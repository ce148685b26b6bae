#include "job/assemble.h"

#include <gtest/gtest.h>
#include <vramfit/ledger.h>

#include <cstring>
#include <memory>

#include "facts/recordings.h"
#include "ingest/testing/add_note.h"
#include "liveness/testing/recording_builder.h"
#include "verify/peaks.h"

namespace vramfit::job {
namespace {

using base::Bytes;
using liveness::testing::RecordingBuilder;
using model::Verdict;

// A run on one toy card of 1000 MiB whose context is 100 ± 10 MiB.
class Assemble : public testing::Test {
 protected:
  void SetUp() override {
    model::EmulatedCard card;
    card.card.name = "NVIDIA Toy";
    card.total = Bytes::mib(1000);
    card.context = Bytes::mib(100);
    card.context_uncertainty = Bytes::mib(10);
    run_.cards = {card};
    ledger_ = std::make_unique<vf_ledger>();
    ledger_->card_count = 1;
    ledger_->use[0].smallest_free_bytes_at_refusal = -1;
    run_.ended.exit_code = 0;
  }
  void use(Bytes reserved, Bytes allocated) {
    builder_.context(Bytes::mib(100).count());
    builder_.segment(0, reserved.count()).alloc(0, allocated.count(), "net", "train.py:3 in main");
    ledger_->use[0].peak_used_bytes = (Bytes::mib(100) + reserved).count();
  }
  void note(const std::string& json) { notes_.emplace_back(json); }
  void die_of_oom(Bytes tried, Bytes free) {
    builder_.emit(VF_RECORD_OOM, tried.count());
    ledger_->use[0].refused = 2;
    ledger_->use[0].largest_refused_bytes = tried.count();
    ledger_->use[0].smallest_free_bytes_at_refusal = free.count();
    run_.ended.exit_code = 1;
  }
  model::RunResult result() {
    std::vector<model::Recording> recordings = {builder_.build()};
    for (const std::string& note : notes_) ingest::testing::add_note(recordings[0], note.c_str());
    run_.facts = facts::gather(recordings, ledger_.get());
    model::RunResult result = assemble(run_);
    for (const std::string& wrong : verify::check_peaks(recordings, result)) ADD_FAILURE() << wrong;
    return result;
  }

  FinishedRun run_;
  std::unique_ptr<vf_ledger> ledger_;
  RecordingBuilder builder_;
  std::vector<std::string> notes_;
};

TEST_F(Assemble, a_run_that_fits_has_peaks_phases_and_a_margin) {
  use(Bytes::mib(600), Bytes::mib(500));
  note(R"J({"kind":"process","torch":"2.6.0+cu124","cuda":"12.4","python":"3.11.7"})J");
  const auto run = result();
  EXPECT_EQ(run.verdict, Verdict::kFits);
  EXPECT_EQ(run.devices.at(0).peaks, (model::Peaks{Bytes::mib(500), Bytes::mib(600), Bytes::mib(700)}));
  EXPECT_EQ(run.margin, Bytes::mib(300));
  EXPECT_EQ(run.phases.at(0).name, "train");
  EXPECT_EQ(run.torch, "2.6.0+cu124");
  EXPECT_EQ(run.owners_at_peak.at(0).owner, "activations");
  EXPECT_EQ(run.processes, 1);
}

TEST_F(Assemble, within_the_contexts_uncertainty_of_the_limit_it_is_borderline) {
  use(Bytes::mib(895), Bytes::mib(895));
  EXPECT_EQ(result().verdict, Verdict::kBorderline);
}

TEST_F(Assemble, cache_that_pytorch_would_give_back_counts_as_room) {
  const std::uint64_t elsewhere = 1ll << 40;
  builder_.segment(elsewhere, Bytes::mib(395).count()).alloc(elsewhere, Bytes::mib(395).count()).free(elsewhere);
  use(Bytes::mib(500), Bytes::mib(500));
  ledger_->use[0].peak_used_bytes = Bytes::mib(995).count();
  const auto run = result();
  EXPECT_EQ(run.verdict, Verdict::kFits);
  EXPECT_EQ(run.margin, Bytes::mib(5) + Bytes::mib(395));
}

TEST_F(Assemble, an_uncaught_oom_is_out_of_memory_with_its_words_and_numbers) {
  use(Bytes::mib(800), Bytes::mib(800));
  die_of_oom(Bytes::mib(300), Bytes::mib(100));
  note(
      R"J({"kind":"oom","message":"CUDA out of memory.","phase":"train","stack":[{"file":"a.py","line":3,"function":"f","code":"x()"}]})J");
  const auto run = result();
  EXPECT_EQ(run.verdict, Verdict::kOutOfMemory);
  ASSERT_TRUE(run.oom);
  EXPECT_EQ(run.oom->tried, Bytes::mib(300));
  EXPECT_EQ(run.oom->stack.at(0).code, "x()");
  EXPECT_FALSE(run.oom->caught);
  EXPECT_EQ(run.margin, std::nullopt);
}

TEST_F(Assemble, an_oom_that_missed_by_less_than_the_uncertainty_is_borderline) {
  use(Bytes::mib(800), Bytes::mib(800));
  die_of_oom(Bytes::mib(105), Bytes::mib(100));
  EXPECT_EQ(result().verdict, Verdict::kBorderline);
}

TEST_F(Assemble, an_oom_that_the_script_caught_is_no_failure) {
  use(Bytes::mib(500), Bytes::mib(500));
  die_of_oom(Bytes::mib(800), Bytes::mib(400));
  run_.ended.exit_code = 0;
  const auto run = result();
  EXPECT_EQ(run.verdict, Verdict::kFits);
  ASSERT_TRUE(run.oom);
  EXPECT_TRUE(run.oom->caught);
}

TEST_F(Assemble, another_error_after_a_caught_oom_is_a_failure) {
  use(Bytes::mib(500), Bytes::mib(500));
  die_of_oom(Bytes::mib(800), Bytes::mib(400));
  note(R"J({"kind":"error","type":"ValueError","message":"no batch size fits","stack":[]})J");
  const auto run = result();
  EXPECT_EQ(run.verdict, Verdict::kFailed);
  EXPECT_EQ(run.error->type, "ValueError");
}

TEST_F(Assemble, an_error_of_a_library_that_found_no_room_is_out_of_memory) {
  use(Bytes::mib(500), Bytes::mib(500));
  run_.ended.exit_code = 1;
  note(
      R"J({"kind":"error","type":"RuntimeError","message":"CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate","stack":[]})J");
  EXPECT_EQ(result().verdict, Verdict::kOutOfMemory);
}

TEST_F(Assemble, what_the_ledger_and_the_hooks_have_to_say_is_told_once_each) {
  use(Bytes::mib(500), Bytes::mib(500));
  note(R"J({"kind":"cut","text":"cut to 4 batches"})J");
  note(R"J({"kind":"cut","text":"cut to 4 batches"})J");
  note(R"J({"kind":"plan_refused","id":"micro_batch","text":"no loader"})J");
  note(R"J({"kind":"data_read","what":"a size (nonzero)","line":"a.py:3 in f"})J");
  ledger_->notes[3].kind = VF_NOTE_NOT_MODELLED;
  ledger_->notes[3].count = 7;
  std::strcpy(ledger_->notes[3].text, "cusolverX");
  const auto run = result();
  EXPECT_EQ(run.cuts, std::vector<std::string>{"cut to 4 batches"});
  EXPECT_EQ(run.plan_refused, std::vector<std::string>{"micro_batch: no loader"});
  EXPECT_EQ(run.verdict, Verdict::kFailed) << "a refused plan proves nothing";
  EXPECT_EQ(run.depends_on_data.at(0).line, "a.py:3 in f");
  EXPECT_EQ(run.not_modelled, (std::vector<model::Remark>{{"cusolverX", 7}}));
}

TEST_F(Assemble, an_exit_code_after_a_loop_was_counted_on_is_no_failure_of_the_script) {
  use(Bytes::mib(500), Bytes::mib(500));
  run_.ended.exit_code = 1;
  note(R"J({"kind":"cut","what":"counted","text":"`step` was counted on from 120 to 999"})J");
  const auto run = result();
  EXPECT_EQ(run.verdict, Verdict::kFits);
  EXPECT_EQ(run.reach.open, std::vector<std::string>{"it ended with exit code 1 after a loop of it was counted on"});
  note(R"J({"kind":"error","type":"ValueError","message":"no such file","stack":[]})J");
  EXPECT_EQ(result().verdict, Verdict::kFailed) << "an error that came before it is the script's own";
}

TEST_F(Assemble, a_killed_job_has_the_shells_exit_code) {
  use(Bytes::mib(500), Bytes::mib(500));
  run_.ended.exit_code.reset();
  run_.ended.signal = 9;
  const auto run = result();
  EXPECT_EQ(run.verdict, Verdict::kFailed);
  EXPECT_EQ(run.exit_code, 137);
}

}  // namespace
}  // namespace vramfit::job
