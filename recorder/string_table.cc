#include "string_table.h"

namespace vramfit::recorder {

std::string escape_line(std::string_view text) {
  std::string line;
  line.reserve(text.size() + 1);
  for (const char c : text) {
    if (c == '\n') {
      line += "\\n";
    } else if (c == '\\') {
      line += "\\\\";
    } else {
      line += c;
    }
  }
  line += '\n';
  return line;
}

uint32_t StringTable::intern(std::string_view text) {
  text = text.substr(0, kMaxTextBytes);
  const std::lock_guard guard(lock_);
  if (const auto known = ids_.find(text); known != ids_.end()) return known->second;
  if (bytes_ + text.size() > kMaxBytes) return 0;
  if (!file_.append(escape_line(text))) return 0;
  bytes_ += text.size();
  const std::string& kept = texts_.emplace_back(text);
  const auto id = static_cast<uint32_t>(texts_.size());
  ids_.emplace(kept, id);
  return id;
}

}  // namespace vramfit::recorder
