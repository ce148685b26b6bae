// Every reader of text at once.
#include <array>

#include "ingest/text/registry.h"
#include "text_evidence.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace ingest = vramfit::ingest;
  vramfit::fuzz::check_text(data, size, ingest::text_formats());
  return 0;
}
