#ifndef VRAMFIT_RECORDER_RECORDER_H
#define VRAMFIT_RECORDER_RECORDER_H

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "append_file.h"
#include "line_finder.h"
#include "record_file.h"
#include "string_table.h"
#include "vramfit/recording.h"

namespace vramfit::recorder {

// Where the job is; stamped on every record. The Python hooks keep it, and it holds for the whole process.
struct Position {
  std::atomic<uint8_t> phase{VF_PHASE_LOAD};
  std::atomic<uint8_t> stage{VF_STAGE_OTHER};
  std::atomic<uint32_t> scope{0};
  std::atomic<uint32_t> line{0};  // set_line(); 0 = walk the stack
  std::atomic<uint32_t> backward_line{
      0};  // where .backward() was called: autograd's threads have no stack of their own

  void reset();
};

// One process's recording: the three files of include/vramfit/recording.h, each created when it is first needed.
// Thread-safe; never fails and never throws: what can't be kept is dropped, and said once.
class Recorder {
 public:
  Recorder(const std::string& folder, size_t limit_bytes);

  enum class Line { kNone, kFind };

  uint32_t intern(std::string_view text);
  void add(vf_record record, Line line);  // fills in time, thread and position
  void note(std::string_view json);
  uint64_t next_slot() const { return records_.next_slot(); }
  void relabel(uint64_t from, uint8_t before, uint8_t after) { records_.relabel(from, before, after); }
  uint32_t own_line();
  // The line that set this thread to work, for what it does outside of the script's own code. Returns the one before.
  static uint32_t inherit_line(uint32_t line);

  // Gives up, in a forked child, which starts its own, the files without touching the parent's bytes.
  void abandon();

 private:
  void say_stopped();

  RecordFile records_;
  StringTable strings_;
  LineFinder lines_;
  std::mutex notes_lock_;
  AppendFile notes_;
  std::atomic<bool> said_{false};
};

Position& position();

// The process's recorder; null when VRAMFIT_RUN_DIR is not set. Looked up at the first call in a process, again in a
// forked child, so that a child may change the variable before its first event.
Recorder* recorder();

// A moment at which what real cards hold may be looked at (real_watch.h); nothing beside virtual ones.
void look_at_real_cards();

// VRAMFIT_RECORD_LIMIT: bytes, 2 GiB unless set.
size_t record_limit(const char* text);

// Puts $VRAMFIT_HOOKS first on $PYTHONPATH again where somebody set that anew; whether it had to.
bool keep_hooks();

// execve(2), also of a program that is only in a job's layer of files (layered_files.cc).
int execute_layered(const char* path, char* const words[], char* const environment[]);

}  // namespace vramfit::recorder

#endif
