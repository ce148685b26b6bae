// Finds prose and fragments that speak of GPU memory that ran out, in whatever form: an exception's name in a report in
// another language, a sentence of a user's. No message of PyTorch's, so nothing follows from it but that all is not
// well.
#ifndef VRAMFIT_INGEST_TEXT_OOM_MENTION_H
#define VRAMFIT_INGEST_TEXT_OOM_MENTION_H

#include "ingest/text/reader.h"

namespace vramfit::ingest {

extern const TextFormat kOomMentionFormat;

// Whether it is mentioned, and not in a line of code or advice: `except torch.cuda.OutOfMemoryError:`, "if you run into
// CUDA out of memory, ...".
bool mentions_oom(std::string_view text);

}  // namespace vramfit::ingest

#endif
