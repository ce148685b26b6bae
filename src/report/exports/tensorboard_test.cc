#include "report/exports/tensorboard.h"

#include <gtest/gtest.h>

#include <cstring>

namespace vramfit::report::exports {
namespace {

// RFC 3720, B.4.
TEST(Tensorboard, checksums_are_those_of_the_standard) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c(""), 0u);
}

TEST(Tensorboard, a_file_is_records_whose_lengths_tile_it) {
  ExportFacts facts{.title = "run 1", .begins_ms = 1'700'000'000'000};
  facts.counters = {{"allocated", 0, {{0, base::Bytes::mib(1)}, {1'000'000'000, base::Bytes::mib(2)}}}};
  const std::string file = counters_to_events(facts);
  std::size_t at = 0;
  int records = 0;
  while (at < file.size()) {
    std::uint64_t length = 0;
    std::memcpy(&length, file.data() + at, sizeof length);
    at += 8 + 4 + length + 4;
    ++records;
  }
  EXPECT_EQ(at, file.size());
  EXPECT_EQ(records, 3) << "the version, and two points";
  EXPECT_NE(file.find("card 0/allocated (MiB)"), std::string::npos);
  EXPECT_EQ(event_file_name(facts), "events.out.tfevents.1700000000.vramfit");
}

}  // namespace
}  // namespace vramfit::report::exports
