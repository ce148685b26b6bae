#include "ingest/output_seen.h"

#include "ingest/told_json.h"

namespace vramfit::ingest {

std::optional<model::told::OutputSeen> parse_output_seen(std::string_view text) {
  model::told::OutputSeen seen;
  UnreadFields unread;
  const bool is_whole = read(json::parse(text, nullptr, /*allow_exceptions=*/false), seen, unread);
  return is_whole && unread.count == 0 ? std::optional(seen) : std::nullopt;
}

}  // namespace vramfit::ingest
