#ifndef VRAMFIT_RECORDER_PYTHON_FRAMES_H
#define VRAMFIT_RECORDER_PYTHON_FRAMES_H

#include <cstdint>
#include <string>

// A thread's own Python stack, read without the GIL.
//
// PyTorch releases the GIL before an operator runs, and its allocator reports a block while it holds its own lock: to
// take the GIL there could deadlock. But a thread inside a C call can't change its own Python frames, so they can be
// read as plain memory. The layouts are facts of CPython 3.9 to 3.12 (64-bit, with the GIL) and told by the interpreter
// from 3.13 on; check() compares what they give with the official API before they are used: on any difference there are
// no frames.
namespace vramfit::recorder {

class PythonFrames {
 public:
  using Frame = const unsigned char*;

  struct Site {
    const void* code = nullptr;         // null: a frame of the interpreter itself, skip it
    const void* instruction = nullptr;  // identifies the place inside the code
  };

  static PythonFrames& instance();

  // True once the layouts were found right. Tries to check them when the calling thread holds the GIL and runs Python
  // code; costs a few loads afterwards.
  bool ready();

  // The calling thread's innermost frame; null when it runs no Python code.
  Frame innermost() const;
  Frame outer(Frame frame) const;
  Site site(Frame frame) const;

  int line(const Site& site) const;
  std::string file(const void* code) const;
  std::string function(const void* code) const;
  const void* file_identity(const void* code) const;  // the same pointer for the same file name object

 private:
  PythonFrames() = default;
  bool load();
  bool check() const;
  std::string text(const void* unicode) const;

  struct Api;
  Api* api_ = nullptr;
};

}  // namespace vramfit::recorder

#endif
