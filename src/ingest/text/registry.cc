#include "ingest/text/registry.h"

#include <array>

#include "ingest/text/foreign.h"
#include "ingest/text/gpu_status.h"
#include "ingest/text/host_info.h"
#include "ingest/text/host_kill.h"
#include "ingest/text/launch_failure.h"
#include "ingest/text/library_error.h"
#include "ingest/text/loop_print.h"
#include "ingest/text/memory_summary.h"
#include "ingest/text/memory_trouble.h"
#include "ingest/text/oom_mention.h"
#include "ingest/text/oom_message.h"
#include "ingest/text/other_error.h"
#include "ingest/text/post.h"
#include "ingest/text/settings.h"
#include "ingest/text/shm_error.h"
#include "ingest/text/traceback.h"
#include "ingest/text/training_log.h"

namespace vramfit::ingest {

std::span<const TextFormat* const> text_formats() {
  static constexpr auto kFormats = std::to_array<const TextFormat*>({
      &kOomMessageFormat,
      &kTracebackFormat,
      &kLaunchFailureFormat,
      &kLibraryErrorFormat,
      &kHostKillFormat,
      &kShmErrorFormat,
      &kMemorySummaryFormat,
      &kMemoryStatsFormat,
      &kNvidiaSmiTableFormat,
      &kNvidiaSmiQueryFormat,
      &kNvidiaSmiXmlFormat,
      &kNvidiaSmiCsvFormat,
      &kNvidiaSmiMonitorFormat,
      &kGpuToolsFormat,
      &kTrainingLogFormat,
      &kForeignFormat,
      &kHostInfoFormat,
      &kSettingsFormat,
      &kRemarksFormat,
      &kOomMentionFormat,
      &kMemoryTroubleFormat,
      &kOtherErrorFormat,
      &kLoopPrintFormat,
      &kPostFormat,  // the last: it takes out what the others found in lines that tell of nothing that happened
  });
  static_assert(kFormats.size() <= 32, "TextPass keeps one bit for each");
  return kFormats;
}

}  // namespace vramfit::ingest
