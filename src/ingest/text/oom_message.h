// Reads the out-of-memory messages of PyTorch, 0.3 to today, every back end (CUDA, HIP, XPU, NPU, MPS, cudaMallocAsync,
// the host's allocator).
//
// A message is read clause by clause from its letters alone, blanks left out, so that a line that a terminal, a mail
// or a box of characters wrapped reads the same. Whatever clause is missing stays absent.
#ifndef VRAMFIT_INGEST_TEXT_OOM_MESSAGE_H
#define VRAMFIT_INGEST_TEXT_OOM_MESSAGE_H

#include <optional>
#include <string_view>

#include "ingest/text/reader.h"
#include "model/runtime_evidence.h"

namespace vramfit::model {
struct Oom;
}

namespace vramfit::ingest {

extern const TextFormat kOomMessageFormat;

// Every message in `text`, which may be several joined lines. For one without `at` and `speaker`.
std::vector<model::OomMessage> parse_oom_messages(std::string_view text);

// The error that ended a run: PyTorch's own words, whose numbers are its own count, and beside them what the recorder
// counted. Its place is "the run".
model::OomMessage message_of_run(const model::Oom& oom, const std::optional<model::OomState>& recorded);

// Works out what follows from the printed numbers (model/evidence.h).
model::OomArithmetic oom_arithmetic(const model::OomMessage& message);

}  // namespace vramfit::ingest

#endif
