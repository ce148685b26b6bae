// Event streams in one line each, for tests: "+100" allocates, "-100" frees, "S2097152" is a new segment.
#ifndef VRAMFIT_COMPARE_TESTING_STREAMS_H
#define VRAMFIT_COMPARE_TESTING_STREAMS_H

#include <string>
#include <vector>

#include "compare/event_stream.h"

namespace vramfit::compare {

inline Event event(model::TraceAction action, std::int64_t size, std::uint64_t address = 0) {
  return {action, 0, 0, size, address};
}

inline EventStream stream_of(const std::vector<std::string>& words) {
  EventStream stream;
  for (const std::string& word : words) {
    const auto action = word[0] == '+'   ? model::TraceAction::kAlloc
                        : word[0] == '-' ? model::TraceAction::kFreeCompleted
                                         : model::TraceAction::kSegmentAlloc;
    stream.events.push_back(event(action, std::stoll(word.substr(1))));
  }
  return stream;
}

}  // namespace vramfit::compare

#endif
