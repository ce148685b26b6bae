#include "report/watch_metrics.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/watch_csv.h"
#include "report/watch_json.h"
#include "report/watch_time.h"

namespace vramfit::report {
namespace {

model::MachineSample small_machine() {
  model::MachineSample sample{.at_unix_ns = 1'795'000'000'250'000'000};
  sample.driver = {.answers = true, .version = "580"};
  model::CardReading card{.uuid = "GPU-a", .name = "Fake \"3090\", large"};
  card.used_bytes = 5;
  card.gpu_percent = 97;
  card.power_milliwatts = 341'500;
  card.sm_clock_mhz = 1695;
  card.temperature_celsius = model::Absence::kNoPermission;
  sample.cards.push_back(std::move(card));
  sample.processes.push_back({.pid = 7,
                              .name = "python",
                              .command = "python \"a\"",
                              .user = "ada",
                              .uses = {{.card = "GPU-a", .used_bytes = 3}}});
  return sample;
}

bool holds(const std::string& text, std::string_view line) { return text.find(line) != std::string::npos; }

TEST(WatchMetrics, are_in_base_units_with_help_and_labels) {
  const std::string text = machine_to_metrics(small_machine(), {});
  const std::string labels = R"({uuid="GPU-a",name="Fake \"3090\", large"})";
  EXPECT_TRUE(holds(text, "# TYPE vramfit_gpu_used_bytes gauge\nvramfit_gpu_used_bytes" + labels + " 5\n")) << text;
  EXPECT_TRUE(holds(text, "vramfit_gpu_power_watts" + labels + " 341.5\n"));
  EXPECT_TRUE(holds(text, "vramfit_gpu_sm_clock_hertz" + labels + " 1695000000\n"));
  EXPECT_TRUE(holds(text, "vramfit_gpu_gpu_busy_ratio" + labels + " 0.97\n"));
}

TEST(WatchMetrics, what_is_absent_has_no_line_and_processes_are_asked_for) {
  const std::string text = machine_to_metrics(small_machine(), {});
  EXPECT_FALSE(holds(text, "temperature"));
  EXPECT_FALSE(holds(text, "python"));
  const std::string more = machine_to_metrics(small_machine(), {.processes = true});
  EXPECT_TRUE(holds(more, R"(vramfit_process_gpu_used_bytes{uuid="GPU-a",pid="7",process="python",user="ada"} 3)"));
}

TEST(WatchJson, an_absent_reading_is_null_with_its_reason) {
  const auto json = nlohmann::ordered_json::parse(machine_to_json_line(small_machine(), "1"));
  EXPECT_EQ(json["cards"][0]["used_bytes"], 5);
  EXPECT_TRUE(json["cards"][0]["temperature_celsius"].is_null());
  EXPECT_EQ(json["cards"][0]["missing"]["temperature_celsius"], "no permission");
  EXPECT_EQ(json["processes"][0]["cards"][0]["used_bytes"], 3);
  EXPECT_EQ(json["at"], "2026-11-18T11:06:40.250Z");
}

TEST(WatchJson, a_line_is_one_line_whatever_a_command_holds) {
  auto sample = small_machine();
  sample.processes[0].command = "a\xff\nb";
  const std::string line = machine_to_json_line(sample, "1");
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_TRUE(nlohmann::json::accept(line));
}

TEST(WatchCsv, every_row_has_the_fields_of_the_heading) {
  const auto count = [](const std::string& text) {
    int fields = 1;
    bool quoted = false;
    for (const char c : text) {
      if (c == '"') quoted = !quoted;
      fields += c == ',' && !quoted ? 1 : 0;
    }
    return fields;
  };
  const std::string rows = machine_to_csv(small_machine());
  const std::string first = rows.substr(0, rows.find('\n'));
  EXPECT_EQ(count(first), count(csv_heading()));
  EXPECT_EQ(count(rows.substr(rows.find('\n') + 1)), count(csv_heading()));
  EXPECT_TRUE(holds(first, R"("Fake ""3090"", large")")) << first;
}

TEST(WatchTime, ages_are_short) {
  EXPECT_EQ(to_age(59), "59s");
  EXPECT_EQ(to_age(187), "3m07s");
  EXPECT_EQ(to_age(7385), "2h03m");
  EXPECT_EQ(to_age(4 * 86400 + 3600), "4d01h");
  EXPECT_EQ(to_age(-5), "0s");
}

}  // namespace
}  // namespace vramfit::report
