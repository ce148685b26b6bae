#include "devices/overhead.h"

#include <gtest/gtest.h>

namespace vramfit::devices {
namespace {

using base::Bytes;

model::Card known_card() {
  model::Card card;
  card.memory = Bytes::gib(8);
  card.overhead[12] = {Bytes::mib(100), Bytes::mib(1000), Bytes::mib(30), Bytes::mib(28), Bytes::mib(9)};
  card.sources["context"] = "measured";
  return card;
}

TEST(Overhead, lazy_and_eager_loading_take_their_own_figures) {
  OverheadOptions options;
  EXPECT_EQ(find_overhead(known_card(), options),
            (Overhead{Bytes::mib(100), Bytes::mib(30), Bytes::mib(28), Bytes::mib(9), "measured"}));
  options.eager_loading = true;
  EXPECT_EQ(find_overhead(known_card(), options).context, Bytes::mib(1000));
}

TEST(Overhead, figures_of_another_cuda_are_used_and_named) {
  OverheadOptions options;
  options.cuda_major = 13;
  const Overhead overhead = find_overhead(known_card(), options);
  EXPECT_EQ(overhead.context, Bytes::mib(100));
  EXPECT_NE(overhead.source.find("CUDA 12, not 13"), std::string::npos);
}

TEST(Overhead, figures_of_the_nearest_cuda_are_used_where_several_are_recorded) {
  model::Card card = known_card();
  card.overhead[13] = card.overhead[12];
  card.overhead[13].context_lazy = Bytes::mib(130);
  OverheadOptions options;
  options.cuda_major = 14;
  EXPECT_EQ(find_overhead(card, options).context, Bytes::mib(130));
  EXPECT_NE(find_overhead(card, options).source.find("CUDA 13, not 14"), std::string::npos);
  card.overhead[13].context_lazy = Bytes(0);
  EXPECT_EQ(find_overhead(card, options).context, Bytes::mib(100)) << "nothing is recorded of 13";
}

TEST(Overhead, the_users_own_figure_leaves_no_uncertainty) {
  OverheadOptions options;
  options.context = Bytes::mib(1343);
  const Overhead overhead = find_overhead(known_card(), options);
  EXPECT_EQ(overhead.context, Bytes::mib(1343));
  EXPECT_EQ(overhead.uncertainty, Bytes(0));
  EXPECT_EQ(total_of(overhead, 2), Bytes::mib(1343 + 28 + 2 * 9)) << "what comes later comes on top of it";
}

TEST(Overhead, what_a_message_tells_holds_the_libraries_too) {
  OverheadOptions options;
  options.measured = Bytes::mib(310);
  options.measured_source = "train.log:7";
  const Overhead overhead = find_overhead(known_card(), options);
  EXPECT_EQ(overhead, (Overhead{Bytes::mib(310), Bytes::mib(5), Bytes(0), Bytes(0), "train.log:7"}));
  EXPECT_EQ(total_of(overhead, 3), Bytes::mib(310));
}

TEST(Overhead, kernels_without_a_figure_take_memory_for_each_thread_that_the_card_keeps_resident) {
  model::Card card = known_card();
  card.overhead[12].kernels = card.overhead[12].library = Bytes(0);
  card.sm_count = 40;
  card.max_threads_per_sm = 1024;
  card.capability = {7, 5};
  EXPECT_EQ(find_overhead(card, {}).kernels, Bytes(std::int64_t{40} * 1024 * 330));
  card.capability = {9, 0};
  EXPECT_EQ(find_overhead(card, {}).kernels, Bytes(std::int64_t{40} * 1024 * 540));
  EXPECT_GT(find_overhead(card, {}).library, Bytes(0));
}

TEST(Overhead, half_of_what_came_later_is_uncertain) {
  EXPECT_EQ(uncertainty_of(Bytes::mib(30), Bytes::mib(50)), Bytes::mib(55));
}

TEST(Overhead, a_card_without_figures_gets_an_estimate_with_a_wide_margin) {
  const Overhead overhead = find_overhead(model::Card(), {});
  EXPECT_GT(overhead.context, Bytes(0));
  EXPECT_GE(overhead.uncertainty, Bytes::mib(200));
  EXPECT_NE(overhead.source.find("estimate"), std::string::npos);
}

TEST(Overhead, a_card_of_a_run_carries_what_the_user_changed) {
  OverheadOptions options;
  options.total = Bytes::gib(20);
  options.occupied = Bytes::gib(2);
  const model::EmulatedCard card = emulate(known_card(), options);
  EXPECT_EQ(card.total, Bytes::gib(20));
  EXPECT_EQ(card.card.memory, Bytes::gib(8));
  EXPECT_EQ(card.occupied, Bytes::gib(2));
  EXPECT_EQ(card.kernels, Bytes::mib(28));
  EXPECT_EQ(card.library, Bytes::mib(9));
}

TEST(Overhead, a_communicator_over_nvlink_holds_more_channels_than_one_over_pcie) {
  model::Card pcie, nvlink;
  pcie.name = "NVIDIA GeForce RTX 3090";
  nvlink.name = "NVIDIA A100-SXM4-80GB";
  EXPECT_EQ(estimate_nccl_channels(pcie).count(), 4 * 9633792);
  EXPECT_EQ(estimate_nccl_channels(nvlink).count(), 48 * 9633792);
}

}  // namespace
}  // namespace vramfit::devices
