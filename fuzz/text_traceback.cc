// Tracebacks in every style, and what launchers say of their processes.
#include <array>

#include "ingest/text/launch_failure.h"
#include "ingest/text/traceback.h"
#include "text_evidence.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace ingest = vramfit::ingest;
  const std::array<const ingest::TextFormat*, 2> formats{&ingest::kTracebackFormat, &ingest::kLaunchFailureFormat};
  vramfit::fuzz::check_text(data, size, formats);
  return 0;
}
