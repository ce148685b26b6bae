#include "doctor/host_series.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace vramfit::doctor {
namespace {

model::TextFile log_of(double first, double per_step, const std::string& label, int lines = 20) {
  model::TextFile file;
  file.name = "job.log";
  for (int i = 0; i < lines; ++i) {
    file.sample += fmt::format("step {} loss 0.5 {}{:.1f}GB\n", i * 100, label, first + i * per_step);
  }
  return file;
}

TEST(HostSeries, that_rises_is_found_under_the_names_that_it_has) {
  for (const char* label : {"rss ", "RSS: ", "cpu_mem=", "ram usage: ", "host_memory ", "vms "}) {
    const auto rise = find_host_rise(log_of(4.1, 1.9, label));
    ASSERT_TRUE(rise) << label;
    EXPECT_DOUBLE_EQ(rise->first, 4.1);
    EXPECT_EQ(rise->readings, 20u);
  }
}

TEST(HostSeries, that_is_level_or_of_the_card_or_too_short_is_none) {
  EXPECT_FALSE(find_host_rise(log_of(4.1, 0, "rss ")));
  EXPECT_FALSE(find_host_rise(log_of(4.1, 0.01, "rss ")));
  EXPECT_FALSE(find_host_rise(log_of(4.1, 1.9, "gpu ram ")));
  EXPECT_FALSE(find_host_rise(log_of(4.1, 1.9, "program ")));
  EXPECT_FALSE(find_host_rise(log_of(4.1, 1.9, "rss ", 5)));
}

}  // namespace
}  // namespace vramfit::doctor
