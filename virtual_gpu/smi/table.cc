// The layout of drivers 550 and later, 91 columns wide; from 570 on the column of process ids is wider.
//
//   |   0  NVIDIA GH200 480GB             On  |   00000000:DD:00.0 Off |                    0 |
//   | N/A   31C    P0             87W /  700W |       3MiB /  97871MiB |      0%      Default |
//   |                                         |                        |             Disabled |
#include "virtual_gpu/smi/table.h"

#include <cstdlib>

#include "virtual_gpu/smi/printed.h"

namespace vramfit::smi {
namespace {

constexpr int kWiderIds = 570;
constexpr char kRule[] =
    "+-----------------------------------------------------------------------------------------+\n";
constexpr char kCells[] =
    "+-----------------------------------------+------------------------+----------------------+\n";
constexpr char kDouble[] =
    "|=========================================+========================+======================|\n";
constexpr char kDoubleWhole[] =
    "|=========================================================================================|\n";

std::string row(const std::string& one, const std::string& two, const std::string& three) {
  return "|" + left(one, 41) + "|" + left(two, 24) + "|" + left(three, 22) + "|\n";
}

std::string whole_row(const std::string& text) { return "|" + left(text, 89) + "|\n"; }

std::string table_mib(uint64_t bytes, size_t width) { return right(std::to_string(mebibytes(bytes)) + "MiB", width); }

std::string table_watts(const std::optional<unsigned>& milliwatts) {
  return or_na(milliwatts, [](unsigned mw) { return std::to_string(mw / 1000) + "W"; });
}

std::string head(const Machine& machine) {
  return kRule +
         whole_row(" " + left("NVIDIA-SMI " + machine.driver, 34) + left("Driver Version: " + machine.driver, 31) +
                   "CUDA Version: " + cuda_text(machine.cuda)) +
         kCells + row(" GPU  Name                 Persistence-M", " Bus-Id          Disp.A", " Volatile Uncorr. ECC") +
         row(" Fan  Temp   Perf          Pwr:Usage/Cap", "           Memory-Usage", " GPU-Util  Compute M.") +
         row("", "", "               MIG M.") + kDouble;
}

// Boards without ECC count no errors.
std::string card_rows(const Card& card) {
  const std::string fan = or_na(card.fan_percent, [](unsigned percent) { return std::to_string(percent) + "%"; });
  const std::string celsius = or_na(card.temperature_c, [](unsigned c) { return std::to_string(c) + "C"; });
  const std::string state = or_na(card.performance_state, [](int number) { return "P" + std::to_string(number); });
  const std::string busy = or_na(card.busy_percent, [](unsigned percent) { return std::to_string(percent) + "%"; });
  const std::string mode = or_na(card.compute_mode, [](int number) {
    return number == 3 ? std::string("E. Process") : compute_mode_text(number);
  });
  const std::string mig = or_na(card.mig, [](bool on) { return std::string(on ? "Enabled" : "Disabled"); });
  const std::string errors = or_na(card.uncorrected_errors, [](uint64_t count) { return std::to_string(count); });
  return row(" " + right(std::to_string(card.index), 3) + "  " + left(card.name, 30) + " " +
                 (card.persistence ? "On" : "Off"),
             "   " + left(card.bus_id, 16) + right(card.display_active ? "On" : "Off", 4), right(errors, 21)) +
         row(" " + left(fan, 4) + right(celsius, 5) + "    " + left(state, 10) + right(table_watts(card.power_mw), 8) +
                 " / " + right(table_watts(card.power_limit_mw), 5),
             table_mib(card.used_bytes, 11) + " / " + table_mib(card.total_bytes, 9),
             right(busy, 8) + right(mode, 13)) +
         row("", "", right(mig, 21)) + kCells;
}

// "/a/long/path/python" as ".../long/path/python"
std::string shortened(const std::string& name, size_t width) {
  return name.size() <= width ? name : "..." + name.substr(name.size() - width + 3);
}

// Drivers since 525. Which engines an instance shares is not known of cards that are not there.
std::string instance_table(const Machine& machine) {
  std::string rows;
  constexpr char kEdge[] =
      "+------------------+----------------------------------+-----------+-----------------------+\n";
  for (const Card& card : machine.cards) {
    for (const Instance& one : card.instances) {
      const auto memory = [](uint64_t used, uint64_t total) {
        return table_mib(used, 16) + " / " + table_mib(total, 8) + "    ";
      };
      const std::string errors = or_na(card.uncorrected_errors, [](uint64_t count) { return std::to_string(count); });
      rows += "|" + right(std::to_string(card.index), 3) + right(std::to_string(one.gpu_instance), 5) +
              right(std::to_string(one.compute_instance), 4) + right(std::to_string(one.number), 4) + "  |" +
              right(memory(one.used_bytes, one.total_bytes), 34) + "|" + right(std::to_string(one.multiprocessors), 3) +
              right(errors, 7) + " |  0   0    0    0    0 |\n" + "|" + left("", 18) + "|" +
              right(memory(one.bar1_used_bytes, one.bar1_total_bytes), 34) + "|" + left("", 11) + "|" + left("", 23) +
              "|\n" + kEdge;
    }
  }
  if (rows.empty()) return {};
  return std::string(kRule) + whole_row(" MIG devices:") + kEdge +
         "| GPU  GI  CI  MIG |              Shared Memory-Usage |        Vol|        Shared         |\n"
         "|      ID  ID  Dev |                Shared BAR1-Usage | SM     Unc| CE ENC  DEC  OFA  JPG |\n"
         "|                  |                                  |        ECC|                       |\n"
         "|==================+==================================+===========+=======================|\n" +
         rows + "\n";
}

std::string process_rows(const Machine& machine, bool wider) {
  std::string rows;
  const size_t id_width = wider ? 16 : 10;
  const size_t name_width = wider ? 31 : 37;
  for (const Card& card : machine.cards) {
    for (const Process& process : card.processes) {
      const std::string used = or_na(process.used_bytes, [](uint64_t bytes) { return table_mib(bytes, 0); });
      const auto number = [](unsigned id) { return std::to_string(id); };
      rows +=
          whole_row(right(std::to_string(card.index), 5) + right(or_na(process.gpu_instance, number), 6) +
                    right(or_na(process.compute_instance, number), 5) + right(std::to_string(process.pid), id_width) +
                    "      C   " + left(shortened(process.name, name_width), name_width) + right(used, 15));
    }
  }
  return rows.empty() ? whole_row("  No running processes found") : rows;
}

}  // namespace

std::string table(const Machine& machine, const std::string& date) {
  const bool wider = std::atoi(machine.driver.c_str()) >= kWiderIds;
  std::string text = left(date, 31) + "\n" + head(machine);
  for (const Card& card : machine.cards) text += card_rows(card);
  text += "\n";
  text += instance_table(machine) + kRule + whole_row(" Processes:");
  text += whole_row(wider ? "  GPU   GI   CI              PID   Type   Process name                        GPU Memory"
                          : "  GPU   GI   CI        PID   Type   Process name                              GPU Memory");
  text += whole_row("        ID   ID                                                               Usage");
  return text + kDoubleWhole + process_rows(machine, wider) + kRule;
}

std::string list(const Machine& machine) {
  std::string text;
  for (const Card& card : machine.cards) {
    text += "GPU " + std::to_string(card.index) + ": " + card.name + " (UUID: " + card.uuid + ")\n";
    for (const Instance& one : card.instances) {
      const size_t profile = one.name.rfind("MIG ");
      text += "  " + left(profile == std::string::npos ? one.name : one.name.substr(profile), 16) + "Device " +
              right(std::to_string(one.number), 2) + ": (UUID: " + one.uuid + ")\n";
    }
  }
  return text;
}

}  // namespace vramfit::smi
