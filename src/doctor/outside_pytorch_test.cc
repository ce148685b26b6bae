#include "doctor/outside_pytorch.h"

#include <gtest/gtest.h>

#include "doctor/diagnose.h"

namespace vramfit::doctor {
namespace {

using model::Bytes;
using model::PrintedBytes;

model::Card card_of(const std::string& name, double gib, int threads_kib) {
  model::Card card;
  card.name = name;
  card.memory = Bytes(static_cast<std::int64_t>(gib * (1 << 30)));
  card.sm_count = threads_kib;
  card.max_threads_per_sm = 1024;
  card.overhead[12] = {Bytes::mib(259), Bytes::mib(1400), Bytes::mib(50), Bytes::mib(40), Bytes::mib(11)};
  return card;
}

PrintedBytes printed(Bytes bytes) { return {bytes, bytes - Bytes::mib(5), bytes + Bytes::mib(5)}; }

// A message whose process holds `held` besides 1000 MiB that PyTorch reserved.
model::OomMessage message(std::int64_t held_mib, double total_gib = 23.69) {
  model::OomMessage oom;
  oom.at = {"log", 9, "CUDA out of memory"};
  oom.device = model::OomDevice::kCuda;
  oom.total = printed(Bytes(static_cast<std::int64_t>(total_gib * (1 << 30))));
  oom.arithmetic.own_process = printed(Bytes::mib(1000 + held_mib));
  oom.arithmetic.reserved = printed(Bytes::mib(1000));
  oom.arithmetic.context = *oom.arithmetic.own_process - *oom.arithmetic.reserved;
  return oom;
}

Case case_of(std::vector<model::OomMessage> messages) {
  Case given;
  given.texts.ooms = std::move(messages);
  given.cards = {card_of("NVIDIA GeForce RTX 3090", 23.69, 123), card_of("NVIDIA T4", 14.56, 40)};
  return given;
}

std::string said(const Case& given) {
  const auto all = find_outside_pytorch(given);
  return all.empty() ? "" : all.front().text;
}

bool has(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

TEST(OutsidePyTorch, the_card_is_known_by_its_capacity) {
  const auto all = find_outside_pytorch(case_of({message(310)}));
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].cards, std::vector<std::string>{"NVIDIA GeForce RTX 3090"});
  ASSERT_TRUE(all[0].held);
  EXPECT_EQ(all[0].held->value, Bytes::mib(310));
  EXPECT_TRUE(has(all[0].text, "310 MiB with kernels and one library: here the same")) << all[0].text;
}

TEST(OutsidePyTorch, what_the_user_says_goes_before_what_the_texts_name) {
  Case given = case_of({message(310)});
  model::GpuStatus status;
  status.cards.push_back({.name = "NVIDIA GeForce RTX 3090"});
  given.texts.gpu_status.push_back(status);
  EXPECT_TRUE(has(said(given), "RTX 3090")) << said(given);
  given.card = card_of("NVIDIA T4", 14.56, 40);
  EXPECT_TRUE(has(said(given), "NVIDIA T4")) << said(given);
}

TEST(OutsidePyTorch, as_little_as_a_context_is_compared_with_a_context) {
  EXPECT_TRUE(has(said(case_of({message(255)})), "without kernels: here the same")) << said(case_of({message(255)}));
  EXPECT_TRUE(has(said(case_of({message(200)})), "59 MiB less")) << said(case_of({message(200)}));
}

TEST(OutsidePyTorch, what_no_number_of_libraries_explains_is_said_to_be_something_else) {
  const std::string text = said(case_of({message(900)}));
  EXPECT_TRUE(has(text, "four libraries") && has(text, "NCCL")) << text;
}

TEST(OutsidePyTorch, figures_that_do_not_add_up_are_not_shown_as_memory) {
  for (const std::int64_t held : {std::int64_t{-400}, std::int64_t{0}}) {
    const auto all = find_outside_pytorch(case_of({message(held)}));
    ASSERT_EQ(all.size(), 1U);
    EXPECT_FALSE(all[0].held);
    EXPECT_TRUE(has(all[0].text, "don't add up")) << all[0].text;
  }
  model::OomMessage less = message(310);
  less.this_process = printed(Bytes::mib(3));  // as some containers print it: less than PyTorch itself reserved
  less.arithmetic.own_process.reset();
  less.arithmetic.context.reset();
  EXPECT_TRUE(has(said(case_of({less})), "don't add up")) << said(case_of({less}));
}

TEST(OutsidePyTorch, several_cards_of_one_capacity_are_all_named) {
  Case given = case_of({message(310)});
  given.cards.push_back(card_of("NVIDIA RTX A5000", 23.68, 96));
  EXPECT_TRUE(has(said(given), "RTX 3090, NVIDIA RTX A5000")) << said(given);
}

TEST(OutsidePyTorch, an_unknown_card_is_said_to_be_unknown) {
  EXPECT_TRUE(has(said(case_of({message(310, 10.0)})), "--gpu")) << said(case_of({message(310, 10.0)}));
}

TEST(OutsidePyTorch, equal_messages_count_once_and_those_without_the_figures_not_at_all) {
  model::OomMessage bare = message(310);
  bare.arithmetic.own_process.reset();
  bare.arithmetic.context.reset();
  EXPECT_EQ(find_outside_pytorch(case_of({bare})).size(), 0U);
  EXPECT_EQ(find_outside_pytorch(case_of({message(310), message(310), message(320)})).size(), 2U);
}

TEST(OutsidePyTorch, a_run_on_a_virtual_card_tells_nothing_of_real_ones) {
  Case given = case_of({message(310)});
  EXPECT_EQ(diagnose(given).outside_pytorch.size(), 1U);
  given.run = model::RunResult();
  EXPECT_TRUE(diagnose(given).outside_pytorch.empty());
}

}  // namespace
}  // namespace vramfit::doctor
