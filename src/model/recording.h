// What one process of a job left behind: its records, its strings and the notes of the Python hooks. It is read by
// src/facts and what lies below it; the headers of those rooms only name it (tools/check_layers).
#ifndef VRAMFIT_MODEL_RECORDING_H
#define VRAMFIT_MODEL_RECORDING_H

#include <vramfit/recording.h>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/notes.h"
#include "model/unread_input.h"

namespace vramfit::model {

struct Recording {
  int pid = 0;
  std::int64_t started_at_ns = 0;
  std::span<const vf_record> records;  // lies in `storage`
  std::vector<std::string> strings;    // strings[id - 1]
  Notes notes;                         // docs/notes.md
  std::map<std::string, UnreadInput> unread;
  std::shared_ptr<const void> storage;  // the mapped file, or a vector in tests

  // The text of a string id; empty for 0 and for ids that were lost.
  std::string_view text(std::uint32_t id) const {
    return id == 0 || id > strings.size() ? std::string_view() : std::string_view(strings[id - 1]);
  }
};

}  // namespace vramfit::model

#endif
