#include "ingest/text/printed_size.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <random>

namespace vramfit::ingest {
namespace {

TEST(PrintedSize, knows_units_and_separators) {
  EXPECT_EQ(parse_size("0 bytes", Rounding::kNearest)->bytes, model::exactly(base::Bytes(0)));
  EXPECT_EQ(parse_size("1,024 bytes", Rounding::kNearest)->bytes, model::exactly(base::Bytes(1024)));
  EXPECT_EQ(parse_size("7123MiB / 8192", Rounding::kUnknown)->length, 7u);
  EXPECT_EQ(parse_size("24564M", Rounding::kNearest)->bytes.value, base::Bytes::mib(24564));
  EXPECT_EQ(parse_size("1.50 GiB.", Rounding::kNearest)->bytes.value, base::Bytes::mib(1536));
  EXPECT_EQ(parse_size("12", Rounding::kNearest), std::nullopt) << "a number without a unit is no size";
  EXPECT_EQ(parse_size("12", Rounding::kNearest, kMib)->bytes.value, base::Bytes::mib(12));
  for (const std::string_view text : {"", "GiB", ".", "1.2.3 GiB", "-5 GiB", "N/A", "99999999999999999999999 GiB"}) {
    EXPECT_EQ(parse_size(text, Rounding::kNearest), std::nullopt) << text;
  }
  EXPECT_EQ(parse_size("17179869184.00 GiB", Rounding::kNearest)->bytes.value.count(), model::kPrintedBytesLimit);
}

// The interval holds what was printed, and it is no wider than a unit of the last digit.
TEST(PrintedSize, more_digits_than_bytes_are_no_empty_interval) {
  for (const Rounding rounding : {Rounding::kNearest, Rounding::kDown, Rounding::kUnknown}) {
    const auto size = parse_size("9.67 bytes", rounding);
    EXPECT_LE(size->bytes.low, size->bytes.high);
    EXPECT_TRUE(size->bytes.contains(size->bytes.value));
  }
}

TEST(PrintedSize, every_count_lies_in_the_interval_of_its_print) {
  std::mt19937_64 random(7);
  constexpr std::array<std::pair<std::string_view, std::int64_t>, 3> kUnits{
      {{"KiB", kKib}, {"MiB", kMib}, {"GiB", kGib}}};
  for (int i = 0; i < 20000; ++i) {
    const std::int64_t bytes = static_cast<std::int64_t>(random() >> (24 + random() % 24));
    const auto& [unit, scale] = kUnits[random() % kUnits.size()];
    const std::string nearest = fmt::format("{:.2f} {}", static_cast<double>(bytes) / static_cast<double>(scale), unit);
    const auto size = parse_size(nearest, Rounding::kNearest);
    ASSERT_TRUE(size && size->bytes.contains(base::Bytes(bytes))) << nearest << " " << bytes;
    ASSERT_LE(size->bytes.high.count() - size->bytes.low.count(), scale / 100 + 1);
    const auto down = parse_size(fmt::format("{} {}", bytes / scale, unit), Rounding::kDown);
    ASSERT_TRUE(down && down->bytes.contains(base::Bytes(bytes)));
    ASSERT_EQ(down->bytes.high.count() - down->bytes.low.count(), scale - 1);
    ASSERT_TRUE(parse_size(fmt::format("{} {}", (bytes + scale - 1) / scale, unit), Rounding::kUnknown)
                    ->bytes.contains(base::Bytes(bytes)));
  }
}

}  // namespace
}  // namespace vramfit::ingest
