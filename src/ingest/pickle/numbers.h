// The numbers and escapes that pickles write as text, and integers of any size.
#ifndef VRAMFIT_INGEST_PICKLE_NUMBERS_H
#define VRAMFIT_INGEST_PICKLE_NUMBERS_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vramfit::ingest::pickle {

// Little-endian two's complement, as LONG1 and LONG4 write it. Nothing when it needs more than 64 bits.
std::optional<std::int64_t> narrow(std::string_view bytes);
// The same number in as few bytes as can hold it; none for zero.
std::string_view shorten(std::string_view bytes);
// Also for what lies between 2^63 and 2^64: sizes and addresses that PyTorch wrote as unsigned.
std::optional<std::uint64_t> narrow_unsigned(std::string_view bytes);
// "-0x1f": linear in the size, as decimals would not be.
std::string to_hex(std::string_view bytes);

// What Python itself refuses to convert between text and integers (sys.get_int_max_str_digits).
inline constexpr std::size_t kMaxDigits = 4300;
// "-123" as little-endian two's complement.
std::optional<std::string> parse_decimal(std::string_view text);

// "1.5", "nan", "-inf": whatever repr(float) writes.
std::optional<double> parse_float(std::string_view text);

// The UNICODE opcode's raw-unicode-escape (\uXXXX, \UXXXXXXXX; other bytes are Latin-1) as UTF-8.
std::optional<std::string> parse_raw_unicode_escape(std::string_view text);
// The STRING opcode's quoted literal: 'a\n\x00'.
std::optional<std::string> parse_quoted(std::string_view text);

// A code point as UTF-8; surrogates too, as Python's "surrogatepass" writes them.
void append_utf8(std::string& text, std::uint32_t code_point);
// Every code point of UTF-8 text as one byte; nothing if one is above 0xff or the text is not UTF-8.
std::optional<std::string> to_latin1(std::string_view text);

}  // namespace vramfit::ingest::pickle

#endif
