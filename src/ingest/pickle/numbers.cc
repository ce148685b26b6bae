#include "ingest/pickle/numbers.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/parse_number.h"

namespace vramfit::ingest::pickle {
namespace {

bool is_negative(std::string_view bytes) { return !bytes.empty() && (bytes.back() & 0x80) != 0; }

std::optional<std::uint32_t> parse_hex(std::string_view digits) {
  return base::parse_number_in_base<std::uint32_t>(digits, 16);
}

// One code point at the start of `text`, with its length in bytes; {_, 0} when there is none.
struct Decoded {
  std::uint32_t code_point = 0;
  std::size_t size = 0;
};

Decoded decode_utf8(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return {};
  std::uint32_t code_point = lead & (0xffu >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code_point = code_point << 6 | (byte(i) & 0x3f);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code_point < kLeast[size] || code_point > 0x10ffff) return {};
  return {code_point, size};
}

}  // namespace

std::string_view shorten(std::string_view bytes) {
  while (!bytes.empty()) {
    const char last = bytes.back();
    const bool sign_below = bytes.size() > 1 && (bytes[bytes.size() - 2] & 0x80) != 0;
    if (last == '\0' ? !sign_below : last == '\xff' && sign_below) {
      bytes.remove_suffix(1);
    } else {
      break;
    }
  }
  return bytes;
}

std::optional<std::int64_t> narrow(std::string_view bytes) {
  if (bytes.size() > 8) bytes = shorten(bytes);
  if (bytes.size() > 8) return std::nullopt;
  std::uint64_t value = is_negative(bytes) ? ~std::uint64_t{0} : 0;
  std::memcpy(&value, bytes.data(), bytes.size());  // little-endian, as every machine that vramfit runs on
  return static_cast<std::int64_t>(value);
}

std::optional<std::uint64_t> narrow_unsigned(std::string_view bytes) {
  bytes = shorten(bytes);
  if (is_negative(bytes)) return std::nullopt;
  if (bytes.size() == 9 && bytes.back() == '\0') bytes.remove_suffix(1);
  if (bytes.size() > 8) return std::nullopt;
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data(), bytes.size());
  return value;
}

std::string to_hex(std::string_view bytes) {
  bytes = shorten(bytes);
  const bool negative = is_negative(bytes);
  std::vector<unsigned char> magnitude(bytes.begin(), bytes.end());
  for (std::size_t i = 0, carry = 1; negative && i < magnitude.size(); ++i) {  // two's complement
    const std::size_t sum = static_cast<unsigned char>(~magnitude[i]) + carry;
    magnitude[i] = static_cast<unsigned char>(sum);
    carry = sum >> 8;
  }
  std::string digits;
  constexpr char kDigits[] = "0123456789abcdef";
  for (auto at = magnitude.rbegin(); at != magnitude.rend(); ++at) {
    digits += kDigits[*at >> 4];
    digits += kDigits[*at & 15];
  }
  const std::size_t first = digits.find_first_not_of('0');
  return std::string(negative ? "-0x" : "0x") + (first == std::string::npos ? "0" : digits.substr(first));
}

std::optional<std::string> parse_decimal(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || text.size() > kMaxDigits) return std::nullopt;
  std::string bytes;
  for (const char digit : text) {
    if (digit < '0' || digit > '9') return std::nullopt;
    unsigned carry = static_cast<unsigned>(digit - '0');
    for (char& byte : bytes) {
      const unsigned value = static_cast<unsigned char>(byte) * 10u + carry;
      byte = static_cast<char>(value & 0xff);
      carry = value >> 8;
    }
    if (carry != 0) bytes += static_cast<char>(carry);
  }
  bytes += '\0';  // the sign
  for (unsigned i = 0, carry = 1; negative && i < bytes.size(); ++i) {
    const unsigned sum = static_cast<unsigned char>(~bytes[i]) + carry;
    bytes[i] = static_cast<char>(sum & 0xff);
    carry = sum >> 8;
  }
  return std::string(shorten(bytes));
}

std::optional<double> parse_float(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || text.empty()) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    const bool tiny = text.find("e-") != text.npos || text.find("E-") != text.npos;
    const double huge = tiny ? 0.0 : std::numeric_limits<double>::infinity();
    return text.starts_with('-') ? -huge : huge;
  }
  if (error != std::errc()) return std::nullopt;
  return value;
}

void append_utf8(std::string& text, std::uint32_t code_point) {
  const auto tail = [&](int shift) { text += static_cast<char>(0x80 | ((code_point >> shift) & 0x3f)); };
  if (code_point < 0x80) {
    text += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    text += static_cast<char>(0xc0 | code_point >> 6);
    tail(0);
  } else if (code_point < 0x10000) {
    text += static_cast<char>(0xe0 | code_point >> 12);
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xf0 | code_point >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

std::optional<std::string> parse_raw_unicode_escape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (text[i] != '\\' || (next != 'u' && next != 'U')) {
      append_utf8(out, static_cast<unsigned char>(text[i]));
      // An escaped backslash hides the u behind it: Python looks at pairs.
      if (text[i] == '\\' && next == '\\') append_utf8(out, static_cast<unsigned char>(text[++i]));
      continue;
    }
    const std::size_t digits = next == 'u' ? 4 : 8;
    if (text.size() - i - 2 < digits) return std::nullopt;
    const auto code_point = parse_hex(text.substr(i + 2, digits));
    if (!code_point || *code_point > 0x10ffff) return std::nullopt;
    append_utf8(out, *code_point);
    i += 1 + digits;
  }
  return out;
}

std::optional<std::string> parse_quoted(std::string_view text) {
  while (text.ends_with(' ') || text.ends_with('\r')) text.remove_suffix(1);
  if (text.size() < 2 || text.front() != text.back() || (text.front() != '\'' && text.front() != '"')) {
    return std::nullopt;
  }
  text = text.substr(1, text.size() - 2);
  constexpr std::string_view kNames = "\\'\"abfnrtv", kValues = "\\'\"\a\b\f\n\r\t\v";
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i == text.size()) return std::nullopt;
    if (const std::size_t name = kNames.find(text[i]); name != kNames.npos) {
      out += kValues[name];
    } else if (text[i] == 'x' && text.size() - i > 2) {
      const auto value = parse_hex(text.substr(i + 1, 2));
      if (!value) return std::nullopt;
      out += static_cast<char>(*value);
      i += 2;
    } else if (text[i] >= '0' && text[i] <= '7') {
      unsigned value = 0;
      for (int digits = 0; digits < 3 && i < text.size() && text[i] >= '0' && text[i] <= '7'; ++digits, ++i) {
        value = value * 8 + static_cast<unsigned>(text[i] - '0');
      }
      out += static_cast<char>(value & 0xff);
      --i;
    } else {
      out += '\\';
      out += text[i];
    }
  }
  return out;
}

std::optional<std::string> to_latin1(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Decoded next = decode_utf8(text);
    if (next.size == 0 || next.code_point > 0xff) return std::nullopt;
    out += static_cast<char>(next.code_point);
    text.remove_prefix(next.size);
  }
  return out;
}

}  // namespace vramfit::ingest::pickle
