// Reads what recorder/ and the Python hooks left in a run folder (include/vramfit/recording.h).
//
// A killed process leaves a recording that ends anywhere; a full disk leaves one that is cut short. Both are read as
// far as they go. What can't be understood is kept out and counted by name in Recording::unread.
#ifndef VRAMFIT_INGEST_RECORDING_H
#define VRAMFIT_INGEST_RECORDING_H

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/recording.h"

namespace vramfit::ingest {

// Whether the bytes begin as a recording does.
bool sniff_recording(std::span<const std::byte> bytes);

// The records of one file. `storage` must keep `bytes` alive.
base::Result<model::Recording> parse_recording(std::span<const std::byte> bytes, std::shared_ptr<const void> storage,
                                               std::string_view name);

// One string a line, '\n' and '\\' escaped as in C.
std::vector<std::string> parse_strings(std::string_view text);

// One JSON object with a "kind" a line (docs/notes.md); what is otherwise is counted in `unread`.
model::Notes parse_notes(std::string_view text, std::map<std::string, model::UnreadInput>& unread);

// Every recording of a run folder, by process id. A folder without any is an empty list; a process that left only
// notes (one that never touched the card) is there with no records.
base::Result<std::vector<model::Recording>> read_run_folder(const std::filesystem::path& folder);

}  // namespace vramfit::ingest

#endif
