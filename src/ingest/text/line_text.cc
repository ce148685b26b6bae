#include "ingest/text/line_text.h"

#include <array>
#include <cstdint>
#include <utility>

#include "ingest/text/cursor.h"

namespace vramfit::ingest {
namespace {

constexpr char kEscape = '\x1b';

// Bytes of the UTF-8 letter at the start of `text`; 0 if it is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const std::size_t length = lead < 0x80                   ? 1
                             : lead >= 0xc2 && lead < 0xe0 ? 2
                             : lead < 0xe0                 ? 0
                             : lead < 0xf0                 ? 3
                             : lead < 0xf5                 ? 4
                                                           : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  if (length == 3 && ((lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xed && byte(1) >= 0xa0))) return 0;
  if (length == 4 && ((lead == 0xf0 && byte(1) < 0x90) || (lead == 0xf4 && byte(1) >= 0x90))) return 0;
  return length;
}

// Bytes of the escape sequence at the start of `text`, which begins with ESC: CSI, OSC, or two bytes.
std::size_t escape_length(std::string_view text) {
  if (text.size() < 2) return text.size();
  if (text[1] == '[') {
    std::size_t end = 2;
    while (end < text.size() && text[end] >= 0x20 && text[end] < 0x40) ++end;
    return std::min(end + 1, text.size());
  }
  if (text[1] == ']') {
    std::size_t end = 2;
    while (end < text.size() && text[end] != '\a' && text[end] != kEscape) ++end;
    if (end + 1 < text.size() && text[end] == kEscape && text[end + 1] == '\\') ++end;
    return std::min(end + 1, text.size());
  }
  return 2;
}

// "[0m", "[0;31m", "[1;38;5;214m": a colour whose ESC byte did not survive a copy. 0 if it is none.
std::size_t bare_colour_length(std::string_view text) {
  std::size_t end = 1, digits = 0;
  while (end < text.size() && (is_digit(text[end]) || text[end] == ';')) {
    digits = is_digit(text[end]) ? digits + 1 : 0;
    if (digits > 3) return 0;
    ++end;
  }
  return end > 1 && end < text.size() && text[end] == 'm' && end < 20 ? end + 1 : 0;
}

// An entity of a web page: what it stands for, and its length.
std::pair<char, std::size_t> entity(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, char>, 7> kEntities{{{"&gt;", '>'},
                                                                               {"&lt;", '<'},
                                                                               {"&amp;", '&'},
                                                                               {"&quot;", '"'},
                                                                               {"&#39;", '\''},
                                                                               {"&#x27;", '\''},
                                                                               {"&nbsp;", ' '}}};
  for (const auto& [name, letter] : kEntities) {
    if (text.starts_with(name)) return {letter, name.size()};
  }
  return {'&', 1};
}

void append_utf8(std::string& text, std::uint32_t letter) {
  if (letter < 0x80) {
    text += static_cast<char>(letter);
  } else if (letter < 0x800) {
    text += static_cast<char>(0xc0 | (letter >> 6));
    text += static_cast<char>(0x80 | (letter & 0x3f));
  } else {
    text += static_cast<char>(0xe0 | (letter >> 12));
    text += static_cast<char>(0x80 | ((letter >> 6) & 0x3f));
    text += static_cast<char>(0x80 | (letter & 0x3f));
  }
}

// Bytes of a letter beyond ASCII that is dropped or becomes a blank: a byte order mark, a no-break space, a zero-width
// space. `blank` says which.
std::size_t invisible_space(std::string_view text, bool& blank) {
  blank = text.starts_with("\xc2\xa0");
  if (blank) return 2;
  if (text.starts_with("\xef\xbb\xbf") || text.starts_with("\xe2\x80\x8b")) return 3;
  return 0;
}

// Letters that stand for themselves wherever they stand.
constexpr auto kPlain = [] {
  std::array<bool, 256> plain{};
  for (int letter = 0x20; letter < 0x7f; ++letter) {
    plain[static_cast<std::size_t>(letter)] = letter != '[' && letter != '&';
  }
  return plain;
}();
bool is_plain(char letter) { return kPlain[static_cast<unsigned char>(letter)]; }

// The next item of `raw`: appends what it reads as and returns the bytes taken.
std::size_t clean_one(std::string_view raw, LineText& line) {
  const char letter = raw[0];
  if (letter == kEscape) return escape_length(raw);
  if (letter == '[') {
    if (const std::size_t length = bare_colour_length(raw)) return length;
  } else if (letter == '&') {
    const auto [stands_for, length] = entity(raw);
    line.text += stands_for;
    return length;
  } else if (letter == '\b') {
    if (!line.text.empty()) line.text.pop_back();
    return 1;
  } else if (static_cast<unsigned char>(letter) < 0x20 && letter != '\t') {
    return 1;
  } else if (static_cast<unsigned char>(letter) >= 0x80) {
    bool blank = false;
    if (const std::size_t length = invisible_space(raw, blank)) {
      if (blank) line.text += ' ';
      return length;
    }
    if (const std::size_t length = utf8_length(raw)) {
      line.text += raw.substr(0, length);
      return length;
    }
    line.latin1 = true;
    append_utf8(line.text, static_cast<unsigned char>(letter));
    return 1;
  }
  line.text += letter;
  return 1;
}

// Reads the escape behind a backslash at `at`, which is left on its last letter.
void unescape(std::string_view raw, std::size_t& at, std::vector<std::string>& lines) {
  const char letter = raw[++at];
  if (letter == 'n') {
    lines.emplace_back();
  } else if (letter == 't') {
    lines.back() += '\t';
  } else if (letter == 'u' && at + 4 < raw.size()) {
    std::uint32_t code = 0;
    for (std::size_t i = 1; i <= 4; ++i) {
      const char digit = lower(raw[at + i]);
      code = code * 16 + static_cast<std::uint32_t>(is_digit(digit)                ? digit - '0'
                                                    : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
                                                                                   : 0);
    }
    at += 4;
    // Half of a letter beyond the basic plane says nothing here.
    if (code < 0xd800 || code > 0xdfff) append_utf8(lines.back(), code);
  } else if (letter != 'r') {
    lines.back() += letter;
  }
}

int hex_digit(char letter) {
  const char low = lower(letter);
  return is_digit(low) ? low - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

// "CUDA%20out%20of%20memory": a message within an address, where blanks show that it is one. "99%20" alone is a share.
void decode_percents(std::string& text) {
  constexpr std::string_view kBlank = "%20";
  const std::size_t first = text.find(kBlank);
  if (first == std::string::npos || text.find(kBlank, first + 1) == std::string::npos) return;
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const int high = text[at] == '%' && at + 2 < text.size() ? hex_digit(text[at + 1]) : -1;
    const int low = high >= 2 && high <= 7 ? hex_digit(text[at + 2]) : -1;
    plain += low < 0 ? text[at] : static_cast<char>(high * 16 + low);
    if (low >= 0) at += 2;
  }
  text = std::move(plain);
}

bool carries_lines(std::string_view raw) {
  if (raw.find('\\') == std::string_view::npos) return false;
  if (raw.find("\\n") == std::string_view::npos && raw.find("\\u001b") == std::string_view::npos) return false;
  const std::string_view text = trim(raw);
  return text.starts_with('"') || text.starts_with('{') || text.find("\":\"") != std::string_view::npos ||
         text.find("\": \"") != std::string_view::npos;
}

}  // namespace

LineText clean_line(std::string_view raw) {
  LineText line;
  line.text.reserve(raw.size());
  for (std::size_t at = 0; at < raw.size();) {
    std::size_t end = at;
    while (end < raw.size() && is_plain(raw[end])) ++end;
    line.text += raw.substr(at, end - at);
    at = end;
    if (at < raw.size()) at += clean_one(raw.substr(at), line);
  }
  decode_percents(line.text);
  while (!line.text.empty() && is_blank(line.text.back())) line.text.pop_back();
  return line;
}

std::string take_line_above(std::string_view& before) {
  while (!before.empty() && (before.back() == '\n' || before.back() == '\r')) before.remove_suffix(1);
  const std::size_t end = before.find_last_of("\r\n");
  const std::size_t begin = end == std::string_view::npos ? 0 : end + 1;
  std::string above = clean_line(before.substr(begin)).text;
  before = before.substr(0, begin);
  return above;
}

std::vector<std::string> unpack_line(std::string_view raw) {
  if (!carries_lines(raw)) return {std::string(raw)};
  std::string_view text = raw;
  if (trim(text).starts_with('"')) text = trim(text).substr(1);
  if (const std::size_t log = text.find("{\"log\":\""); log != std::string_view::npos) text.remove_prefix(log + 8);
  std::vector<std::string> lines(1);
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\' && at + 1 < text.size()) {
      unescape(text, at, lines);
    } else {
      lines.back() += text[at];
    }
  }
  return lines;
}

std::string cut_text(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return std::string(text);
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80) --bytes;
  return std::string(text.substr(0, bytes)) + "...";
}

}  // namespace vramfit::ingest
