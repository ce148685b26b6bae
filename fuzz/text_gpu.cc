// Readings of cards.
#include <array>

#include "ingest/text/gpu_status.h"
#include "text_evidence.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace ingest = vramfit::ingest;
  const std::array<const ingest::TextFormat*, 6> formats{
      &ingest::kNvidiaSmiTableFormat, &ingest::kNvidiaSmiQueryFormat,   &ingest::kNvidiaSmiXmlFormat,
      &ingest::kNvidiaSmiCsvFormat,   &ingest::kNvidiaSmiMonitorFormat, &ingest::kGpuToolsFormat};
  vramfit::fuzz::check_text(data, size, formats);
  return 0;
}
