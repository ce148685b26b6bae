#include "app/measured_overhead.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/temporary_file.h"

namespace vramfit::app {
namespace {

using base::Bytes;

std::string message(double process_gib, double allocated_gib, double idle_mib) {
  return fmt::format(
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.69 GiB "
      "of which 1.10 GiB is free. Including non-PyTorch memory, this process has {:.2f} GiB memory in use. Of the "
      "allocated memory {:.2f} GiB is allocated by PyTorch, with 12.00 MiB allocated in private pools (e.g., CUDA "
      "Graphs), and {:.2f} MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try "
      "setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.\n",
      process_gib, allocated_gib, idle_mib);
}

class HeldMemoryTest : public testing::Test {
 protected:
  base::Result<job::MeasuredOverhead> read(const std::string& text) {
    EXPECT_TRUE(base::write_file(file_.path(), text));
    return read_measured_overhead(file_.path());
  }
  base::TemporaryFile file_{"held"};
};

TEST_F(HeldMemoryTest, is_what_the_process_has_less_what_pytorch_reserved) {
  const auto held = read("step 1\nstep 2\n" + message(15.42, 15.05, 76.56));
  ASSERT_TRUE(held) << to_string(held.error());
  EXPECT_NEAR(held->bytes.as_mib(), (15.42 - 15.05) * 1024 - 76.56, 0.01);
  EXPECT_NE(held->source.find("its message in line 3"), std::string::npos) << held->source;
  EXPECT_NE(held->source.find(file_.path().string()), std::string::npos) << held->source;
}

TEST_F(HeldMemoryTest, of_several_messages_is_the_largest_and_says_which) {
  const auto held = read(message(15.42, 15.05, 76.56) + "again\n" + message(16.42, 15.95, 76.56));
  ASSERT_TRUE(held) << to_string(held.error());
  EXPECT_NEAR(held->bytes.as_mib(), (16.42 - 15.95) * 1024 - 76.56, 0.01);
  EXPECT_NE(held->source.find("the largest of its 2 messages in line 3"), std::string::npos) << held->source;
}

TEST_F(HeldMemoryTest, is_of_a_card_with_that_capacity) {
  const auto held = read(message(15.42, 15.05, 76.56));
  ASSERT_TRUE(held) << to_string(held.error());
  model::Card card;
  card.name = "RTX 3090";
  card.memory = Bytes::mib(24135);  // as another driver reports it
  EXPECT_TRUE(check_card(*held, card));
  card.memory = Bytes::mib(45488);
  const auto other = check_card(*held, card);
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().what.find("23.69 GiB"), std::string::npos) << other.error().what;
  EXPECT_TRUE(check_card({Bytes::mib(300), "a size without a card"}, card));
}

TEST_F(HeldMemoryTest, figures_that_do_not_add_up_are_refused_where_nothing_else_is) {
  const auto held = read(message(3.0, 15.05, 76.56));
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().where, file_.path().string());
}

TEST_F(HeldMemoryTest, a_text_without_such_a_message_is_refused_with_what_to_try) {
  const auto without = read("epoch 1 loss 0.3\n");
  ASSERT_FALSE(without);
  EXPECT_NE(without.error().what.find("no out-of-memory message"), std::string::npos);
  EXPECT_FALSE(without.error().remedy.empty());
  const auto old = read(
      "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 7.93 GiB total capacity; 6.50 GiB already "
      "allocated; 10.00 MiB free; 6.80 GiB reserved in total by PyTorch)\n");
  ASSERT_FALSE(old);
  EXPECT_NE(old.error().what.find("in use"), std::string::npos) << old.error().what;
}

TEST_F(HeldMemoryTest, a_file_that_is_not_there_is_an_error) {
  EXPECT_FALSE(read_measured_overhead(file_.path().string() + ".none"));
}

}  // namespace
}  // namespace vramfit::app
