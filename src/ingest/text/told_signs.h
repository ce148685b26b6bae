// What a sentence of prose tells of a failure by its grammar, whatever it is about otherwise.
#ifndef VRAMFIT_INGEST_TEXT_TOLD_SIGNS_H
#define VRAMFIT_INGEST_TEXT_TOLD_SIGNS_H

#include <string_view>
#include <vector>

#include "ingest/text/sentence.h"

namespace vramfit::ingest {

// Adds kinds of remarks, as `told_causes` does; the sentence says that it is so:
//   told_killed        something was killed, and nobody did it: "it just says killed"
//   told_no_process    memory of a card is held, and no process is seen that holds it
//   told_first_more    the first card holds more than the others
//   told_fails_again   after an out-of-memory error what comes next fails too
//   told_context       a context is too long for the memory there is
//   told_load_ooms     memory runs out where a checkpoint is loaded
//   told_small_card    the card has 4 GB or less
//   told_small_batch   it fails with a batch of one or two as well
//   told_vae           it fails where a picture, a film or a sound is decoded from its latents
//   told_shm_left      something of an earlier run lies in /dev/shm
void add_told_signs(const Sentence& sentence, std::vector<std::string_view>& causes);

}  // namespace vramfit::ingest

#endif
