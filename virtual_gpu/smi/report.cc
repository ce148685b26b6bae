#include "virtual_gpu/smi/report.h"

#include <algorithm>
#include <array>

#include "virtual_gpu/smi/printed.h"

namespace vramfit::smi {
namespace {

// A field with a value, or a section with fields. `tag` is its name in the XML; `display` the word of -d that shows it.
struct Node {
  std::string name, tag, value;
  std::vector<Node> children;
  std::string display;
};

constexpr std::array kDisplays = {"MEMORY", "UTILIZATION", "ECC",  "TEMPERATURE", "POWER",
                                  "CLOCK",  "COMPUTE",     "PIDS", "PERFORMANCE"};
constexpr size_t kNameWidth = 42;

std::string report_mib(uint64_t bytes) { return std::to_string(mebibytes(bytes)) + " MiB"; }

std::string with_unit(const std::optional<unsigned>& value, const char* unit) {
  return or_na(value, [&](unsigned number) { return std::to_string(number) + " " + unit; });
}

std::string report_watts(const std::optional<unsigned>& milliwatts) {
  return or_na(milliwatts, [](unsigned mw) { return printed("%.2f W", mw / 1000.0); });
}

std::string on_off(bool is_on) { return is_on ? "Enabled" : "Disabled"; }

std::vector<Node> identity(const Card& card) {
  return {{"Product Name", "product_name", card.name},
          {"Product Brand", "product_brand", brand_text(card.name)},
          {"Product Architecture", "product_architecture", architecture_text(card.architecture)},
          {"Display Mode", "display_mode", on_off(card.display_active)},
          {"Display Active", "display_active", on_off(card.display_active)},
          {"Persistence Mode", "persistence_mode", on_off(card.persistence)},
          {"Addressing Mode", "addressing_mode", "None"},
          {"MIG Mode",
           "mig_mode",
           "",
           {{"Current", "current_mig", or_na(card.mig, on_off)}, {"Pending", "pending_mig", or_na(card.mig, on_off)}}},
          {"Accounting Mode", "accounting_mode", "Disabled"},
          {"Accounting Mode Buffer Size", "accounting_mode_buffer_size", "4000"},
          {"Driver Model", "driver_model", "", {{"Current", "current_dm", "N/A"}, {"Pending", "pending_dm", "N/A"}}},
          {"Serial Number", "serial", card.serial.empty() ? "N/A" : card.serial},
          {"GPU UUID", "uuid", card.uuid},
          {"Minor Number", "minor_number", std::to_string(card.index)},
          {"VBIOS Version", "vbios_version", "N/A"},
          {"MultiGPU Board", "multigpu_board", "No"},
          {"Board ID", "board_id", "N/A"},
          {"GPU Virtualization Mode",
           "gpu_virtualization_mode",
           "",
           {{"Virtualization Mode", "virtualization_mode", "None"}}}};
}

Node bus(const Card& card) {
  const auto number = [&](size_t at, size_t length) { return "0x" + card.bus_id.substr(at, length); };
  const auto plain = [](unsigned n) { return std::to_string(n); };
  const auto lanes = [](unsigned n) { return std::to_string(n) + "x"; };
  const Node generation = {"PCIe Generation",
                           "pcie_gen",
                           "",
                           {{"Max", "max_link_gen", or_na(card.max_pcie_generation, plain)},
                            {"Current", "current_link_gen", or_na(card.pcie_generation, plain)}}};
  const Node width = {"Link Width",
                      "link_widths",
                      "",
                      {{"Max", "max_link_width", or_na(card.max_pcie_width, lanes)},
                       {"Current", "current_link_width", or_na(card.pcie_width, lanes)}}};
  return {"PCI",
          "pci",
          "",
          {{"Bus", "pci_bus", number(9, 2)},
           {"Device", "pci_device", number(12, 2)},
           {"Domain", "pci_domain", number(4, 4)},
           {"Bus Id", "pci_bus_id", card.bus_id},
           {"GPU Link Info", "pci_gpu_link_info", "", {generation, width}}}};
}

Node throttling(const Card& card) {
  constexpr std::array<std::pair<const char*, const char*>, 8> kReasons = {
      {{"Idle", "gpu_idle"},
       {"Applications Clocks Setting", "applications_clocks_setting"},
       {"SW Power Cap", "sw_power_cap"},
       {"HW Slowdown", "hw_slowdown"},
       {"Sync Boost", "sync_boost"},
       {"SW Thermal Slowdown", "sw_thermal_slowdown"},
       {"HW Thermal Slowdown", "hw_thermal_slowdown"},
       {"HW Power Brake Slowdown", "hw_power_brake_slowdown"}}};
  Node section = {"Clocks Event Reasons", "clocks_event_reasons", "", {}, "PERFORMANCE"};
  for (size_t i = 0; i < kReasons.size(); ++i) {
    section.children.push_back({kReasons[i].first, std::string("clocks_event_reason_") + kReasons[i].second,
                                or_na(card.throttle_reasons, [i](uint64_t set) {
                                  return std::string((set >> i & 1) != 0 ? "Active" : "Not Active");
                                })});
  }
  return section;
}

std::vector<Node> memory(const Card& card) {
  const std::string bar1_free =
      card.bar1_total_bytes ? report_mib(*card.bar1_total_bytes - card.bar1_used_bytes.value_or(0)) : "N/A";
  return {{"FB Memory Usage",
           "fb_memory_usage",
           "",
           {{"Total", "total", report_mib(card.total_bytes)},
            {"Reserved", "reserved", report_mib(card.reserved_bytes)},
            {"Used", "used", report_mib(card.used_bytes)},
            {"Free", "free", report_mib(card.free_bytes)}},
           "MEMORY"},
          {"BAR1 Memory Usage",
           "bar1_memory_usage",
           "",
           {{"Total", "total", or_na(card.bar1_total_bytes, report_mib)},
            {"Used", "used", or_na(card.bar1_used_bytes, report_mib)},
            {"Free", "free", bar1_free}},
           "MEMORY"}};
}

std::vector<Node> activity(const Card& card) {
  return {{"Compute Mode", "compute_mode", or_na(card.compute_mode, compute_mode_text), {}, "COMPUTE"},
          {"Utilization",
           "utilization",
           "",
           {{"Gpu", "gpu_util", with_unit(card.busy_percent, "%")},
            {"Memory", "memory_util", with_unit(card.memory_busy_percent, "%")},
            {"Encoder", "encoder_util", "N/A"},
            {"Decoder", "decoder_util", "N/A"}},
           "UTILIZATION"},
          {"ECC Mode",
           "ecc_mode",
           "",
           {{"Current", "current_ecc", or_na(card.ecc, on_off)}, {"Pending", "pending_ecc", or_na(card.ecc, on_off)}},
           "ECC"},
          {"Temperature",
           "temperature",
           "",
           {{"GPU Current Temp", "gpu_temp", with_unit(card.temperature_c, "C")},
            {"Memory Current Temp", "memory_temp", "N/A"}},
           "TEMPERATURE"},
          {"GPU Power Readings",
           "gpu_power_readings",
           "",
           {{"Power Draw", "power_draw", report_watts(card.power_mw)},
            {"Current Power Limit", "current_power_limit", report_watts(card.power_limit_mw)},
            {"Default Power Limit", "default_power_limit", report_watts(card.power_limit_mw)}},
           "POWER"}};
}

Node clocks(const char* name, const char* tag, const std::optional<unsigned>& sm,
            const std::optional<unsigned>& memory) {
  return {name,
          tag,
          "",
          {{"Graphics", "graphics_clock", with_unit(sm, "MHz")},
           {"SM", "sm_clock", with_unit(sm, "MHz")},
           {"Memory", "mem_clock", with_unit(memory, "MHz")},
           {"Video", "video_clock", "N/A"}},
          "CLOCK"};
}

Node processes(const Card& card) {
  Node section = {"Processes", "processes", card.processes.empty() ? "None" : "", {}, "PIDS"};
  for (const Process& process : card.processes) {
    section.children.push_back({"GPU instance ID", "gpu_instance_id", "N/A"});
    section.children.push_back({"Compute instance ID", "compute_instance_id", "N/A"});
    section.children.push_back({"Process ID",
                                "pid",
                                std::to_string(process.pid),
                                {{"Type", "type", "C"},
                                 {"Name", "process_name", process.name},
                                 {"Used GPU Memory", "used_memory", or_na(process.used_bytes, report_mib)}}});
  }
  return section;
}

std::vector<Node> nodes_of(const Card& card) {
  std::vector<Node> nodes = identity(card);
  nodes.push_back(bus(card));
  nodes.push_back({"Fan Speed", "fan_speed", with_unit(card.fan_percent, "%")});
  nodes.push_back({"Performance State",
                   "performance_state",
                   or_na(card.performance_state, [](int state) { return "P" + std::to_string(state); }),
                   {},
                   "PERFORMANCE"});
  nodes.push_back(throttling(card));
  std::ranges::move(memory(card), std::back_inserter(nodes));
  std::ranges::move(activity(card), std::back_inserter(nodes));
  nodes.push_back(clocks("Clocks", "clocks", card.sm_mhz, card.memory_mhz));
  nodes.push_back(clocks("Max Clocks", "max_clocks", card.max_sm_mhz, card.max_memory_mhz));
  nodes.push_back(processes(card));
  return nodes;
}

void write_text(const Node& node, size_t depth, std::string& text) {
  const std::string name = std::string(4 * depth, ' ') + node.name;
  text += node.value.empty() ? name + "\n" : left(name, kNameWidth) + ": " + node.value + "\n";
  for (const Node& child : node.children) write_text(child, depth + 1, text);
}

std::string escaped(const std::string& value) {
  std::string text;
  for (const char letter : value) {
    if (letter == '&') {
      text += "&amp;";
    } else if (letter == '<') {
      text += "&lt;";
    } else if (letter == '>') {
      text += "&gt;";
    } else {
      text += letter;
    }
  }
  return text;
}

void write_xml(const Node& node, size_t depth, std::string& text) {
  const std::string indent(depth, '\t');
  if (node.children.empty()) {
    text += indent + "<" + node.tag + ">" + escaped(node.value) + "</" + node.tag + ">\n";
    return;
  }
  text += indent + "<" + node.tag + ">\n";
  for (const Node& child : node.children) write_xml(child, depth + 1, text);
  text += indent + "</" + node.tag + ">\n";
}

// In the XML each process has an element of its own.
void write_xml_processes(const Card& card, std::string& text) {
  Node section = {"", "processes", "", {}};
  for (const Process& process : card.processes) {
    section.children.push_back({"",
                                "process_info",
                                "",
                                {{"", "gpu_instance_id", "N/A"},
                                 {"", "compute_instance_id", "N/A"},
                                 {"", "pid", std::to_string(process.pid)},
                                 {"", "type", "C"},
                                 {"", "process_name", process.name},
                                 {"", "used_memory", or_na(process.used_bytes, report_mib)}}});
  }
  write_xml(section, 2, text);
}

}  // namespace

bool is_display(const std::string& name) { return std::ranges::find(kDisplays, name) != kDisplays.end(); }

std::string report(const Machine& machine, const std::vector<std::string>& displays, const std::string& date) {
  std::string text = "\n==============NVSMI LOG==============\n\n";
  const auto line = [&](const char* name, const std::string& value) { write_text({name, "", value}, 0, text); };
  line("Timestamp", date);
  line("Driver Version", machine.driver);
  line("CUDA Version", cuda_text(machine.cuda));
  text += "\n";
  line("Attached GPUs", std::to_string(machine.cards.size()));
  for (const Card& card : machine.cards) {
    text += "GPU " + card.bus_id + "\n";
    for (const Node& node : nodes_of(card)) {
      const bool is_wanted = displays.empty() || std::ranges::find(displays, node.display) != displays.end();
      if (is_wanted) write_text(node, 1, text);
    }
    text += "\n";
  }
  return text;
}

std::string xml_report(const Machine& machine, const std::string& date) {
  std::string text =
      "<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\">\n<nvidia_smi_log>\n";
  write_xml({"", "timestamp", date}, 1, text);
  write_xml({"", "driver_version", machine.driver}, 1, text);
  write_xml({"", "cuda_version", cuda_text(machine.cuda)}, 1, text);
  write_xml({"", "attached_gpus", std::to_string(machine.cards.size())}, 1, text);
  for (const Card& card : machine.cards) {
    text += "\t<gpu id=\"" + card.bus_id + "\">\n";
    for (const Node& node : nodes_of(card)) {
      if (node.tag != "processes") write_xml(node, 2, text);
    }
    write_xml_processes(card, text);
    text += "\t</gpu>\n";
  }
  return text + "</nvidia_smi_log>\n";
}

}  // namespace vramfit::smi
