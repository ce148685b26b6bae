// Reads torch.cuda.memory_summary() (whole and abbreviated) and printed torch.cuda.memory_stats() (a dict as Python,
// pprint or JSON print it, or one "key: value" a line).
#ifndef VRAMFIT_INGEST_TEXT_MEMORY_SUMMARY_H
#define VRAMFIT_INGEST_TEXT_MEMORY_SUMMARY_H

#include "ingest/text/reader.h"

namespace vramfit::ingest {

extern const TextFormat kMemorySummaryFormat;
extern const TextFormat kMemoryStatsFormat;

}  // namespace vramfit::ingest

#endif
