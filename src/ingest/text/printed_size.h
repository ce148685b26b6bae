// Sizes as programs print them: "1.50 GiB", "0 bytes", "7123MiB", "1,024 KB", "24564M".
#ifndef VRAMFIT_INGEST_TEXT_PRINTED_SIZE_H
#define VRAMFIT_INGEST_TEXT_PRINTED_SIZE_H

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/letters.h"
#include "model/printed_bytes.h"

namespace vramfit::ingest {

inline bool is_number_letter(char letter) { return base::is_digit(letter) || letter == '.' || letter == ','; }

enum class Rounding {
  kNearest,  // C's printf and iostreams: within half a unit of the last digit
  kDown,     // integer division
  kUnknown,  // nearest, down or up: within one unit of the last digit, exclusive
};

struct PrintedSize {
  model::PrintedBytes bytes;
  std::size_t length = 0;  // characters taken, unit included
};

// `digits` is "123", "1.50" or "1,024"; `unit` in bytes. Nothing when it is no such number. A negative number is none.
std::optional<model::PrintedBytes> printed_bytes(std::string_view digits, std::int64_t unit, Rounding rounding);

// The bytes in one "GiB", "GB", "G", "gigabytes" (binary: drivers and PyTorch mean that), "B", "bytes"; 0 for no unit.
std::int64_t unit_bytes(std::string_view unit);

// Reads a size at the start of `text`, blanks allowed between number and unit. `default_unit` is for a number without
// one; 0 refuses such a number.
std::optional<PrintedSize> parse_size(std::string_view text, Rounding rounding, std::int64_t default_unit = 0);

// The size behind `label` at its first occurrence, over blanks, '=', ':', '~' and quotes; and the one right before it.
std::optional<model::PrintedBytes> size_after(std::string_view text, std::string_view label, Rounding rounding,
                                              std::int64_t default_unit = 0);
std::optional<model::PrintedBytes> size_before(std::string_view text, std::string_view label, Rounding rounding);

inline constexpr std::int64_t kKib = 1 << 10, kMib = 1 << 20, kGib = 1 << 30;

}  // namespace vramfit::ingest

#endif
