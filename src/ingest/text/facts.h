// All parsed numbers as one flat list, for --json.
#ifndef VRAMFIT_INGEST_TEXT_FACTS_H
#define VRAMFIT_INGEST_TEXT_FACTS_H

#include <vector>

#include "model/evidence.h"

namespace vramfit::ingest {

// Named after what they are of: "oom.tried", "oom.others", "gpu.0.used", "summary.allocated_bytes.all.current",
// "host_kill.anon_rss", "training.allocated". Several of one name are in the order of the text.
std::vector<model::Fact> collect_facts(const model::Evidence& evidence);

}  // namespace vramfit::ingest

#endif
