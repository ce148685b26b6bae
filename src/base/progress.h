// Where a use case says what it is doing. Nothing below the command line writes to a terminal; it tells a sink.
#ifndef VRAMFIT_BASE_PROGRESS_H
#define VRAMFIT_BASE_PROGRESS_H

#include <string_view>

namespace vramfit::base {

class ProgressSink {
 public:
  virtual ~ProgressSink() = default;
  // What is going on now: replaces the line before it on a terminal, and is thinned out elsewhere.
  virtual void update(std::string_view line) = 0;
  // Something that stays to be read: always shown, never replaced.
  virtual void say(std::string_view line) = 0;
  // Takes the passing line off the terminal: before somebody else writes there.
  virtual void clear() = 0;
};

// A sink for callers that want to hear nothing.
ProgressSink& silent_progress();

}  // namespace vramfit::base

#endif
