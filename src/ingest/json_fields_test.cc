#include "ingest/json_fields.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace vramfit::ingest {
namespace {

TEST(JsonFields, what_is_missing_or_of_another_type_reads_as_nothing) {
  const auto fields = nlohmann::json::parse(R"({"name": 3, "count": "3", "shape": {"a": 1}})");
  for (const char* name : {"name", "absent"}) EXPECT_EQ(text_of(fields, name), "");
  for (const char* name : {"count", "absent"}) EXPECT_EQ(integer_of(fields, name, -1), -1);
  for (const char* name : {"shape", "absent"}) EXPECT_TRUE(list_of(fields, name).is_array());
}

TEST(JsonFields, what_is_there_is_read) {
  const auto fields = nlohmann::json::parse(R"({"name": "conv", "count": 3, "shape": [8, 3]})");
  EXPECT_EQ(text_of(fields, "name"), "conv");
  EXPECT_EQ(integer_of(fields, "count"), 3);
  EXPECT_EQ(list_of(fields, "shape").size(), 2u);
}

}  // namespace
}  // namespace vramfit::ingest
