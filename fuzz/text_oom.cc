// Out-of-memory messages, and the errors and dumps that stand for them.
#include <array>

#include "ingest/text/foreign.h"
#include "ingest/text/library_error.h"
#include "ingest/text/memory_summary.h"
#include "ingest/text/oom_message.h"
#include "text_evidence.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace ingest = vramfit::ingest;
  const std::array<const ingest::TextFormat*, 5> formats{&ingest::kOomMessageFormat, &ingest::kLibraryErrorFormat,
                                                         &ingest::kMemorySummaryFormat, &ingest::kMemoryStatsFormat,
                                                         &ingest::kForeignFormat};
  vramfit::fuzz::check_text(data, size, formats);
  return 0;
}
