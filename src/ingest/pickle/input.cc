#include "ingest/pickle/input.h"

#include <algorithm>
#include <cstring>

namespace vramfit::ingest::pickle {

Input::Input(Source& source)
    : source_(source),
      buffer_(std::make_unique_for_overwrite<char[]>(kWindow)),
      next_(buffer_.get()),
      end_(buffer_.get()) {}

bool Input::fill(std::size_t size) {
  const auto kept = static_cast<std::size_t>(end_ - next_);
  start_ += next_ - buffer_.get();
  std::memmove(buffer_.get(), next_, kept);
  next_ = buffer_.get();
  end_ = next_ + kept;
  while (static_cast<std::size_t>(end_ - next_) < size && !error_) {
    const auto got = source_.read({end_, kWindow - static_cast<std::size_t>(end_ - next_)});
    if (!got) {
      error_ = got.error();
    } else if (*got == 0) {
      break;
    } else {
      end_ += *got;
    }
  }
  return static_cast<std::size_t>(end_ - next_) >= size;
}

std::optional<std::string_view> Input::take(std::uint64_t size) {
  if (size <= kWindow) {
    if (!ensure(size)) return std::nullopt;
    const std::string_view bytes(next_, size);
    next_ += size;
    return bytes;
  }
  long_.clear();
  while (long_.size() < size) {
    if (!ensure(1)) return std::nullopt;
    const auto piece = static_cast<std::size_t>(
        std::min<std::uint64_t>(size - long_.size(), static_cast<std::uint64_t>(end_ - next_)));
    long_.append(next_, piece);
    next_ += piece;
  }
  return long_;
}

std::optional<std::string_view> Input::take_line(std::uint64_t most) {
  ensure(1);
  if (const void* found = std::memchr(next_, '\n', static_cast<std::size_t>(end_ - next_))) {
    const std::string_view line(next_, static_cast<const char*>(found));
    next_ += line.size() + 1;
    return line;
  }
  long_.clear();
  while (long_.size() <= most && ensure(1)) {
    const auto rest = static_cast<std::size_t>(end_ - next_);
    const void* found = std::memchr(next_, '\n', rest);
    const std::size_t size =
        found == nullptr ? rest : static_cast<std::size_t>(static_cast<const char*>(found) - next_);
    long_.append(next_, size);
    next_ += size;
    if (found == nullptr) continue;
    ++next_;
    return long_;
  }
  return std::nullopt;
}

}  // namespace vramfit::ingest::pickle
