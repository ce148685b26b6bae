#include "tui/watch_view.h"

#include <gtest/gtest.h>

#include "tui/testing/samples.h"
#include "tui/watch_history.h"

namespace vramfit::tui {
namespace {

using model::CardUse;

constexpr std::int64_t kGib = std::int64_t{1} << 30;

std::vector<std::string> pids(const WatchView& view) {
  std::vector<std::string> list;
  for (const auto& process : view.processes) list.push_back(process.pid);
  return list;
}

WatchView view_with(const WatchState& state) { return build_watch_view(testing::busy_machine(), state, {}); }

TEST(WatchView, processes_are_sorted_and_reversed) {
  using List = std::vector<std::string>;
  EXPECT_EQ(pids(view_with({})), (List{"4001", "4002", "4100", "5000", "6000"}));
  EXPECT_EQ(pids(view_with({.reversed = true})), (List{"6000", "5000", "4100", "4002", "4001"}));
  EXPECT_EQ(pids(view_with({.sort = SortBy::kCard})), (List{"4001", "4002", "5000", "6000", "4100"}));
}

TEST(WatchView, a_filter_looks_at_everything_that_is_shown) {
  EXPECT_EQ(pids(view_with({.filter = "TRAIN"})).size(), 2u);
  EXPECT_EQ(pids(view_with({.filter = "job 4711"})).size(), 2u);
  EXPECT_EQ(pids(view_with({.filter = "gpu2:0"})).size(), 1u);
  EXPECT_EQ(view_with({.filter = "nothing"}).hidden, 5);
}

TEST(WatchView, one_card_is_shown_with_its_slices_and_processes_alone) {
  const auto view = view_with({.cards = {"2"}});
  ASSERT_EQ(view.cards.size(), 2u);
  EXPECT_EQ(view.cards[0].index, "2");
  EXPECT_TRUE(view.cards[1].is_slice);
  EXPECT_EQ(pids(view), (std::vector<std::string>{"4100"}));
  EXPECT_EQ(view.elsewhere, 4);
  EXPECT_EQ(view.hidden, 0);
  EXPECT_EQ(view.all_cards, 4);
}

TEST(WatchView, a_card_that_there_is_not_is_told_with_those_that_there_are) {
  const auto view = view_with({.cards = {"1", "7"}});
  EXPECT_EQ(view.cards.size(), 1u);
  ASSERT_EQ(view.remarks.size(), 1u);
  EXPECT_EQ(view.remarks[0], (Remark{Level::kBad, "there is no card 7: the cards are 0, 1, 2, 3"}));
}

TEST(WatchView, workers_stand_under_the_parent_they_share) {
  const auto view = view_with({.tree = true});
  ASSERT_EQ(view.processes.size(), 6u);
  std::size_t at = 0;
  while (view.processes[at].pid != "4000") ++at;
  EXPECT_EQ(view.processes[at].command, "torchrun (parent)");
  EXPECT_EQ(view.processes[at + 1].pid, "4001");
  EXPECT_EQ(view.processes[at + 1].depth, 1);
}

TEST(WatchView, what_lies_between_the_driver_and_pytorch_is_named) {
  CardUse use{.used_bytes = 6 * kGib};
  EXPECT_EQ(explain_use(use), "");
  use.allocated_bytes = 3 * kGib;
  use.reserved_bytes = 5 * kGib;
  EXPECT_EQ(explain_use(use),
            "PyTorch: 3.00 GiB in tensors, 5.00 GiB reserved + 1024 MiB context, libraries and other");
  use.context_bytes = kGib / 2;
  use.library_bytes = kGib / 8;
  EXPECT_EQ(explain_use(use),
            "PyTorch: 3.00 GiB in tensors, 5.00 GiB reserved + 512 MiB context + 128 MiB libraries + 384 MiB other");
}

TEST(WatchView, a_lost_card_has_dashes_and_no_zeros) {
  const auto view = view_with({});
  const CardView& lost = view.cards.back();
  EXPECT_TRUE(lost.is_lost);
  EXPECT_EQ(lost.used, "-");
  EXPECT_EQ(lost.temperature, "-");
  EXPECT_FALSE(lost.fraction);
  ASSERT_FALSE(lost.remarks.empty());
  EXPECT_EQ(lost.remarks[0], (Remark{Level::kBad, "fell off the bus"}));
}

TEST(WatchView, a_driver_that_does_not_answer_is_said_first) {
  model::MachineSample sample;
  sample.driver.problem = "the driver is not loaded";
  const auto view = build_watch_view(sample, {}, {"GPU 0: mem is 97 % (mem>90%)"});
  ASSERT_EQ(view.remarks.size(), 2u);
  EXPECT_EQ(view.remarks[0].text, "the driver is not loaded");
  EXPECT_EQ(view.remarks[1].text, "ALERT GPU 0: mem is 97 % (mem>90%)");
}

TEST(WatchHistory, keeps_the_highest_of_each_column_and_gaps) {
  WatchHistory history(6);
  auto sample = testing::busy_machine();
  for (const int used : {1, 5, 2, 3}) {
    sample.cards[0].used_bytes = used * kGib;
    history.add(sample);
  }
  const auto points = history.last(sample.cards[0].uuid, 10, 2);
  ASSERT_EQ(points.size(), 2u);
  EXPECT_FLOAT_EQ(*points[0].memory, 5.0f / 24);
  EXPECT_FLOAT_EQ(*points[1].memory, 3.0f / 24);
  EXPECT_FALSE(history.last(sample.cards[4].uuid, 1, 1)[0].memory);
  EXPECT_EQ(history.last("nobody", 1, 1).size(), 0u);
}

}  // namespace
}  // namespace vramfit::tui
