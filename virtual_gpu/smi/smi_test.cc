// What nvidia-smi prints for cards that are given, and what its command line means. The texts are in
// fixtures/nvidia_smi, where the tests of src/ingest read them back. VRAMFIT_WRITE_FIXTURES=1 writes them anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "virtual_gpu/smi/options.h"
#include "virtual_gpu/smi/printed.h"
#include "virtual_gpu/smi/report.h"
#include "virtual_gpu/smi/table.h"

namespace {

namespace smi = vramfit::smi;

constexpr char kDate[] = "Sun Nov 22 07:48:08 2026";

// Whether a printed text is the kept one.
void expect_kept(const std::string& name, const std::string& text) {
  const std::string path = VRAMFIT_SOURCE_DIR "/fixtures/nvidia_smi/" + name;
  if (std::getenv("VRAMFIT_WRITE_FIXTURES") != nullptr) std::ofstream(path) << text;
  std::ifstream file(path);
  EXPECT_EQ(text, std::string(std::istreambuf_iterator<char>(file), {})) << path;
}

smi::Machine one_card() {
  smi::Card card;
  card.name = "NVIDIA GeForce RTX 3090";
  card.uuid = "GPU-00000000-0000-0000-0000-000000000001";
  card.bus_id = "00000000:01:00.0";
  card.compute_major = 8;
  card.compute_minor = 6;
  card.architecture = 7;
  card.total_bytes = uint64_t{24576} << 20;
  card.used_bytes = uint64_t{1234} << 20;
  card.free_bytes = card.total_bytes - card.used_bytes;
  card.temperature_c = 30;
  card.power_mw = 30'000;
  card.power_limit_mw = 350'000;
  card.busy_percent = 0;
  card.performance_state = 8;
  card.compute_mode = 0;
  card.processes = {{4711, "/usr/bin/python3", uint64_t{1000} << 20}};
  return {"580.82.07", 13000, {card}};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Compared by eye with what drivers 550 to 615 print; the widths are checked below.
TEST(Smi, every_form_prints_what_is_kept) {
  expect_kept("table.txt", smi::table(one_card(), kDate));
  expect_kept("list.txt", smi::list(one_card()));
  expect_kept("report.txt", smi::report(one_card(), {}, kDate));
  expect_kept("report.xml", smi::xml_report(one_card(), kDate));
  expect_kept("gpus.csv", smi::gpu_csv(one_card(),
                                       {"index", "name", "uuid", "memory.total", "memory.used", "memory.free",
                                        "utilization.gpu", "temperature.gpu", "power.draw"},
                                       {}));
  expect_kept("processes.csv", smi::process_csv(one_card(), {"gpu_uuid", "pid", "process_name", "used_memory"}, {}));
}

TEST(Smi, rows_of_the_table_are_as_wide_as_its_rules_whatever_the_names) {
  smi::Machine machine = one_card();
  machine.cards[0].name = "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition";
  machine.cards[0].processes[0].name = "/a/very/long/path/to/an/environment/of/python/bin/python3.11";
  machine.cards[0].mig = false;
  machine.driver = "550.54.15";
  for (const std::string& line : lines_of(smi::table(machine, ""))) {
    const bool is_row = line.starts_with('|') || line.starts_with('+');
    EXPECT_TRUE(!is_row || line.size() == 91) << line;
  }
  machine.cards[0].processes.clear();
  EXPECT_NE(smi::table(machine, "").find("No running processes found"), std::string::npos);
}

TEST(Smi, a_query_has_headers_and_units_unless_they_are_not_wanted) {
  const std::vector<std::string> fields = {"index",      "gpu_name",  "memory.used",
                                           "power.draw", "fan.speed", "temperature.gpu"};
  EXPECT_EQ(smi::gpu_csv(one_card(), fields, {}),
            "index, name, memory.used [MiB], power.draw [W], fan.speed [%], temperature.gpu\n"
            "0, NVIDIA GeForce RTX 3090, 1234 MiB, 30.00 W, [N/A], 30\n");
  EXPECT_EQ(smi::gpu_csv(one_card(), fields, {.header = false, .units = false}),
            "0, NVIDIA GeForce RTX 3090, 1234, 30.00, [N/A], 30\n");
  EXPECT_EQ(smi::process_csv(one_card(), {"pid", "used_memory"}, {}), "pid, used_gpu_memory [MiB]\n4711, 1000 MiB\n");
}

TEST(Smi, the_report_can_be_one_section) {
  const std::string text = smi::report(one_card(), {"MEMORY"}, kDate);
  EXPECT_NE(text.find("    FB Memory Usage\n        Total                             : 24576 MiB\n"),
            std::string::npos);
  EXPECT_EQ(text.find("Product Name"), std::string::npos);
  EXPECT_NE(
      smi::report(one_card(), {}, kDate).find("    Product Name                          : NVIDIA GeForce RTX 3090\n"),
      std::string::npos);
}

TEST(Smi, values_of_the_xml_are_escaped) {
  smi::Machine machine = one_card();
  machine.cards[0].processes[0].name = "a<b>&c";
  EXPECT_NE(smi::xml_report(machine, kDate).find("<process_name>a&lt;b&gt;&amp;c</process_name>"), std::string::npos);
}

TEST(SmiOptions, the_forms_that_scripts_use_are_known) {
  const auto parsed =
      smi::parse_options({"--query-gpu=memory.used, memory.total", "--format=csv,noheader,nounits", "-i", "0"});
  EXPECT_EQ(parsed.exit, smi::kDone);
  EXPECT_EQ(parsed.options.ask, smi::Ask::kGpuCsv);
  EXPECT_EQ(parsed.options.fields, (std::vector<std::string>{"memory.used", "memory.total"}));
  EXPECT_FALSE(parsed.options.form.header);
  EXPECT_FALSE(parsed.options.form.units);
  EXPECT_EQ(parsed.options.cards, std::vector<std::string>{"0"});
  EXPECT_EQ(smi::parse_options({"-L"}).options.ask, smi::Ask::kList);
  EXPECT_EQ(smi::parse_options({"-q", "-d", "MEMORY"}).options.displays, std::vector<std::string>{"MEMORY"});
  EXPECT_TRUE(smi::parse_options({"-q", "-x"}).options.xml);
  EXPECT_EQ(smi::parse_options({"-l", "2"}).options.every_ms, 2000);
  EXPECT_EQ(smi::parse_options({"--loop-ms=250"}).options.every_ms, 250);
}

TEST(SmiOptions, what_is_wrong_or_not_modelled_is_refused_as_such) {
  const auto unknown = smi::parse_options({"--query-gpu=memory.uesd", "--format=csv"});
  EXPECT_EQ(unknown.exit, smi::kInvalidArgument);
  EXPECT_EQ(unknown.problem, "Field \"memory.uesd\" is not a valid field to query.\n\n");
  EXPECT_EQ(smi::parse_options({"--query-gpu=name"}).exit, smi::kInvalidArgument);
  EXPECT_EQ(smi::parse_options({"--query-gpu"}).exit, smi::kInvalidArgument);
  EXPECT_EQ(smi::parse_options({"--what"}).exit, smi::kInvalidArgument);
  EXPECT_EQ(smi::parse_options({"-pl", "200"}).exit, smi::kNoPermission);
  const auto topology = smi::parse_options({"topo", "-m"});
  EXPECT_EQ(topology.exit, smi::kNotAvailable);
  EXPECT_EQ(topology.not_modelled, "nvidia-smi topo");
}

}  // namespace
