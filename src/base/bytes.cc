#include "base/bytes.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/letters.h"

namespace vramfit::base {
namespace {

std::optional<std::int64_t> unit_bytes(std::string_view unit) {
  const std::string low = lowered(unit);
  if (low.empty() || low == "b") return 1;
  const std::size_t place = std::string_view("kmgt").find(low.front());
  const std::string_view rest = std::string_view(low).substr(1);
  if (place == std::string_view::npos || (!rest.empty() && rest != "b" && rest != "ib")) return std::nullopt;
  return std::int64_t{1} << (10 * (place + 1));
}

}  // namespace

std::optional<Bytes> checked_add(Bytes left, Bytes right) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(left.count(), right.count(), &sum)) return std::nullopt;
  return Bytes(sum);
}

Bytes operator+(Bytes left, Bytes right) {
  if (const auto sum = checked_add(left, right)) return *sum;
  throw std::overflow_error("a sum of byte counts does not fit 64 bits");
}

Bytes operator-(Bytes left, Bytes right) {
  std::int64_t difference = 0;
  if (!__builtin_sub_overflow(left.count(), right.count(), &difference)) return Bytes(difference);
  throw std::overflow_error("a difference of byte counts does not fit 64 bits");
}

std::string to_string(Bytes bytes) {
  const double size = std::abs(static_cast<double>(bytes.count()));
  const double count = static_cast<double>(bytes.count());
  if (size < 1024) return fmt::format("{} B", bytes.count());
  if (size < 1 << 20) return fmt::format("{:.1f} KiB", count / 1024);
  if (size < 10 << 20) return fmt::format("{:.1f} MiB", bytes.as_mib());
  if (size < 2.0 * (1 << 30)) return fmt::format("{:.0f} MiB", bytes.as_mib());
  if (size < 1000.0 * (1 << 30)) return fmt::format("{:.2f} GiB", bytes.as_gib());
  return fmt::format("{:.2f} TiB", bytes.as_gib() / 1024);
}

Result<Bytes> parse_bytes(std::string_view text) {
  const auto refuse = [&] {
    return fail(ErrorCode::kUsage, fmt::format("\"{}\" is not a size", text), "",
                "a number and a unit: 1343MiB, 20GiB, 2g");
  };
  double number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{} || !std::isfinite(number) || number < 0) return refuse();
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  const auto factor = unit_bytes(unit);
  if (!factor) return refuse();
  const double bytes = std::round(number * static_cast<double>(*factor));
  if (bytes >= static_cast<double>(std::numeric_limits<std::int64_t>::max())) return refuse();
  return Bytes(static_cast<std::int64_t>(bytes));
}

Bytes round_up(Bytes bytes, Bytes granularity) {
  const std::int64_t rest = bytes.count() % granularity.count();
  return rest == 0 ? bytes : bytes + Bytes(granularity.count() - rest);
}

}  // namespace vramfit::base
