#ifndef VRAMFIT_RECORDER_STRING_TABLE_H
#define VRAMFIT_RECORDER_STRING_TABLE_H

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "append_file.h"

namespace vramfit::recorder {

// strings.<pid>.txt: text -> id, where the id is the line number from 1. Thread-safe. Never fails: what can't be kept
// (disk full, more than kMaxBytes) is id 0.
class StringTable {
 public:
  static constexpr size_t kMaxTextBytes = 4096;     // longer texts are cut
  static constexpr size_t kMaxBytes = 64ull << 20;  // of all texts; a job that marks every step stays bounded

  explicit StringTable(std::string path) : file_(std::move(path), AppendFile::Start::kTruncate) {}

  uint32_t intern(std::string_view text);
  void abandon() { file_.close_quietly(); }

 private:
  std::mutex lock_;
  AppendFile file_;
  std::deque<std::string> texts_;  // a deque, so that the views in ids_ stay valid
  std::unordered_map<std::string_view, uint32_t> ids_;
  size_t bytes_ = 0;
};

// One line of the strings file: '\n' and '\\' escaped, the line break added.
std::string escape_line(std::string_view text);

}  // namespace vramfit::recorder

#endif
