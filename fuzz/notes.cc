// Notes of the hooks: whatever a killed or strange process left, as far as facts are made of it.
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "facts/job_builder.h"
#include "facts/recordings.h"
#include "facts/run_facts.h"
#include "ingest/oom_report.h"
#include "ingest/recording.h"
#include "liveness/module_trace.h"
#include "model/run_result.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace ingest = vramfit::ingest;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<vramfit::model::Recording> recordings(1);
  recordings[0].notes = ingest::parse_notes(text, recordings[0].unread);
  vramfit::liveness::read_module_notes(recordings);
  const auto facts = vramfit::facts::gather(std::move(recordings));
  vramfit::facts::build_job(*facts, {});
  if (ingest::is_oom_report(text)) (void)ingest::read_oom_report(text);
  return 0;
}
