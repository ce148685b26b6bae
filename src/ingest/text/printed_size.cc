#include "ingest/text/printed_size.h"

#include <array>
#include <string>
#include <utility>

#include "ingest/text/cursor.h"

namespace vramfit::ingest {
namespace {

__extension__ typedef __int128 Wide;  // a printed number times its unit needs up to 100 bits

constexpr std::size_t kMostDigits = 20;   // 2^64 has 20
constexpr std::size_t kMostDecimals = 9;  // more are beyond a byte in every unit up to TiB

base::Bytes held(Wide count) {
  return base::Bytes(count > model::kPrintedBytesLimit ? model::kPrintedBytesLimit : static_cast<std::int64_t>(count));
}

// "1,024" has a separator; "1,5" does not: the comma must stand before three digits.
bool has_thousands(std::string_view digits, std::size_t comma) {
  for (std::size_t i = 1; i <= 3; ++i) {
    if (comma + i >= digits.size() || !is_digit(digits[comma + i])) return false;
  }
  return comma > 0 && is_digit(digits[comma - 1]) && (comma + 4 >= digits.size() || !is_digit(digits[comma + 4]));
}

struct Decimal {
  Wide mantissa = 0;
  Wide scale = 1;  // 10^decimals
};

std::optional<Decimal> parse_decimal(std::string_view digits) {
  Decimal decimal;
  std::size_t count = 0, decimals = 0;
  bool dot = false;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const char letter = digits[i];
    if (letter == '.' && !dot) {
      dot = true;
    } else if (letter == ',' && !dot && has_thousands(digits, i)) {
      continue;
    } else if (!is_digit(letter) || ++count > kMostDigits + kMostDecimals) {
      return std::nullopt;
    } else if (!dot || decimals < kMostDecimals) {
      decimal.mantissa = decimal.mantissa * 10 + (letter - '0');
      if (dot) ++decimals, decimal.scale *= 10;
    }
  }
  if (count == 0 || count - decimals > kMostDigits) return std::nullopt;
  return decimal;
}

}  // namespace

std::optional<model::PrintedBytes> printed_bytes(std::string_view digits, std::int64_t unit, Rounding rounding) {
  const auto decimal = parse_decimal(digits);
  if (!decimal) return std::nullopt;
  const Wide mantissa = decimal->mantissa, scale = decimal->scale;
  const Wide whole = mantissa * unit / scale;
  const base::Bytes value = held(whole);
  if (unit == 1 && scale == 1) return model::exactly(value);
  const auto up = [](Wide over, Wide under) { return over <= 0 ? Wide{0} : (over + under - 1) / under; };
  const Wide divisor = 2 * scale, twice = 2 * mantissa;
  Wide low = 0, high = 0;
  switch (rounding) {
    case Rounding::kNearest:  // (2m-1)u/2s <= bytes <= (2m+1)u/2s
      low = up((twice - 1) * unit, divisor), high = (twice + 1) * unit / divisor;
      break;
    case Rounding::kDown:  // mu/s <= bytes < (m+1)u/s
      low = up(twice * unit, divisor), high = up((twice + 2) * unit, divisor) - 1;
      break;
    case Rounding::kUnknown:  // (m-1)u/s < bytes < (m+1)u/s
      low = twice < 2 ? Wide{0} : (twice - 2) * unit / divisor + 1, high = up((twice + 2) * unit, divisor) - 1;
      break;
  }
  if (low > high) low = high = whole;  // "9.67 bytes": more digits than there are bytes
  return model::PrintedBytes{value, held(low), held(high)};
}

std::int64_t unit_bytes(std::string_view unit) {
  static constexpr std::array<std::pair<std::string_view, std::int64_t>, 30> kUnits{{
      {"b", 1},
      {"byte", 1},
      {"bytes", 1},
      {"k", kKib},
      {"kb", kKib},
      {"kib", kKib},
      {"kbytes", kKib},
      {"kilobytes", kKib},
      {"ki", kKib},
      {"m", kMib},
      {"mb", kMib},
      {"mib", kMib},
      {"mbytes", kMib},
      {"megabytes", kMib},
      {"mi", kMib},
      {"g", kGib},
      {"gb", kGib},
      {"gib", kGib},
      {"gbytes", kGib},
      {"gigabytes", kGib},
      {"gi", kGib},
      {"t", kGib * 1024},
      {"tb", kGib * 1024},
      {"tib", kGib * 1024},
      {"ti", kGib * 1024},
      {"pb", kGib * 1024 * 1024},
      {"pib", kGib * 1024 * 1024},
      {"eb", kGib * kGib},
      {"eib", kGib * kGib},
      {"octets", 1},
  }};
  for (const auto& [name, bytes] : kUnits) {
    if (same_ignoring_case(unit, name)) return bytes;
  }
  return 0;
}

std::optional<PrintedSize> parse_size(std::string_view text, Rounding rounding, std::int64_t default_unit) {
  Cursor cursor(text);
  std::string_view digits = cursor.take_while(is_number_letter);
  // "12.5." and "12," end a sentence or a list.
  while (!digits.empty() && !is_digit(digits.back())) digits.remove_suffix(1);
  if (digits.empty()) return std::nullopt;
  Cursor behind(text.substr(digits.size()));
  behind.skip_blanks();
  const std::string_view word = behind.take_while(is_letter);
  const std::int64_t unit = unit_bytes(word);
  if (unit == 0 && default_unit == 0) return std::nullopt;
  const auto bytes = printed_bytes(digits, unit == 0 ? default_unit : unit, rounding);
  if (!bytes) return std::nullopt;
  return PrintedSize{*bytes, digits.size() + (unit == 0 ? 0 : behind.position())};
}

std::optional<model::PrintedBytes> size_after(std::string_view text, std::string_view label, Rounding rounding,
                                              std::int64_t default_unit) {
  const std::size_t at = text.find(label);
  if (at == std::string_view::npos) return std::nullopt;
  Cursor cursor(text.substr(at + label.size()));
  cursor.take_while([](char letter) { return is_blank(letter) || std::string_view("=:~\"'").contains(letter); });
  const auto size = parse_size(cursor.rest(), rounding, default_unit);
  return size ? std::optional(size->bytes) : std::nullopt;
}

std::optional<model::PrintedBytes> size_before(std::string_view text, std::string_view label, Rounding rounding) {
  const std::size_t at = text.find(label);
  if (at == std::string_view::npos) return std::nullopt;
  std::size_t begin = at;
  while (begin > 0 && is_blank(text[begin - 1])) --begin;
  while (begin > 0 && is_letter(text[begin - 1])) --begin;
  while (begin > 0 && is_blank(text[begin - 1])) --begin;
  const std::size_t unit = begin;
  while (begin > 0 && is_number_letter(text[begin - 1])) --begin;
  while (begin < unit && !is_digit(text[begin])) ++begin;
  const auto size = parse_size(text.substr(begin, at - begin), rounding);
  return size ? std::optional(size->bytes) : std::nullopt;
}

}  // namespace vramfit::ingest
