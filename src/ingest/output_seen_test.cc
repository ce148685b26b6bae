#include "ingest/output_seen.h"

#include <gtest/gtest.h>

namespace vramfit::ingest {
namespace {

TEST(OutputSeen, is_read_as_the_hooks_write_it) {
  const auto seen = parse_output_seen(R"({"stdout_bytes": 12, "stderr_bytes": 0})");
  ASSERT_TRUE(seen);
  EXPECT_EQ(*seen, (model::told::OutputSeen{.stdout_bytes = 12, .stderr_bytes = 0}));
}

TEST(OutputSeen, what_is_not_whole_asks_for_nothing) {
  for (const char* text :
       {"", "12 0\n", "{}", "[]", R"({"stdout_bytes": 12})", R"({"stdout_bytes": "12", "stderr_bytes": 0})"}) {
    EXPECT_FALSE(parse_output_seen(text)) << text;
  }
}

}  // namespace
}  // namespace vramfit::ingest
