#include "allocator/settings.h"

#include <gtest/gtest.h>

#include "allocator/testing/sizes.h"

namespace vramfit::allocator {
namespace {

Settings parse(std::string_view text, TorchVersion version = {2, 12}) {
  return parse_settings(text, rules_of(version)).value();
}

TEST(Settings, a_text_is_read_as_pytorch_reads_it) {
  const Settings settings = parse(" max_split_size_mb:128, expandable_segments:True,garbage_collection_threshold:0.8");
  EXPECT_EQ(settings.max_split_bytes, 128 * kMib);
  EXPECT_TRUE(settings.expandable_segments);
  EXPECT_EQ(settings.garbage_collection_threshold, 0.8);
}

TEST(Settings, what_pytorch_refuses_is_refused_by_name) {
  for (const char* text :
       {"max_split_size_mb:19", "expandable_segments:true", "no_such_key:1", "max_split_size_mb",
        "roundup_power2_divisions:3", "roundup_power2_divisions:[256:1", "garbage_collection_threshold:1",
        "per_process_memory_fraction:1.5", "large_segment_size_mb:-5"}) {
    const auto settings = parse_settings(text, rules_of({2, 12}));
    ASSERT_FALSE(settings) << text;
    EXPECT_EQ(settings.error().code, base::ErrorCode::kUsage) << text;
  }
  EXPECT_EQ(parse_settings("expandable_segment:True", rules_of({2, 12})).error().what,
            "expandable_segment: PyTorch has no such setting; did you mean expandable_segments?");
  EXPECT_FALSE(parse_settings("large_segment_size_mb:40", rules_of({2, 6}))) << "it came with 2.10";
  EXPECT_FALSE(parse_settings("max_split_size_mb:20", rules_of({2, 6}))) << "21 was the least";
}

TEST(Settings, the_text_of_settings_reads_back_as_they_were) {
  for (const char* text : {"", "expandable_segments:True", "roundup_power2_divisions:4", "backend:cudaMallocAsync",
                           "max_split_size_mb:64,max_non_split_rounding_mb:80,large_segment_size_mb:40",
                           "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]"}) {
    const Settings settings = parse(text);
    EXPECT_EQ(parse(to_string(settings)), settings) << text;
  }
}

TEST(Settings, the_last_interval_begins_where_the_release_says) {
  const std::string_view text = "roundup_power2_divisions:[1:4,16:8,>:2]";
  EXPECT_EQ(round_size(20 * kMib, parse(text, {2, 12})), 20 * kMib) << "16 MiB in eighths";
  EXPECT_EQ(round_size(20 * kMib, parse(text, {2, 6})), 24 * kMib) << "'>' took 16 MiB too: halves";
}

// The reference values are of PyTorch's own comments.
TEST(Rounding, sizes_round_as_pytorch_rounds_them) {
  const Settings plain, quarters = parse("roundup_power2_divisions:4");
  EXPECT_EQ(round_size(1, plain), 512U);
  EXPECT_EQ(round_size(513, plain), 1024U);
  EXPECT_EQ(round_size(1048577, plain), 1049088U);
  EXPECT_EQ(round_size(1200, quarters), 1536U) << "up to 2048 the divisions are not used";
  EXPECT_EQ(round_size(1572865, quarters), 1835008U);
  EXPECT_EQ(round_size(3000000, quarters), 3145728U);
  EXPECT_EQ(round_size(1 << 22, quarters), 1U << 22);
}

TEST(Rounding, segments_come_in_three_sizes) {
  const Settings plain;
  EXPECT_EQ(segment_bytes_for(kMib, plain), 2 * kMib);
  EXPECT_EQ(segment_bytes_for(kMib + 512, plain), 20 * kMib);
  EXPECT_EQ(segment_bytes_for(10 * kMib - 512, plain), 20 * kMib);
  EXPECT_EQ(segment_bytes_for(10 * kMib, plain), 10 * kMib);
  EXPECT_EQ(segment_bytes_for(11 * kMib, plain), 12 * kMib);
}

TEST(Rules, releases_are_read_from_version_texts) {
  EXPECT_EQ(parse_torch_version("2.6.0+cu124").value(), (TorchVersion{2, 6}));
  EXPECT_EQ(parse_torch_version("2.13.0a0+git1234").value(), (TorchVersion{2, 13}));
  EXPECT_FALSE(parse_torch_version("nightly"));
  EXPECT_FALSE(parse_torch_version(""));
}

TEST(Rules, every_rule_is_off_before_its_release_and_on_from_it) {
  for (const Rule& rule : known_rules()) {
    EXPECT_TRUE(rules_of(rule.torch_from).*rule.on) << rule.name;
    EXPECT_FALSE((rules_of({rule.torch_from.major, rule.torch_from.minor - 1}).*rule.on)) << rule.name;
  }
}

}  // namespace
}  // namespace vramfit::allocator
