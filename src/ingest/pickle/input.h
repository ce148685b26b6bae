// A window over a Source: bounded, whatever lengths the pickle claims.
#ifndef VRAMFIT_INGEST_PICKLE_INPUT_H
#define VRAMFIT_INGEST_PICKLE_INPUT_H

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ingest/pickle/source.h"

namespace vramfit::ingest::pickle {

class Input {
 public:
  explicit Input(Source& source);

  // The place of the next byte, counted from the start of the source.
  std::int64_t offset() const { return start_ + (next_ - buffer_.get()); }

  // Makes `size` bytes stand at data(); false at the end of the source, or when it failed (error()). At most kWindow.
  bool ensure(std::size_t size) { return static_cast<std::size_t>(end_ - next_) >= size || fill(size); }
  const char* data() const { return next_; }
  void skip(std::size_t size) { next_ += size; }

  // The next `size` bytes, valid until the next call; nothing when the source ends before. Longer ones than the window
  // are gathered piece by piece, so that a length that is a lie costs no more memory than there are bytes.
  std::optional<std::string_view> take(std::uint64_t size);
  // Up to '\n', which is eaten and left out; nothing when there is none in the next `most` bytes.
  std::optional<std::string_view> take_line(std::uint64_t most);

  const std::optional<base::Error>& error() const { return error_; }

  static constexpr std::size_t kWindow = std::size_t{1} << 20;

 private:
  bool fill(std::size_t size);

  Source& source_;
  std::unique_ptr<char[]> buffer_;
  char* next_;
  char* end_;
  std::int64_t start_ = 0;  // offset of buffer_[0]
  std::string long_;
  std::optional<base::Error> error_;
};

}  // namespace vramfit::ingest::pickle

#endif
