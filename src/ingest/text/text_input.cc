#include "ingest/text/text_input.h"

#include <algorithm>
#include <array>
#include <utility>

namespace vramfit::ingest {
namespace {

constexpr std::size_t kSample = 4096;  // bytes looked at before the encoding is settled
constexpr std::string_view kMarkLittle{"\xff\xfe", 2}, kMarkBig{"\xfe\xff", 2};

void append_letter(std::string& text, std::uint32_t letter) {
  const auto add = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (letter < 0x80) {
    add(letter);
  } else if (letter < 0x800) {
    add(0xc0 | letter >> 6), add(0x80 | (letter & 0x3f));
  } else if (letter < 0x10000) {
    add(0xe0 | letter >> 12), add(0x80 | (letter >> 6 & 0x3f)), add(0x80 | (letter & 0x3f));
  } else {
    add(0xf0 | letter >> 18), add(0x80 | (letter >> 12 & 0x3f)), add(0x80 | (letter >> 6 & 0x3f)),
        add(0x80 | (letter & 0x3f));
  }
}

}  // namespace

TextEncoding find_encoding(std::string_view first) {
  if (first.starts_with(kMarkLittle)) return TextEncoding::kUtf16Little;
  if (first.starts_with(kMarkBig)) return TextEncoding::kUtf16Big;
  const std::string_view sample = first.substr(0, kSample);
  std::array<std::size_t, 2> zeros{};
  for (std::size_t i = 0; i < sample.size(); ++i) zeros[i % 2] += sample[i] == '\0';
  const std::size_t half = sample.size() / 2;
  if (half < 2) return TextEncoding::kEightBit;
  if (zeros[1] * 10 > half * 6 && zeros[0] * 10 < half) return TextEncoding::kUtf16Little;
  if (zeros[0] * 10 > half * 6 && zeros[1] * 10 < half) return TextEncoding::kUtf16Big;
  return TextEncoding::kEightBit;
}

std::optional<std::string_view> find_binary(std::string_view first) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kMagics{
      {{"PK\x03\x04", "a zip archive"},
       {"\x1f\x8b", "a gzip file"},
       {"\x7f"
        "ELF",
        "a program"},
       {"\x89PNG", "a picture"},
       {"SQLite format 3", "a database"},
       {"\x28\xb5\x2f\xfd", "a zstd file"},
       {"\xfd"
        "7zXZ",
        "an xz file"}}};
  for (const auto& [magic, what] : kMagics) {
    if (first.starts_with(magic)) return what;
  }
  if (first.size() > 2 && first[0] == '\x80' && first[1] >= 2 && first[1] <= 5) return "a pickle";
  if (find_encoding(first) != TextEncoding::kEightBit) return std::nullopt;
  // Zeros alone are holes of a log that was cut while it was written.
  const std::string_view sample = first.substr(0, kSample);
  const auto control_characters = std::count_if(sample.begin(), sample.end(), [](char letter) {
    return static_cast<unsigned char>(letter) < 0x20 && letter != '\0' && letter != '\x1b' &&
           (letter < '\a' || letter > '\r');
  });
  if (static_cast<std::size_t>(control_characters) * 20 > sample.size()) return "binary data";
  return std::nullopt;
}

std::size_t find_joint(std::string_view line, std::size_t most) {
  if (line.size() <= most) return line.size();
  const std::size_t near = most - most / 16;
  const std::string_view last = line.substr(near, most - near);
  if (const std::size_t at = last.rfind("\\n"); at != std::string_view::npos) return near + at + 2;
  if (const std::size_t at = last.find_last_of(" \t"); at != std::string_view::npos) return near + at + 1;
  std::size_t joint = most;
  while (joint > near && (static_cast<unsigned char>(line[joint]) & 0xc0) == 0x80) --joint;
  return joint > 0 ? joint : 1;
}

void TextInput::feed(std::string_view bytes) {
  if (encoding_) return decode(bytes);
  first_ += bytes;
  if (first_.size() < kSample) return;
  encoding_ = find_encoding(first_);
  decode(std::exchange(first_, {}));
}

void TextInput::decode(std::string_view bytes) {
  if (*encoding_ == TextEncoding::kEightBit) return append(bytes);
  std::string units = unread_ + std::string(bytes), text;
  const bool little = *encoding_ == TextEncoding::kUtf16Little;
  const auto unit = [&](std::size_t at) {
    const auto first = static_cast<unsigned char>(units[at]), second = static_cast<unsigned char>(units[at + 1]);
    return static_cast<std::uint32_t>(little ? first | second << 8 : first << 8 | second);
  };
  std::size_t at = 0;
  while (at + 1 < units.size()) {
    std::uint32_t letter = unit(at);
    if (letter >= 0xd800 && letter < 0xdc00) {
      if (at + 3 >= units.size()) break;
      const std::uint32_t low = unit(at + 2);
      if (low >= 0xdc00 && low < 0xe000) {
        letter = 0x10000 + ((letter - 0xd800) << 10) + (low - 0xdc00);
        at += 2;
      }
    }
    at += 2;
    if (letter < 0xd800 || letter > 0xdfff) append_letter(text, letter);
  }
  unread_ = units.substr(at);
  append(text);
}

void TextInput::append(std::string_view text) {
  pending_ += text;
  flush_lines();
}

void TextInput::flush_lines() {
  std::size_t end = pending_.size();
  if (end > 0 && pending_[end - 1] == '\r') --end;  // perhaps half of a line's end
  while (end > 0 && !is_line_end(pending_[end - 1])) --end;
  if (end > 0) {
    take_(std::string_view(pending_).substr(0, end));
    pending_.erase(0, end);
  }
  while (pending_.size() > longest_line_) {
    const std::size_t joint = find_joint(pending_, longest_line_);
    take_(std::string_view(pending_).substr(0, joint));
    pending_.erase(0, joint);
    ++cut_lines_;
  }
}

void TextInput::finish() {
  if (!encoding_) {
    encoding_ = find_encoding(first_);
    decode(std::exchange(first_, {}));
  }
  if (!pending_.empty()) take_(pending_);
  pending_.clear();
}

}  // namespace vramfit::ingest
