// Where something stands in a text, and who printed it.
#ifndef VRAMFIT_MODEL_SOURCE_LINE_H
#define VRAMFIT_MODEL_SOURCE_LINE_H

#include <cstdint>
#include <optional>
#include <string>

namespace vramfit::model {

struct SourceLine {
  std::string file;
  std::int64_t line = 0;  // from 1
  std::string text;       // without colours and log prefixes; long lines are cut
  friend bool operator==(const SourceLine&, const SourceLine&) = default;
};

// Who printed a line, where its prefix or its exception says so.
struct Speaker {
  std::optional<int> rank;    // "[rank3]:", "[3]:", "worker RANK 3"
  std::optional<int> worker;  // DataLoader worker process
  std::string thread;         // "Thread-4 (_pin_memory_loop)", "pin memory thread for device 0"
  std::string process;        // "Process SpawnProcess-1", "(EngineCore_0 pid=123)"
  friend bool operator==(const Speaker&, const Speaker&) = default;
};

}  // namespace vramfit::model

#endif
