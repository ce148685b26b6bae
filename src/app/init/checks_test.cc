#include <gtest/gtest.h>

#include <algorithm>

#include "app/init/init.h"

namespace vramfit::app {
namespace {

using base::Bytes;
using model::EnvironmentCheck;
using model::EnvironmentState;

// A machine with nothing to complain of.
InitFacts healthy() {
  InitFacts facts{.interpreter =
                      job::Interpreter{.python = "3.12", .torch = "2.12.1", .cuda = "13.0", .architectures = {{8, 6}}}};
  facts.machine.driver = {.answers = true, .problem = {}, .version = "580.82.07", .cuda = "13.0"};
  facts.machine.cards.resize(1);
  facts.machine.cards[0].uuid = "GPU-1";
  facts.machine.cards[0].name = "Card A";
  facts.machine.cards[0].index = 0;
  facts.machine.cards[0].persistence_mode = 1;
  facts.capabilities = {{"Card A", {8, 6}}, {"Card B", {6, 1}}};
  auto& host = facts.machine.host;
  host.shm_total_bytes = Bytes::gib(16).count();
  host.shm_used_bytes = 0;
  host.memory_total_bytes = Bytes::gib(64).count();
  host.memory_available_bytes = Bytes::gib(32).count();
  host.swap_total_bytes = host.swap_used_bytes = 0;
  facts.limits = {.open_files = 65536, .open_files_hard = 65536, .locked_bytes = std::nullopt, .may_lock_all = false};
  facts.cache_folder = facts.store_folder = facts.temporary_folder = "/x";
  facts.cache_free_bytes = facts.store_free_bytes = facts.temporary_free_bytes = Bytes::gib(100).count();
  return facts;
}

// The worst check of that name.
EnvironmentCheck find(const InitFacts& facts, std::string_view id) {
  EnvironmentCheck worst;
  for (const EnvironmentCheck& check : check_environment(facts)) {
    if (check.id != id) continue;
    if (worst.id.empty() || check.state == EnvironmentState::kProblem ||
        (check.state != EnvironmentState::kOk && worst.state == EnvironmentState::kOk)) {
      worst = check;
    }
  }
  return worst;
}

TEST(Init, a_healthy_machine_has_no_complaint) {
  for (const EnvironmentCheck& check : check_environment(healthy())) {
    EXPECT_EQ(check.state, EnvironmentState::kOk) << check.id << ": " << check.text;
    EXPECT_TRUE(check.why.empty() && check.fix.empty()) << check.id;
  }
}

TEST(Init, whatever_is_wrong_has_a_reason_and_a_remedy) {
  InitFacts facts = healthy();
  facts.machine.driver.version = "470.1";
  facts.machine.cards[0].persistence_mode = 0;
  facts.machine.host.shm_total_bytes = Bytes::mib(64).count();
  facts.limits.open_files = 256;
  facts.limits.locked_bytes = 65536;
  facts.cache_free_bytes = 0;
  facts.variables["PYTORCH_ALLOC_CONF"] = "expandable_segment:True";
  int wrong = 0;
  for (const EnvironmentCheck& check : check_environment(facts)) {
    if (check.state == EnvironmentState::kOk) continue;
    ++wrong;
    EXPECT_FALSE(check.why.empty()) << check.id;
    EXPECT_FALSE(check.fix.empty()) << check.id;
  }
  EXPECT_EQ(wrong, 7);
}

TEST(Init, a_misspelt_setting_is_named_with_the_nearest) {
  InitFacts facts = healthy();
  facts.variables["PYTORCH_CUDA_ALLOC_CONF"] = "max_split_size_mb:128,expandible_segments:True";
  const EnvironmentCheck check = find(facts, "allocator");
  EXPECT_EQ(check.state, EnvironmentState::kProblem);
  EXPECT_EQ(check.fix, "expandable_segments instead of expandible_segments");
  facts.variables["PYTORCH_CUDA_ALLOC_CONF"] = "release_lock_on_hipmalloc:True,max_split_size_mb:5";
  EXPECT_EQ(find(facts, "allocator").fix, "unset PYTORCH_CUDA_ALLOC_CONF") << "both are known: the value is wrong";
  facts.variables["PYTORCH_CUDA_ALLOC_CONF"] = "max_split_size_mb:128";
  EXPECT_EQ(find(facts, "allocator").state, EnvironmentState::kOk);
  facts.variables["PYTORCH_ALLOC_CONF"] = "expandable_segments:True";
  EXPECT_EQ(find(facts, "allocator").state, EnvironmentState::kWarning) << "both are set, and differ";
}

TEST(Init, torch_against_driver_and_card) {
  InitFacts facts = healthy();
  facts.machine.driver.cuda = "12.4";
  EXPECT_EQ(find(facts, "torch").state, EnvironmentState::kProblem);
  facts = healthy();
  facts.machine.cards[0].name = "Card B";
  EXPECT_EQ(find(facts, "kernels").state, EnvironmentState::kProblem);
  facts.machine.cards[0].name = "Card of next year";
  EXPECT_EQ(find(facts, "kernels").state, EnvironmentState::kUnknown);
  facts.interpreter->cuda.clear();
  EXPECT_EQ(find(facts, "torch").state, EnvironmentState::kProblem);
  facts.interpreter->torch.clear();
  EXPECT_EQ(find(facts, "torch").state, EnvironmentState::kWarning);
  facts.interpreter = base::fail(base::ErrorCode::kNotFound, "there is no python");
  EXPECT_EQ(find(facts, "torch").state, EnvironmentState::kUnknown);
}

TEST(Init, without_a_card_it_says_what_it_cannot_look_at) {
  InitFacts facts = healthy();
  facts.machine.cards.clear();
  facts.machine.driver = {};
  EXPECT_EQ(find(facts, "driver").state, EnvironmentState::kWarning);
  EXPECT_EQ(find(facts, "cards").state, EnvironmentState::kUnknown);
}

TEST(Init, divided_lost_and_crowded_cards) {
  InitFacts facts = healthy();
  facts.machine.cards[0].mig_mode = 1;
  EXPECT_EQ(find(facts, "mig").state, EnvironmentState::kProblem) << "no slices";
  facts.machine.cards.push_back({.uuid = "MIG-1", .name = "slice", .parent = "GPU-1"});
  EXPECT_EQ(find(facts, "mig").state, EnvironmentState::kWarning);
  facts.machine.cards[0].problem = "fell off the bus";
  EXPECT_EQ(find(facts, "card").state, EnvironmentState::kProblem);
  facts = healthy();
  facts.machine.processes.push_back({.pid = 77, .name = "python"});
  facts.machine.processes[0].uses.push_back({.card = "GPU-1", .used_bytes = Bytes::gib(2).count()});
  const EnvironmentCheck others = find(facts, "others");
  EXPECT_EQ(others.state, EnvironmentState::kWarning);
  EXPECT_NE(others.text.find("1 other process holds 2.00 GiB (pid 77 python)"), std::string::npos) << others.text;
}

TEST(Init, a_group_that_is_nearly_full_and_swap) {
  InitFacts facts = healthy();
  facts.machine.host.cgroup_limit_bytes = Bytes::gib(8).count();
  facts.machine.host.cgroup_used_bytes = Bytes::gib(1).count();
  EXPECT_EQ(find(facts, "memory").state, EnvironmentState::kOk);
  facts.machine.host.cgroup_used_bytes = Bytes::gib(8).count();
  EXPECT_EQ(find(facts, "memory").state, EnvironmentState::kWarning);
  facts.machine.host.swap_total_bytes = Bytes::gib(4).count();
  facts.machine.host.swap_used_bytes = Bytes::gib(3).count();
  EXPECT_EQ(find(facts, "swap").state, EnvironmentState::kWarning);
  facts.machine.host.shm_total_bytes = model::Absence::kNotSupported;
  EXPECT_EQ(find(facts, "shm").state, EnvironmentState::kUnknown) << "never a zero";
}

}  // namespace
}  // namespace vramfit::app
