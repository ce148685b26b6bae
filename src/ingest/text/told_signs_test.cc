#include "ingest/text/told_signs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

namespace vramfit::ingest {
namespace {

using model::SentenceKind;

bool tells(std::string_view text, SentenceKind kind) {
  for (const Sentence& sentence : split_sentences(text, 1, 1)) {
    std::vector<SentenceKind> kinds;
    add_told_signs(sentence, kinds);
    if (std::ranges::find(kinds, kind) != kinds.end()) return true;
  }
  return false;
}

TEST(ToldSigns, killed_is_what_nobody_did) {
  EXPECT_TRUE(tells("The trainer gets killed in its first epoch.", SentenceKind::kToldKilled));
  EXPECT_TRUE(tells("It ends with Killed and nothing else.", SentenceKind::kToldKilled));
  EXPECT_TRUE(tells("My job was killed by the kernel.", SentenceKind::kToldKilled));
  EXPECT_TRUE(tells("训练到一半进程就被杀死了", SentenceKind::kToldKilled));
  EXPECT_TRUE(tells("The web server killed while the second checkpoint was read.", SentenceKind::kToldKilled));
  EXPECT_FALSE(tells("The job was killed by me.", SentenceKind::kToldKilled));
  EXPECT_FALSE(tells("I killed it while it was at the second epoch.", SentenceKind::kToldKilled));
  EXPECT_FALSE(tells("I have killed all of them.", SentenceKind::kToldKilled));
  EXPECT_FALSE(tells("It was never killed since.", SentenceKind::kToldKilled));
  EXPECT_FALSE(tells("All of my processes were killed when I logged out.", SentenceKind::kToldKilled));
  EXPECT_FALSE(tells("When the process is killed the card is not released.", SentenceKind::kToldKilled));
}

TEST(ToldSigns, memory_that_no_process_holds) {
  EXPECT_TRUE(
      tells("The memory of card 3 is still used, and there is no process on it.", SentenceKind::kToldNoProcess));
  EXPECT_TRUE(tells("显存被占满，但是看不到任何进程", SentenceKind::kToldNoProcess));
  EXPECT_FALSE(tells("There is no process in the list.", SentenceKind::kToldNoProcess));
}

TEST(ToldSigns, one_card_holds_more) {
  EXPECT_TRUE(tells("The memory on cuda:0 is 5 GB higher than the others.", SentenceKind::kToldFirstMore));
  EXPECT_FALSE(tells("The memory on cuda:0 is the same as on the others.", SentenceKind::kToldFirstMore));
}

TEST(ToldSigns, one_failure_makes_the_next) {
  EXPECT_TRUE(tells("Once there was an OOM error, the next batch crashes too.", SentenceKind::kToldFailsAgain));
  EXPECT_FALSE(tells("After the out of memory error I took the next smaller batch.", SentenceKind::kToldFailsAgain));
}

TEST(ToldSigns, what_is_loaded_and_not_what_is_saved) {
  EXPECT_TRUE(tells("Resuming it runs out of memory on rank 0.", SentenceKind::kToldLoadOoms));
  EXPECT_TRUE(tells("OOM while the state_dict is loaded.", SentenceKind::kToldLoadOoms));
  EXPECT_FALSE(tells("OOM when the checkpoint is saved to resume later.", SentenceKind::kToldLoadOoms));
  EXPECT_FALSE(tells("With gradient checkpointing it does not go out of memory.", SentenceKind::kToldLoadOoms));
}

TEST(ToldSigns, a_context_that_is_too_long) {
  EXPECT_TRUE(tells("The 64k context does not fit into 24 GB.", SentenceKind::kToldContext));
  EXPECT_FALSE(tells("The CUDA context does not fit any more.", SentenceKind::kToldContext));
  EXPECT_FALSE(tells("The context is 64k.", SentenceKind::kToldContext));
}

TEST(ToldSigns, a_small_card_is_no_amount_of_something_else) {
  EXPECT_TRUE(tells("My card is an old GTX 750 with 2 GB.", SentenceKind::kToldSmallCard));
  EXPECT_FALSE(tells("My card is a GTX 1080 with 8 GB.", SentenceKind::kToldSmallCard));
  EXPECT_FALSE(tells("It uses 2 GB of the GPU.", SentenceKind::kToldSmallCard));
  EXPECT_FALSE(tells("The checkpoint has 2 GB and goes to the GPU.", SentenceKind::kToldSmallCard));
}

TEST(ToldSigns, the_smallest_batch) {
  EXPECT_TRUE(tells("It still happens with a batch size of 1.", SentenceKind::kToldSmallBatch));
  EXPECT_FALSE(tells("It still happens with a batch size of 16.", SentenceKind::kToldSmallBatch));
}

TEST(ToldSigns, the_decoder_and_what_lies_in_shared_memory) {
  EXPECT_TRUE(tells("All steps pass and then the VAE decode runs out of memory.", SentenceKind::kToldVae));
  EXPECT_FALSE(tells("The VAE decode takes a second.", SentenceKind::kToldVae));
  EXPECT_TRUE(tells("A segment of yesterday is still there in /dev/shm.", SentenceKind::kToldShmLeft));
  EXPECT_FALSE(tells("The worker fails to write to /dev/shm still.", SentenceKind::kToldShmLeft));
}

}  // namespace
}  // namespace vramfit::ingest
