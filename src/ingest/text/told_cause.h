// What a sentence of prose says of who fills a card and of what cured or caused a failure: the writer was there.
#ifndef VRAMFIT_INGEST_TEXT_TOLD_CAUSE_H
#define VRAMFIT_INGEST_TEXT_TOLD_CAUSE_H

#include <string_view>
#include <vector>

#include "ingest/text/sentence.h"

namespace vramfit::ingest {

// Kinds of remarks, each for one thing that the sentence says; none of a question, a wish or a condition:
//   told_own_many      several processes of the job are on one card: "13 workers, all on gpu 0"
//   told_others        another one's process, or one that was left over, holds the card
//   told_means_card    the job is meant for a card that is not the first: ".cuda(1)"
//   told_pin_cured     it works without pinned memory
//   told_load_fails    it fails once a checkpoint was loaded; told_fresh_works: and does not without
//   told_eval_fails    it fails in an evaluation; told_train_works: training passes
//   told_eval_gathers  results of an evaluation are kept
//   told_long_input    inputs that are longer than the rest
//   told_logits        logits over the whole vocabulary
//   told_server_share  a server's share of the card was tuned
//   told_cause_LABEL   what cures the cause of this label made it go
//   told_memory_cured  what made it go is named after some memory: "fixed with --shm-size=8g"
//   and those of told_signs.h
//   told_allocator     a setting of PyTorch's allocator is what fails
std::vector<std::string_view> told_causes(const Sentence& sentence);

}  // namespace vramfit::ingest

#endif
