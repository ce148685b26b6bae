#include "ingest/text/gpu_status.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "ingest/text/printed_size.h"
#include "ingest/text/read_text.h"

namespace vramfit::ingest {
namespace {

using model::GpuStatus;
using model::GpuStatusForm;

std::vector<GpuStatus> all(std::string_view text) { return parse_text_evidence(text, "log").gpu_status; }

model::PrintedBytes mib(std::string_view digits) { return *printed_bytes(digits, kMib, Rounding::kUnknown); }

constexpr std::string_view kOldTable = R"(Tue Feb 27 10:06:13 2018
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 384.69                 Driver Version: 384.69                    |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|===============================+======================+======================|
|   0  Tesla K80           On   | 00000000:04:00.0 Off |                    0 |
| N/A   28C    P8    26W / 149W |   7023MiB / 11439MiB |      0%      Default |
+-------------------------------+----------------------+----------------------+
|   1  Tesla K80           On   | 00000000:05:00.0 Off |                    0 |
| N/A   28C    P8    26W / 149W |      1MiB / 11439MiB |      0%   E. Process |
+-------------------------------+----------------------+----------------------+

+-----------------------------------------------------------------------------+
| Processes:                                                       GPU Memory |
|  GPU       PID  Type  Process name                               Usage      |
|=============================================================================|
|    0     12345    C   python train.py                              7012MiB  |
+-----------------------------------------------------------------------------+
)";

constexpr std::string_view kWindowsTable = R"(
| NVIDIA-SMI 527.41       Driver Version: 527.41       CUDA Version: 12.0     |
|   0  NVIDIA GeForce ... WDDM  | 00000000:01:00.0  On |                  N/A |
| N/A   53C    P8     8W /  N/A |    451MiB /  6144MiB |      6%      Default |
|                               |                      |                  N/A |
| Processes:                                                                  |
|    0   N/A  N/A      4704    C+G   ...y\ShellExperienceHost.exe    N/A      |
)";

constexpr std::string_view kMigTable = R"(
| NVIDIA-SMI 535.129.03             Driver Version: 535.129.03   CUDA Version: 12.2     |
|   0  NVIDIA A100-SXM4-40GB          On  | 00000000:00:04.0 Off |                   On |
| N/A   31C    P0              44W / 400W |     25MiB / 40960MiB |     N/A      Default |
|                                         |                      |              Enabled |
| MIG devices:                                                                          |
|  0    7   0   0  |              12MiB /  4864MiB  | 14      0 |  1   0    0    0    0 |
| Processes:                                                                            |
|  No running processes found                                                           |
)";

TEST(GpuStatus, table_of_driver_384) {
  const auto found = all(kOldTable);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].driver, "384.69");
  EXPECT_EQ(found[0].cuda, "");
  EXPECT_EQ(found[0].time, "Tue Feb 27 10:06:13 2018");
  ASSERT_EQ(found[0].cards.size(), 2u);
  EXPECT_EQ(found[0].cards[0].name, "Tesla K80");
  EXPECT_EQ(found[0].cards[0].used, mib("7023"));
  EXPECT_EQ(found[0].cards[0].total, mib("11439"));
  EXPECT_EQ(found[0].cards[1].compute_mode, "E. Process");
  ASSERT_EQ(found[0].processes.size(), 1u);
  EXPECT_EQ(found[0].processes[0].pid, 12345);
  EXPECT_EQ(found[0].processes[0].name, "python train.py");
  EXPECT_EQ(found[0].processes[0].memory, mib("7012"));
}

TEST(GpuStatus, table_behind_a_prefix_that_is_not_known) {
  std::string text, line;
  std::istringstream table{std::string(kOldTable)};
  for (int second = 10; std::getline(table, line); ++second) text += fmt::format("10:00:{} host | {}\n", second, line);
  const auto read = all(text), plain = all(kOldTable);
  ASSERT_EQ(read.size(), 1u);
  ASSERT_EQ(read[0].cards.size(), plain[0].cards.size());
  EXPECT_EQ(read[0].cards[0].used, plain[0].cards[0].used);
  EXPECT_EQ(read[0].cards[0].name, "Tesla K80");
  ASSERT_EQ(read[0].processes.size(), plain[0].processes.size());
  EXPECT_EQ(read[0].processes[0].pid, 12345);
}

TEST(GpuStatus, table_of_windows_lists_processes_without_memory) {
  const auto found = all(kWindowsTable);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].cards.at(0).driver_model, "WDDM");
  EXPECT_EQ(found[0].cards.at(0).display, "On");
  EXPECT_EQ(found[0].processes.at(0).type, "C+G");
  EXPECT_EQ(found[0].processes.at(0).memory, std::nullopt) << "N/A is not 0";
}

TEST(GpuStatus, table_with_mig) {
  const auto found = all(kMigTable);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].cards.at(0).mig_mode, "Enabled");
  ASSERT_EQ(found[0].slices.size(), 1u);
  EXPECT_EQ(found[0].slices[0].gpu_instance, 7);
  EXPECT_EQ(found[0].slices[0].total, mib("4864"));
  EXPECT_TRUE(found[0].processes_listed);
  EXPECT_TRUE(found[0].processes.empty());
}

TEST(GpuStatus, table_without_its_head) {
  const auto found =
      all("|   0  Tesla T4            Off  | 00000000:00:04.0 Off |                    0 |\n"
          "| N/A   47C    P0    28W /  70W |  14105MiB / 15360MiB |      0%      Default |\n");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].cards.at(0).name, "Tesla T4");
  EXPECT_EQ(found[0].cards.at(0).used, mib("14105"));
}

TEST(GpuStatus, query) {
  const auto found = all(R"(==============NVSMI LOG==============
Driver Version                            : 550.54.15
Attached GPUs                             : 1
GPU 00000000:01:00.0
    Product Name                          : NVIDIA GeForce RTX 3090
    FB Memory Usage
        Total                             : 24576 MiB
        Reserved                          : 318 MiB
        Used                              : 20123 MiB
        Free                              : 4134 MiB
    BAR1 Memory Usage
        Total                             : 256 MiB
        Used                              : 4 MiB
    Utilization
        Gpu                               : 97 %
        Memory                            : 41 %
    Temperature
        GPU Current Temp                  : 71 C
        GPU Shutdown Temp                 : 98 C
    GPU Power Readings
        Power Draw                        : 341.20 W
        Current Power Limit               : 350.00 W
    Processes
        Process ID                        : 4711
            Type                          : C
            Name                          : python
            Used GPU Memory               : 20050 MiB
)");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].form, GpuStatusForm::kQuery);
  ASSERT_EQ(found[0].cards.size(), 1u);
  EXPECT_EQ(found[0].cards[0].total, mib("24576"));
  EXPECT_EQ(found[0].cards[0].reserved, mib("318"));
  EXPECT_EQ(found[0].cards[0].used, mib("20123"));
  EXPECT_EQ(found[0].cards[0].utilization_percent, 97);
  EXPECT_EQ(found[0].cards[0].temperature_c, 71);
  EXPECT_EQ(found[0].cards[0].power_w, 341.2);
  EXPECT_EQ(found[0].processes.at(0).memory, mib("20050"));
}

TEST(GpuStatus, xml_on_many_lines_or_one) {
  const std::string text = R"(<?xml version="1.0" ?>
<nvidia_smi_log>
  <driver_version>550.54.15</driver_version>
  <gpu id="00000000:01:00.0">
    <product_name>NVIDIA RTX A6000</product_name>
    <fb_memory_usage>
      <total>49140 MiB</total>
      <used>123 MiB</used>
    </fb_memory_usage>
    <bar1_memory_usage><total>256 MiB</total></bar1_memory_usage>
    <processes><process_info><pid>77</pid><type>C</type><process_name>python</process_name><used_memory>100 MiB</used_memory></process_info></processes>
  </gpu>
</nvidia_smi_log>
)";
  std::string one_line = text;
  std::erase(one_line, '\n');
  for (const std::string& shape : {text, one_line}) {
    const auto found = all(shape);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].cards.at(0).name, "NVIDIA RTX A6000");
    EXPECT_EQ(found[0].cards.at(0).total, mib("49140"));
    EXPECT_EQ(found[0].processes.at(0).pid, 77);
    EXPECT_FALSE(found[0].truncated);
  }
}

TEST(GpuStatus, csv_with_and_without_units) {
  const auto found =
      all("index, name, memory.total [MiB], memory.used [MiB]\n0, NVIDIA A100, 81920 MiB, 1234 MiB\n"
          "1, NVIDIA A100, 81920, 79000\npid, process_name, used_gpu_memory [MiB]\n123, python, 1200 MiB\n");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].cards.at(0).used, mib("1234"));
  EXPECT_EQ(found[0].cards.at(1).used, mib("79000"));
  EXPECT_EQ(found[1].processes.at(0).pid, 123);
}

TEST(GpuStatus, monitors_know_the_first_and_the_greatest) {
  const auto found = all(
      "# gpu     fb   bar1 \n# Idx     MB     MB \n    0   1234      5 \n    0   9234      5 \n    0   2234      5 \n");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].form, GpuStatusForm::kDmon);
  EXPECT_EQ(found[0].samples, 3);
  EXPECT_EQ(found[0].first_used.at(0), mib("1234"));
  EXPECT_EQ(found[0].most_used.at(0), mib("9234"));
  EXPECT_EQ(found[0].cards.at(0).used, mib("2234"));
  const auto processes =
      all("# gpu         pid  type    fb   command \n# Idx           #   C/G    MB   name \n    0       1234     C  "
          "8012   python \n    1          -     -     -   - \n");
  ASSERT_EQ(processes.size(), 1u);
  ASSERT_EQ(processes[0].processes.size(), 1u);
  EXPECT_EQ(processes[0].processes[0].memory, mib("8012"));
}

TEST(GpuStatus, table_of_which_only_the_processes_were_kept) {
  const auto found = all(R"(
| Processes:                                                                  |
|  GPU   GI   CI        PID   Type   Process name                  GPU Memory |
|=============================================================================|
|    0   N/A  N/A     21011      C   python                          10117MiB |
|    1   N/A  N/A     21012      C   python                           9327MiB |
+-----------------------------------------------------------------------------+
)");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].processes_listed);
  ASSERT_EQ(found[0].processes.size(), 2u);
  EXPECT_EQ(found[0].processes[1].gpu, 1);
  EXPECT_EQ(found[0].processes[1].memory, mib("9327"));
}

TEST(GpuStatus, gpustat_names_who_holds_a_card) {
  const auto found =
      all("[0] RTX A6000 | 71'C,  98 % | 47120 / 49140 MB | ann:python/20117(46980M) gdm(4M)\n"
          "[1] RTX A6000 | 35'C,   0 % |     3 / 49140 MB |\n");
  ASSERT_EQ(found.size(), 1u);
  ASSERT_EQ(found[0].cards.size(), 2u);
  EXPECT_TRUE(found[0].processes_listed);
  ASSERT_EQ(found[0].processes.size(), 2u);
  EXPECT_EQ(found[0].processes[0].name, "python");
  EXPECT_EQ(found[0].processes[0].pid, 20117);
  EXPECT_EQ(found[0].processes[0].memory, mib("46980"));
  EXPECT_EQ(found[0].processes[1].name, "gdm");
  EXPECT_FALSE(found[0].processes[1].pid);
}

TEST(GpuStatus, a_loop_is_folded) {
  std::string loop;
  for (int i = 0; i < 40; ++i) loop += kOldTable;
  const auto found = all(loop);
  ASSERT_EQ(found.size(), 8u);
  EXPECT_EQ(found.back().samples, 33);
}

// What the nvidia-smi of virtual cards prints (virtual_gpu/smi checks that it still does): every form tells the same.
std::string kept_text(const std::string& name) {
  std::ifstream file(VRAMFIT_SOURCE_DIR "/fixtures/nvidia_smi/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(GpuStatus, every_form_of_the_virtual_cards_tool_reads_back) {
  for (const char* const name : {"table.txt", "report.txt", "report.xml", "gpus.csv"}) {
    const auto found = all(kept_text(name));
    ASSERT_EQ(found.size(), 1u) << name;
    ASSERT_EQ(found[0].cards.size(), 1u) << name;
    const model::GpuCard& card = found[0].cards[0];
    EXPECT_EQ(card.name, "NVIDIA GeForce RTX 3090") << name;
    EXPECT_EQ(card.index, 0) << name;
    EXPECT_EQ(card.total, mib("24576")) << name;
    EXPECT_EQ(card.used, mib("1234")) << name;
    EXPECT_EQ(card.utilization_percent, 0) << name;
    EXPECT_EQ(card.temperature_c, 30) << name;
    EXPECT_EQ(card.power_w, 30) << name;
  }
}

TEST(GpuStatus, processes_of_the_virtual_cards_tool_read_back) {
  for (const char* const name : {"table.txt", "report.txt", "report.xml", "processes.csv"}) {
    const auto found = all(kept_text(name));
    ASSERT_EQ(found.size(), 1u) << name;
    ASSERT_EQ(found[0].processes.size(), 1u) << name;
    EXPECT_EQ(found[0].processes[0].pid, 4711) << name;
    EXPECT_EQ(found[0].processes[0].name, "/usr/bin/python3") << name;
    EXPECT_EQ(found[0].processes[0].memory, mib("1000")) << name;
  }
}

}  // namespace
}  // namespace vramfit::ingest
