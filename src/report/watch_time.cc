#include "report/watch_time.h"

#include <fmt/format.h>

#include <ctime>

namespace vramfit::report {

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

}  // namespace

std::string to_rfc3339(std::int64_t unix_ns) {
  const std::time_t seconds = unix_ns / kSecond;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, unix_ns % kSecond / 1'000'000);
}

std::string to_clock(std::int64_t unix_ns) {
  const std::time_t seconds = unix_ns / kSecond;
  std::tm parts{};
  localtime_r(&seconds, &parts);
  return fmt::format("{:02}:{:02}:{:02}", parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string to_age(std::int64_t seconds) {
  constexpr std::int64_t kMinute = 60, kHour = 60 * kMinute, kDay = 24 * kHour;
  if (seconds < 0) return "0s";
  if (seconds < kMinute) return fmt::format("{}s", seconds);
  if (seconds < kHour) return fmt::format("{}m{:02}s", seconds / kMinute, seconds % kMinute);
  if (seconds < kDay) return fmt::format("{}h{:02}m", seconds / kHour, seconds % kHour / kMinute);
  return fmt::format("{}d{:02}h", seconds / kDay, seconds % kDay / kHour);
}

}  // namespace vramfit::report
