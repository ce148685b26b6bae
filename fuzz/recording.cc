// A recording may be torn anywhere, or written by another version: whatever can be read of it must also be understood
// without a crash, a hang or unbounded memory.
#include "ingest/recording.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include "liveness/lifetimes.h"
#include "liveness/owners.h"
#include "liveness/peaks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace ingest = vramfit::ingest;
  namespace liveness = vramfit::liveness;
  // Records are read in place: they need their own alignment, as a mapped file has it.
  const auto storage = std::make_shared<std::vector<std::uint64_t>>((size + 7) / 8);
  if (size > 0) std::memcpy(storage->data(), data, size);
  const std::span bytes(reinterpret_cast<const std::byte*>(storage->data()), size);
  ingest::sniff_recording(bytes);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ingest::parse_strings(text);
  std::map<std::string, vramfit::model::UnreadInput> unread;
  ingest::parse_notes(text, unread);
  auto recording = ingest::parse_recording(bytes, storage, "fuzz");
  if (!recording) return 0;
  const std::vector recordings = {*recording, *recording};
  for (const auto& history : liveness::build_histories(recordings)) {
    liveness::find_peaks(history);
    liveness::find_phase_peaks(history);
    liveness::build_timeline(history, 50);
    const auto at = liveness::find_peak_event(history);
    if (at != liveness::kNever) liveness::find_owners(history, at, recordings, {});
  }
  return 0;
}
