// The host, training logs and settings.
#include <array>

#include "ingest/text/host_info.h"
#include "ingest/text/host_kill.h"
#include "ingest/text/settings.h"
#include "ingest/text/shm_error.h"
#include "ingest/text/training_log.h"
#include "text_evidence.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace ingest = vramfit::ingest;
  const std::array<const ingest::TextFormat*, 6> formats{&ingest::kHostInfoFormat, &ingest::kHostKillFormat,
                                                         &ingest::kShmErrorFormat, &ingest::kTrainingLogFormat,
                                                         &ingest::kSettingsFormat, &ingest::kRemarksFormat};
  vramfit::fuzz::check_text(data, size, formats);
  return 0;
}
