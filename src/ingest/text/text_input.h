// Cuts bytes of any encoding into raw lines of UTF-8 (or of whatever eight-bit encoding it was), in bounded memory.
#ifndef VRAMFIT_INGEST_TEXT_TEXT_INPUT_H
#define VRAMFIT_INGEST_TEXT_TEXT_INPUT_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace vramfit::ingest {

inline bool is_line_end(char letter) { return letter == '\n' || letter == '\r'; }

enum class TextEncoding { kEightBit, kUtf16Little, kUtf16Big };

// Finds the encoding by the byte order mark, or by the zeros that UTF-16 has at every other place.
TextEncoding find_encoding(std::string_view first_bytes);

// What a file that is no text begins with ("a zip archive", "a pickle", "binary data"); nothing for a text.
std::optional<std::string_view> find_binary(std::string_view first_bytes);

// The best place to cut in two a line that is longer than `most`: behind an escaped line's end ("\\n" in JSON) or a
// blank near the limit, else at the limit; never within a letter.
std::size_t find_joint(std::string_view line, std::size_t most);

// Collects bytes and hands over blocks of whole lines as UTF-8.
class TextInput {
 public:
  // `block` ends behind a line's end, but for the last one and for the pieces of lines longer than `longest_line`, of
  // which `cut_lines` counts the joints.
  using TakeBlock = std::function<void(std::string_view block)>;
  TextInput(std::size_t longest_line, TakeBlock take) : longest_line_(longest_line), take_(std::move(take)) {}

  void feed(std::string_view bytes);
  void finish();
  TextEncoding encoding() const { return encoding_.value_or(TextEncoding::kEightBit); }
  std::int64_t cut_lines() const { return cut_lines_; }

 private:
  void decode(std::string_view bytes);
  void append(std::string_view text);
  void flush_lines();

  std::size_t longest_line_;
  TakeBlock take_;
  std::optional<TextEncoding> encoding_;
  std::string first_;    // until the encoding is known
  std::string unread_;   // a UTF-16 unit of which one byte is there, or a high surrogate
  std::string pending_;  // text without a line's end so far
  std::int64_t cut_lines_ = 0;
};

}  // namespace vramfit::ingest

#endif
