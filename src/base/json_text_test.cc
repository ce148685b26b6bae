#include "base/json_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace vramfit::base {
namespace {

TEST(JsonText, ReplacesWhatIsNoUtf8) {
  const nlohmann::ordered_json json = {{"name", "caf\xe9"}, {"after", 1}};
  EXPECT_EQ(json_line(json), "{\"name\":\"caf\xef\xbf\xbd\",\"after\":1}");
  EXPECT_EQ(json_file(json), "{\n \"name\": \"caf\xef\xbf\xbd\",\n \"after\": 1\n}\n");
}

}  // namespace
}  // namespace vramfit::base
