#ifndef VRAMFIT_RECORDER_LINE_FINDER_H
#define VRAMFIT_RECORDER_LINE_FINDER_H

#include <array>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "own_code.h"
#include "python_frames.h"

namespace vramfit::recorder {

// The line that a thread is at in the user's own code, or in that of packages: the innermost frame whose file is such a
// one. Two direct-mapped caches make it cheap (0.2 us on a stack of 20 frames): whose a code object is, and the text of
// a place in it.
class LineFinder {
 public:
  using Intern = std::function<uint32_t(std::string_view)>;

  explicit LineFinder(Intern intern);

  // The string id of the line, 0 when there is none (an autograd thread, no Python, no such code on the stack).
  uint32_t find(Whose wanted);

 private:
  struct Code {
    const void* code = nullptr;
    const void* file = nullptr;  // tells a recycled address
    Whose whose = Whose::kMachinery;
  };
  struct Place {
    PythonFrames::Site site;
    const void* file = nullptr;
    uint32_t text = 0;
  };
  static constexpr size_t kCodes = 2048;
  static constexpr size_t kPlaces = 2048;
  static constexpr int kMaxDepth = 512;

  Whose whose(const void* code);
  uint32_t place_text(const PythonFrames::Site& site);

  Intern intern_;
  PythonFrames& frames_ = PythonFrames::instance();
  std::mutex lock_;
  std::string hooks_folder_;
  std::string start_folder_;
  std::array<Code, kCodes> codes_{};
  std::array<Place, kPlaces> places_{};
};

// The folder of our Python hooks, found from where this library lies: <stage>/lib/../python/.
std::string find_hooks_folder();

}  // namespace vramfit::recorder

#endif
