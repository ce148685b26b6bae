#include "ingest/text/told_signs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

namespace vramfit::ingest {
namespace {

bool tells(std::string_view text, std::string_view kind) {
  for (const Sentence& sentence : split_sentences(text, 1, 1)) {
    std::vector<std::string_view> kinds;
    add_told_signs(sentence, kinds);
    if (std::ranges::find(kinds, kind) != kinds.end()) return true;
  }
  return false;
}

TEST(ToldSigns, killed_is_what_nobody_did) {
  EXPECT_TRUE(tells("The trainer gets killed in its first epoch.", "told_killed"));
  EXPECT_TRUE(tells("It ends with Killed and nothing else.", "told_killed"));
  EXPECT_TRUE(tells("My job was killed by the kernel.", "told_killed"));
  EXPECT_TRUE(tells("训练到一半进程就被杀死了", "told_killed"));
  EXPECT_TRUE(tells("The web server killed while the second checkpoint was read.", "told_killed"));
  EXPECT_FALSE(tells("The job was killed by me.", "told_killed"));
  EXPECT_FALSE(tells("I killed it while it was at the second epoch.", "told_killed"));
  EXPECT_FALSE(tells("I have killed all of them.", "told_killed"));
  EXPECT_FALSE(tells("It was never killed since.", "told_killed"));
  EXPECT_FALSE(tells("All of my processes were killed when I logged out.", "told_killed"));
  EXPECT_FALSE(tells("When the process is killed the card is not released.", "told_killed"));
}

TEST(ToldSigns, memory_that_no_process_holds) {
  EXPECT_TRUE(tells("The memory of card 3 is still used, and there is no process on it.", "told_no_process"));
  EXPECT_TRUE(tells("显存被占满，但是看不到任何进程", "told_no_process"));
  EXPECT_FALSE(tells("There is no process in the list.", "told_no_process"));
}

TEST(ToldSigns, one_card_holds_more) {
  EXPECT_TRUE(tells("The memory on cuda:0 is 5 GB higher than the others.", "told_first_more"));
  EXPECT_FALSE(tells("The memory on cuda:0 is the same as on the others.", "told_first_more"));
}

TEST(ToldSigns, one_failure_makes_the_next) {
  EXPECT_TRUE(tells("Once there was an OOM error, the next batch crashes too.", "told_fails_again"));
  EXPECT_FALSE(tells("After the out of memory error I took the next smaller batch.", "told_fails_again"));
}

TEST(ToldSigns, what_is_loaded_and_not_what_is_saved) {
  EXPECT_TRUE(tells("Resuming it runs out of memory on rank 0.", "told_load_ooms"));
  EXPECT_TRUE(tells("OOM while the state_dict is loaded.", "told_load_ooms"));
  EXPECT_FALSE(tells("OOM when the checkpoint is saved to resume later.", "told_load_ooms"));
  EXPECT_FALSE(tells("With gradient checkpointing it does not go out of memory.", "told_load_ooms"));
}

TEST(ToldSigns, a_context_that_is_too_long) {
  EXPECT_TRUE(tells("The 64k context does not fit into 24 GB.", "told_context"));
  EXPECT_FALSE(tells("The CUDA context does not fit any more.", "told_context"));
  EXPECT_FALSE(tells("The context is 64k.", "told_context"));
}

TEST(ToldSigns, a_small_card_is_no_amount_of_something_else) {
  EXPECT_TRUE(tells("My card is an old GTX 750 with 2 GB.", "told_small_card"));
  EXPECT_FALSE(tells("My card is a GTX 1080 with 8 GB.", "told_small_card"));
  EXPECT_FALSE(tells("It uses 2 GB of the GPU.", "told_small_card"));
  EXPECT_FALSE(tells("The checkpoint has 2 GB and goes to the GPU.", "told_small_card"));
}

TEST(ToldSigns, the_smallest_batch) {
  EXPECT_TRUE(tells("It still happens with a batch size of 1.", "told_small_batch"));
  EXPECT_FALSE(tells("It still happens with a batch size of 16.", "told_small_batch"));
}

TEST(ToldSigns, the_decoder_and_what_lies_in_shared_memory) {
  EXPECT_TRUE(tells("All steps pass and then the VAE decode runs out of memory.", "told_vae"));
  EXPECT_FALSE(tells("The VAE decode takes a second.", "told_vae"));
  EXPECT_TRUE(tells("A segment of yesterday is still there in /dev/shm.", "told_shm_left"));
  EXPECT_FALSE(tells("The worker fails to write to /dev/shm still.", "told_shm_left"));
}

}  // namespace
}  // namespace vramfit::ingest
