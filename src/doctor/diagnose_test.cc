#include "doctor/diagnose.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "doctor/cause.h"
#include "doctor/leak.h"

namespace vramfit::doctor {
namespace {

using model::Bytes;

model::PrintedBytes printed(double gib) {
  const auto bytes = [](double value) { return Bytes(static_cast<std::int64_t>(value * (1 << 30))); };
  return {bytes(gib), bytes(gib - 0.005), bytes(gib + 0.005)};
}

struct Numbers {
  double tried, total, free, allocated, idle;
};

Case case_of(const Numbers& numbers) {
  model::OomMessage oom;
  oom.at = {"log", 1, "CUDA out of memory"};
  oom.form = model::OomForm::kProcessesHint;
  oom.device = model::OomDevice::kCuda;
  oom.tried = printed(numbers.tried);
  oom.total = printed(numbers.total);
  oom.free = printed(numbers.free);
  oom.allocated = printed(numbers.allocated);
  oom.unallocated = printed(numbers.idle);
  auto& sums = oom.arithmetic;
  sums.tensor = oom.tried;
  sums.live = oom.allocated;
  sums.idle = oom.unallocated;
  sums.reserved = *oom.allocated + *oom.unallocated;
  sums.outside = *oom.total - *oom.free - *sums.reserved;
  Case given;
  given.texts.ooms = {oom};
  return given;
}

std::string first_label(const Case& given) {
  const model::Diagnosis diagnosis = diagnose(given);
  return diagnosis.findings.empty() ? "" : diagnosis.findings.front().label;
}

TEST(Causes, have_codes_and_labels_of_their_own) {
  std::set<std::string_view> codes, labels;
  for (const Cause* cause : all_causes()) {
    EXPECT_TRUE(codes.insert(cause->code).second) << cause->code;
    EXPECT_TRUE(labels.insert(cause->label).second) << cause->label;
    EXPECT_EQ(find_cause(cause->code), cause);
    EXPECT_EQ(find_cause(cause->label), cause);
    EXPECT_FALSE(cause->what.empty() || cause->cure.empty() || cause->decides.empty()) << cause->code;
  }
  EXPECT_GE(codes.size(), 35U);
  EXPECT_EQ(find_cause("VF999"), nullptr);
}

TEST(Diagnose, nothing_given_is_no_trouble) {
  const model::Diagnosis diagnosis = diagnose({});
  EXPECT_FALSE(diagnosis.trouble);
  EXPECT_TRUE(diagnosis.findings.empty());
}

TEST(Diagnose, a_nonsense_size_behind_a_collective_call_that_timed_out_is_not_sure) {
  model::OomMessage oom;
  oom.at = {"log", 2, "CUDA out of memory. Tried to allocate more than 1EB memory."};
  oom.form = model::OomForm::kMoreThanExabyte;
  Case given;
  given.texts.ooms = {oom};
  model::TextFile file;
  file.name = "log";
  given.texts.files = {file};
  EXPECT_GT(diagnose(given).findings.front().confidence, 0.9);
  given.texts.files.front().not_understood = model::SourceLine{"log", 1, "An all_gather timed out before that."};
  const model::Finding finding = diagnose(given).findings.front();
  EXPECT_EQ(finding.label, "size_computation_bug");
  EXPECT_LT(finding.confidence, 0.7);
  EXPECT_EQ(finding.evidence.size(), 2u);
}

TEST(Diagnose, the_same_numbers_but_for_one_give_different_causes) {
  EXPECT_EQ(first_label(case_of({0.5, 24, 0.1, 23.0, 0.2})), "capacity_exceeded");
  EXPECT_EQ(first_label(case_of({0.5, 24, 0.1, 16.0, 7.2})), "fragmentation");
  EXPECT_EQ(first_label(case_of({0.5, 24, 0.1, 4.0, 0.2})), "other_process");
  EXPECT_EQ(first_label(case_of({0.5, 24, 9.0, 14.0, 0.2})), "free_but_failed");
  EXPECT_EQ(first_label(case_of({30, 24, 20.0, 3.0, 0.2})), "single_huge_allocation");
  EXPECT_EQ(first_label(case_of({3000, 24, 20.0, 3.0, 0.2})), "size_computation_bug");
  EXPECT_EQ(first_label(case_of({0.5, 8, 0.0, 14.0, 0.2})), "windows_shared_memory");
}

TEST(Diagnose, holes_are_no_sure_cause_where_others_hold_the_card_or_all_of_them_would_just_do) {
  const auto confidence = [](const Case& given) {
    for (const model::Finding& finding : diagnose(given).findings) {
      if (finding.label == "fragmentation") return finding.confidence;
    }
    return 0.0;
  };
  EXPECT_GE(confidence(case_of({0.1, 24, 0.1, 20.0, 3.5})), 0.8);
  const Case others = case_of({0.1, 24, 0.1, 11.0, 3.5});
  EXPECT_LT(confidence(others), 0.5) << "nine GiB are somebody else's";
  EXPECT_EQ(first_label(others), "other_process");
  EXPECT_LT(confidence(case_of({3.4, 24, 0.1, 20.0, 3.5})), 0.7) << "in one piece it would just be enough";
}

TEST(Diagnose, ranks_that_a_table_shows_on_one_card_are_of_the_job_and_nobody_elses) {
  Case given = case_of({0.1, 16, 0.05, 3.5, 0.1});
  model::GpuStatus status;
  for (int i = 0; i < 2; ++i) {
    model::GpuCard card;
    card.index = i;
    card.total = printed(16);
    card.used = printed(i == 0 ? 15.8 : 0.1);
    status.cards.push_back(card);
  }
  for (int i = 0; i < 4; ++i) {
    model::GpuProcess process;
    process.gpu = 0;
    process.pid = 100 + i;
    process.name = "python";
    process.memory = printed(3.9);
    status.processes.push_back(process);
  }
  given.texts.gpu_status = {status};
  EXPECT_EQ(first_label(given), "wrong_device");
  given.texts.gpu_status.front().processes.front().memory = printed(12);
  EXPECT_NE(first_label(given), "wrong_device") << "one of them is no rank";
}

TEST(Diagnose, a_request_that_hardly_any_card_could_meet_is_one_even_where_the_total_is_not_told) {
  model::OomMessage oom;
  oom.at = {"log", 1, "CUDA out of memory. Tried to allocate 218.96 GiB"};
  oom.device = model::OomDevice::kCuda;
  oom.tried = printed(218.96);
  Case given;
  given.texts.ooms = {oom};
  EXPECT_EQ(first_label(given), "single_huge_allocation");
  EXPECT_LT(diagnose(given).findings.front().confidence, 0.7);
  given.texts.ooms.front().tried = printed(20);
  EXPECT_NE(first_label(given), "single_huge_allocation");
}

TEST(Diagnose, a_bare_line_never_claims_to_be_sure_of_capacity_and_says_what_would_tell) {
  const model::Diagnosis diagnosis = diagnose(case_of({0.5, 24, 0.1, 23.0, 0.2}));
  EXPECT_LT(diagnosis.findings.front().confidence, 0.7);
  EXPECT_GE(diagnosis.give.size(), 2U);
}

TEST(Diagnose, numbers_that_round_to_the_same_are_not_told_apart) {
  // 0.50 GiB idle may be a little more or a little less than the 0.50 GiB asked for: it may have been enough.
  Case given = case_of({0.5, 24, 0.1, 22.9, 0.5});
  const model::Diagnosis diagnosis = diagnose(given);
  const bool considered = std::any_of(diagnosis.findings.begin(), diagnosis.findings.end(),
                                      [](const model::Finding& finding) { return finding.label == "fragmentation"; });
  EXPECT_TRUE(considered);
}

TEST(Diagnose, a_limit_counts_only_when_it_is_reached) {
  Case given = case_of({1, 24, 18, 5.5, 0.2});
  given.texts.ooms[0].allowed = printed(6);
  EXPECT_EQ(first_label(given), "fraction_limit");
  given.texts.ooms[0].allowed = printed(20);
  EXPECT_NE(first_label(given), "fraction_limit");
}

TEST(Diagnose, memory_that_may_not_be_judged_is_unknown_and_not_passed) {
  for (const model::Check& check : diagnose(case_of({0.5, 24, 0.1, 23.0, 0.2})).checks) {
    if (check.group == "lifetime") {
      EXPECT_EQ(check.state, model::CheckState::kUnknown);
    }
    if (check.group == "host") {
      EXPECT_EQ(check.state, model::CheckState::kNotApplicable);
    }
  }
}

TEST(Diagnose, an_evaluation_of_a_run_that_keeps_activations_is_named_with_its_bytes) {
  Case given = case_of({0.5, 8, 0.1, 7.5, 0.1});
  model::RunResult run;
  run.verdict = model::Verdict::kOutOfMemory;
  run.oom = model::Oom{Bytes::mib(512), "CUDA out of memory", "validate", false, {}};
  run.phases = {{"validate", 0, {Bytes::gib(7), Bytes::gib(7), Bytes::gib(7)}, 1}};
  run.evidence.measured = true;
  model::EvaluationForward forward;
  forward.phase = "validate";
  forward.grad_enabled = true;
  forward.saved = Bytes::gib(6);
  run.evidence.evaluations = {forward};
  given.run = run;
  const model::Diagnosis diagnosis = diagnose(given);
  ASSERT_FALSE(diagnosis.findings.empty());
  EXPECT_EQ(diagnosis.findings.front().label, "no_grad_missing");
  ASSERT_FALSE(diagnosis.findings.front().fixes.empty());
  EXPECT_EQ(diagnosis.findings.front().fixes.front().saves, Bytes::gib(6));
  // The near miss: the same run with gradients off.
  given.run->evidence.evaluations[0].grad_enabled = false;
  EXPECT_NE(first_label(given), "no_grad_missing");
}

// Idle memory of 1.5 GiB, and a list to which each step adds 0.2 GiB: no holes at all would last for seven steps more.
TEST(Diagnose, a_leak_outranks_fragmentation_whose_cure_buys_few_steps) {
  Case given = case_of({0.5, 24, 0.1, 22.0, 1.5});
  EXPECT_EQ(first_label(given), "fragmentation");
  model::TensorGroup held;
  held.holder.kind = model::HolderKind::kAttribute;
  held.holder.name = "self.log['outs'][0]";
  held.holder.container = "list";
  held.holder.length = held.tensors = 100;
  held.bytes = Bytes::gib(20);
  given.oom_report.emplace().oom = model::OomState{.allocated = Bytes::gib(22), .holders = {held}};
  const model::Diagnosis diagnosis = diagnose(given);
  EXPECT_EQ(diagnosis.findings.front().label, "leak_growth");
  for (const model::Finding& finding : diagnosis.findings) {
    if (finding.label == "fragmentation") {
      EXPECT_LE(finding.confidence, 0.4);
    }
  }
}

TEST(Diagnose, words_of_trouble_that_nobody_explained_are_never_well) {
  Case given;
  given.texts.files = {{.name = "log", .bytes = 10, .lines = 1, .looks = model::TextLooks::kLog}};
  EXPECT_FALSE(diagnose(given).trouble);
  given.texts.memory_words = {{"log", 1, "XPU out of memory"}};
  EXPECT_TRUE(diagnose(given).trouble);
  EXPECT_EQ(first_label(given), "unknown");
}

// A log with an error that is none of memory.
Case other_failure() {
  Case given;
  given.texts.files = {{.name = "log", .bytes = 10, .lines = 9, .looks = model::TextLooks::kLog}};
  given.texts.other_errors = {{"log", 3, "RuntimeError: workers died. If nothing is above, your RAM was full"}};
  return given;
}

TEST(Diagnose, another_error_is_called_that_only_where_nothing_says_that_memory_is_behind_it) {
  EXPECT_TRUE(diagnose(other_failure()).other_failure);
  Case supposed = other_failure();
  supposed.texts.supposed = supposed.texts.other_errors;
  EXPECT_EQ(first_label(supposed), "unknown");
  Case cured = other_failure();
  cured.texts.remarks = {{{"log", 5, "xformers solved it"}, {}, model::SentenceKind::kToldCauseAttentionQuadratic}};
  EXPECT_EQ(first_label(cured), "unknown");
  cured.texts.remarks.push_back({{"log", 5, "less VRAM solved it"}, {}, model::SentenceKind::kToldMemoryCured});
  EXPECT_EQ(first_label(cured), "attention_quadratic") << "what cured it is memory's: so was what failed";
}

TEST(Diagnose, each_cause_that_a_cure_names_is_one_of_the_causes) {
  int named = 0;
  for (int i = 0; i <= 0xff; ++i) {
    const std::string_view label = model::cause_named_by(static_cast<model::SentenceKind>(i));
    if (label.empty()) continue;
    ++named;
    EXPECT_TRUE(std::ranges::any_of(all_causes(), [&](const Cause* cause) { return cause->label == label; })) << label;
  }
  EXPECT_GT(named, 0);
}

TEST(Diagnose, what_is_said_of_memory_beside_another_error_is_a_figure_or_a_doubt) {
  const auto with = [](const char* words) {
    Case given = other_failure();
    given.texts.told = {{.at = {"log", 5, words}, .kind = model::ToldKind::kMentioned}};
    return diagnose(given).other_failure;
  };
  EXPECT_TRUE(with("It is a card with 24 GB of memory"));
  EXPECT_TRUE(with("Total amount of global memory:"));
  EXPECT_FALSE(with("The site shows me nothing about how much RAM is in use"));
  EXPECT_FALSE(with("It was the RAM, with 64 GB instead of 16 it runs"));
}

TEST(Diagnose, what_is_said_to_be_well_clears_what_stands_before_it) {
  const auto clears = [](std::int64_t well, bool denies_growth) {
    Case given;
    model::TextFile file{.name = "log", .bytes = 10, .lines = 9, .looks = model::TextLooks::kUnknown};
    file.not_understood = file.not_understood_of_writer = model::SourceLine{"log", 4, "so I can't go on"};
    file.last_not_understood = 4;
    given.texts.files = {file};
    given.texts.settings.push_back({.at = {"log", 1, "torch 2.6"}});  // of a kind that is known
    given.texts.told = {{.at = {"log", well, "memory is lower"}, .kind = model::ToldKind::kIsWell}};
    given.texts.told.front().denies_growth = denies_growth;
    return !diagnose(given).trouble;
  };
  EXPECT_TRUE(clears(6, false));
  EXPECT_FALSE(clears(2, false));
  EXPECT_TRUE(clears(2, true));
}

TEST(Diagnose, what_is_of_no_known_kind_is_never_well) {
  for (const model::TextLooks looks : {model::TextLooks::kEmpty, model::TextLooks::kUnknown}) {
    Case given;
    given.texts.files = {{.name = "log", .bytes = 10, .lines = 1, .looks = looks}};
    EXPECT_EQ(first_label(given), "unknown");
  }
}

// A run whose passes were cut after so many steps in full, in which memory rose.
Case cut_run(std::int64_t judged_steps, std::int64_t grew_for) {
  Case given;
  model::RunResult& run = given.run.emplace();
  run.verdict = model::Verdict::kFits;
  run.phases.emplace_back();
  run.phases[0].name = "train";
  run.phases[0].steps = 30;
  run.evidence.measured = true;
  run.evidence.judged_steps = judged_steps;
  if (grew_for == 0) return given;
  model::Growth& growth = run.evidence.growth.emplace_back();
  growth.phase = "train";
  growth.per_step = Bytes::mib(1);
  growth.steps = grew_for;
  growth.holders.emplace_back().has_graph = true;
  return given;
}

TEST(Diagnose, a_run_that_was_cut_after_a_few_steps_blames_nobody_and_clears_nobody) {
  const model::Diagnosis few = diagnose(cut_run(5, 20));
  EXPECT_LT(few.findings.at(0).confidence, 0.35);
  EXPECT_EQ(first_label(cut_run(14, 12)), "graph_retained");
  EXPECT_EQ(first_label(cut_run(11, 0)), "unknown");
  EXPECT_FALSE(diagnose(cut_run(13, 0)).trouble);
  EXPECT_NE(diagnose(cut_run(13, 0)).verdict.find("over the 13 steps"), std::string::npos) << "and not for good";
  Case whole = cut_run(11, 0);
  whole.run->reach.whole = true;
  EXPECT_FALSE(diagnose(whole).trouble) << "there are no more steps than these";
}

TEST(Diagnose, cycles_that_waited_for_the_collector_are_no_trouble_and_are_told) {
  Case given = cut_run(100, 0);
  given.run->evidence.collector = model::Collector{true, Bytes::mib(80), "train.py:9 in train"};
  const model::Diagnosis diagnosis = diagnose(given);
  EXPECT_FALSE(diagnosis.trouble);
  ASSERT_EQ(diagnosis.warnings.size(), 1u);
  EXPECT_NE(diagnosis.warnings[0].find("train.py:9 in train"), std::string::npos);
}

// The first cure of a growth that is held by this.
std::string first_cure(model::Holder holder, bool has_graph = false) {
  Case given = cut_run(100, 90);
  model::TensorGroup& held = given.run->evidence.growth[0].holders[0];
  held.holder = std::move(holder);
  held.has_graph = has_graph;
  return diagnose(given).findings.at(0).fixes.at(0).command;
}

TEST(Leak, cures_fit_what_holds_the_tensors) {
  EXPECT_TRUE(first_cure({.kind = model::HolderKind::kGlobal,
                          .name = "stream[7][0]",
                          .container = "list",
                          .length = 40,
                          .chain = {"global stream", "cycle", "list of 40"}})
                  .contains("for batch in loader"));
  EXPECT_TRUE(first_cure({.kind = model::HolderKind::kGlobal,
                          .name = "ahead[0]",
                          .container = "tuple",
                          .length = 2,
                          .chain = {"global ahead", "_tee", "_tee_dataobject"}})
                  .contains("second iterator"));
  EXPECT_TRUE(
      first_cure({.kind = model::HolderKind::kGlobal, .name = "pool -> default of pool()[0][3]", .container = "list"})
          .contains("seen=None"));
  EXPECT_TRUE(
      first_cure({.kind = model::HolderKind::kAttribute, .name = "adam.state", .container = "defaultdict", .length = 9})
          .contains("param_groups"));
  EXPECT_TRUE(
      first_cure({.kind = model::HolderKind::kObject, .name = "GateBackward.out"}, true).contains("save_for_backward"));
  EXPECT_TRUE(
      first_cure({.kind = model::HolderKind::kException, .name = "failed[2] -> h", .container = "list", .length = 9})
          .contains("str(error)"));
}

TEST(Leak, no_name_leads_to_it_is_said_only_where_none_does) {
  Case given = cut_run(100, 90);
  auto& holders = given.run->evidence.growth[0].holders;
  holders[0] = {};
  holders[0].holder.kind = model::HolderKind::kUnknown;
  holders[0].bytes = Bytes::mib(3);
  const auto says_so = [&] {
    const model::Finding first = diagnose(given).findings.at(0);
    return std::ranges::any_of(first.fixes, [](const auto& fix) { return fix.what.starts_with("No name leads"); });
  };
  EXPECT_TRUE(says_so());
  holders.push_back(holders[0]);
  holders[1].holder = {
      .kind = model::HolderKind::kAttribute, .name = "spy.norms[5]['weight']", .container = "dict", .length = 41};
  EXPECT_FALSE(says_so());
}

TEST(Leak, what_no_job_lives_to_see_is_no_cause_on_a_card_that_was_named) {
  Case given = cut_run(100, 90);
  model::Growth& growth = given.run->evidence.growth[0];
  growth.holders[0].has_graph = false;
  growth.holders[0].holder.name = "kept";
  growth.per_step = Bytes(8192);
  growth.runs_out_at = 1'521'542;
  EXPECT_EQ(first_label(given), "leak_growth") << "a card with plenty of memory stood in";
  given.card = model::Card{};
  EXPECT_FALSE(diagnose(given).trouble);
  growth.runs_out_at = 218'981;
  EXPECT_EQ(first_label(given), "leak_growth");
  EXPECT_NE(diagnose(given).verdict.find("the card is full at about step 218981"), std::string::npos);
  growth.per_step = Bytes(512);
  growth.runs_out_at = 24'344'651;
  EXPECT_FALSE(diagnose(given).trouble);
  growth.holders[0].has_graph = true;
  EXPECT_EQ(first_label(given), "graph_retained");
  EXPECT_LT(diagnose(given).findings[0].confidence, 0.5) << "the card's memory is not what runs out";
}

TEST(Leak, what_may_be_one_is_never_well) {
  Case given = cut_run(100, 90);
  given.run->evidence.growth[0] = {};
  given.run->evidence.growth[0].phase = "train";
  const model::Diagnosis diagnosis = diagnose(given);
  EXPECT_TRUE(diagnosis.trouble) << diagnosis.verdict;
  EXPECT_NE(diagnosis.verdict.find("perhaps a leak"), std::string::npos) << diagnosis.verdict;
}

TEST(Leak, growth_within_a_bound_is_no_cause_while_all_of_it_fits) {
  Case given = cut_run(100, 90);
  model::Growth& growth = given.run->evidence.growth[0];
  growth.per_step = Bytes(16384);
  growth.lines.emplace_back().line = "train.py:11 in main";
  growth.lines[0].per_step = Bytes(16384);
  growth.graphs.clear();
  growth.runs_out_at = 100'000;
  model::TensorGroup& held = growth.holders[0];
  held.has_graph = false;
  held.line = "train.py:11 in main";
  held.tensors = 6;
  held.bytes = Bytes(6 * 16384);
  held.holder = {
      .kind = model::HolderKind::kGlobal, .name = "buf[3]", .container = "deque(maxlen=60000)", .length = 107};
  EXPECT_FALSE(diagnose(given).trouble);
  growth.runs_out_at = 50'000;
  EXPECT_EQ(first_label(given), "leak_growth") << "the card is full before it is";
  growth.runs_out_at = 100'000;
  held.holder.container = "deque";
  EXPECT_EQ(first_label(given), "leak_growth");
  held.holder.container = "deque(maxlen=60000)";
  held.line = "train.py:12 in main";
  EXPECT_EQ(first_label(given), "leak_growth") << "something else grows";
}

TEST(Leak, batches_that_get_larger_are_told_from_what_is_joined_on_to_itself) {
  Case given = cut_run(100, 90);
  model::Growth& growth = given.run->evidence.growth[0];
  growth.of_peak = true;
  growth.holders[0].has_graph = false;
  growth.holders[0].holder.name = "batch";
  for (int step = 1; step <= 30; ++step)
    given.run->evidence.inputs.push_back({"train", step, 100 * step, "", Bytes(0)});
  EXPECT_FALSE(diagnose(given).trouble);
  EXPECT_NE(diagnose(given).verdict.find("rises with its batches"), std::string::npos);
  growth.holders[0].holder.filled_at = {"train.py:16 in main"};
  EXPECT_EQ(first_label(given), "leak_growth");
  growth.holders[0].holder.filled_at.clear();
  given.run->evidence.inputs.resize(3);
  EXPECT_EQ(first_label(given), "leak_growth") << "nothing shows that the batches are it";
}

}  // namespace
}  // namespace vramfit::doctor
