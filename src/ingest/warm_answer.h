// What a warm process (python/vramfit/zygote.py) says of a job.
#ifndef VRAMFIT_INGEST_WARM_ANSWER_H
#define VRAMFIT_INGEST_WARM_ANSWER_H

#include <string_view>

#include "model/told.h"

namespace vramfit::ingest {

// The answer as far as it can be read: a line that makes no sense has no id.
model::told::WarmAnswer read_warm_answer(std::string_view line);

}  // namespace vramfit::ingest

#endif
