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

// Memory errors are counted on no virtual card, so their column reads N/A, as on boards without ECC.
std::string card_rows(const Card& card) {
  const std::string fan = or_na(card.fan_percent, [](unsigned percent) { return std::to_string(percent) + "%"; });
  const std::string celsius = or_na(card.temperature_c, [](unsigned c) { return std::to_string(c) + "C"; });
  const std::string state = or_na(card.performance_state, [](int number) { return "P" + std::to_string(number); });
  const std::string busy = or_na(card.busy_percent, [](unsigned percent) { return std::to_string(percent) + "%"; });
  const std::string mode = or_na(card.compute_mode, [](int number) {
    return number == 3 ? std::string("E. Process") : compute_mode_text(number);
  });
  const std::string mig = or_na(card.mig, [](bool on) { return std::string(on ? "Enabled" : "Disabled"); });
  return row(" " + right(std::to_string(card.index), 3) + "  " + left(card.name, 30) + " " +
                 (card.persistence ? "On" : "Off"),
             "   " + left(card.bus_id, 16) + right(card.display_active ? "On" : "Off", 4), right("N/A", 21)) +
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

std::string process_rows(const Machine& machine, bool wider) {
  std::string rows;
  const size_t id_width = wider ? 16 : 10;
  const size_t name_width = wider ? 31 : 37;
  for (const Card& card : machine.cards) {
    for (const Process& process : card.processes) {
      const std::string used = or_na(process.used_bytes, [](uint64_t bytes) { return table_mib(bytes, 0); });
      rows += whole_row(right(std::to_string(card.index), 5) + "   N/A  N/A" +
                        right(std::to_string(process.pid), id_width) + "      C   " +
                        left(shortened(process.name, name_width), name_width) + right(used, 15));
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
  text += kRule + whole_row(" Processes:");
  text += whole_row(wider ? "  GPU   GI   CI              PID   Type   Process name                        GPU Memory"
                          : "  GPU   GI   CI        PID   Type   Process name                              GPU Memory");
  text += whole_row("        ID   ID                                                               Usage");
  return text + kDoubleWhole + process_rows(machine, wider) + kRule;
}

std::string list(const Machine& machine) {
  std::string text;
  for (const Card& card : machine.cards)
    text += "GPU " + std::to_string(card.index) + ": " + card.name + " (UUID: " + card.uuid + ")\n";
  return text;
}

}  // namespace vramfit::smi
