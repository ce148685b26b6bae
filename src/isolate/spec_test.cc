#include <gtest/gtest.h>

#include "isolate/layer.h"

namespace vramfit::isolate {
namespace {

TEST(LayerSpec, ComesBackFromItsText) {
  const LayerSpec spec{"/a b", "/s\"", {"/x", "/y\n"}, {"/home/me"}, true, true, 1 << 20, false, true};
  const auto read = parse_layer_spec(to_text(spec));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(to_text(*read), to_text(spec));
  EXPECT_EQ(read->shared, spec.shared);
  EXPECT_EQ(read->limit_bytes, spec.limit_bytes);
  EXPECT_FALSE(read->has_files);
  EXPECT_TRUE(read->in_user_namespace);
}

TEST(LayerSpec, AnythingElseIsRefused) {
  for (const char* text : {"", "{}", "[]", "null", R"({"staging":1})"}) EXPECT_FALSE(parse_layer_spec(text)) << text;
}

}  // namespace
}  // namespace vramfit::isolate
