#include "python_offsets.h"

#include <cstring>

namespace vramfit::recorder {

namespace {

class Groups {
 public:
  explicit Groups(std::span<const uint64_t> words) : words_(words) {}

  // Moves to the next place at which `looks_right`, from where the last group was found on; false: there is none.
  template <typename Check>
  bool find(size_t length, const Check& looks_right) {
    for (; at_ + length <= words_.size(); ++at_) {
      if (looks_right(words_.subspan(at_, length))) return true;
    }
    return false;
  }
  uint64_t operator[](size_t member) const { return words_[at_ + member]; }

 private:
  std::span<const uint64_t> words_;
  size_t at_ = 0;
};

using Words = std::span<const uint64_t>;

bool is_member(uint64_t offset, uint64_t size) { return offset % 8 == 0 && offset < size; }

// size, prev, next, interp, current_frame, ...: a thread state begins with the three of its list.
bool is_thread_state(Words group) {
  return group[1] == 0 && group[2] == 8 && group[3] == 16 && is_member(group[4], group[0]) && group[4] >= 24;
}

// size, previous, executable, instr_ptr, localsplus, owner, ...: a frame begins with its code and ends with its locals.
bool is_frame(Words group) {
  return group[1] == 8 && group[2] == 0 && is_member(group[3], group[4]) && group[3] > 8 && group[4] + 8 == group[0] &&
         group[5] > group[3] && group[5] < group[4];
}

// size, filename, name, qualname, linetable, firstlineno, argcount, localsplusnames, localspluskinds, co_code_adaptive:
// the texts stand one behind the other, and the instructions at the end.
bool is_code(Words group) {
  return is_member(group[1], group[0]) && group[2] == group[1] + 8 && group[3] == group[2] + 8 &&
         group[4] == group[3] + 8 && is_member(group[9], group[0]) && group[9] > group[4];
}

// size, state, length, asciiobject_size
bool is_unicode(Words group) {
  return group[1] == kUnicodeState && group[2] == kUnicodeLength && group[3] > group[1] && group[3] < group[0] &&
         group[3] % 8 == 0;
}

}  // namespace

std::optional<PythonLayout> read_python_offsets(std::span<const uint64_t> words) {
  if (words.size() < 3 || std::memcmp(words.data(), "xdebugpy", 8) != 0 || words[2] != 0) return std::nullopt;
  PythonLayout layout{};
  layout.minor = static_cast<int>(words[1] >> 16 & 0xFF);
  if (words[1] >> 24 != 3 || layout.minor < kFirstToTell) return std::nullopt;
  Groups groups(words.subspan(3));
  if (!groups.find(5, is_thread_state)) return std::nullopt;
  layout.thread_frame = groups[4];
  if (!groups.find(6, is_frame)) return std::nullopt;
  layout.frame_outer = groups[1];
  layout.frame_code = groups[2];
  layout.frame_instruction = groups[3];
  layout.frame_owner = groups[5];
  if (!groups.find(10, is_code)) return std::nullopt;
  layout.code_file = groups[1];
  layout.code_function = groups[3];
  layout.code_instructions = groups[9];
  if (!groups.find(4, is_unicode)) return std::nullopt;
  layout.unicode_ascii = groups[3];
  layout.unicode_compact = groups[3] + 16;  // utf8_length and utf8
  layout.unicode_kind = 2;
  return layout;
}

}  // namespace vramfit::recorder
