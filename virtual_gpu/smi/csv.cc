#include "virtual_gpu/smi/csv.h"

#include <algorithm>
#include <functional>
#include <span>

#include "virtual_gpu/smi/printed.h"

namespace vramfit::smi {
namespace {

constexpr char kMissing[] = "[N/A]";

struct Row {
  const Machine& machine;
  const Card& card;
  const Process* process = nullptr;
};

// A property: all its names, the first of which heads its column, its unit, and its value without the unit. Without a
// function no virtual card has it.
struct Field {
  std::vector<std::string> names;
  const char* unit;
  std::function<std::string(const Row&)> value;

  bool is_called(const std::string& name) const {
    return std::any_of(names.begin(), names.end(), [&](const std::string& one) { return name == one; });
  }
};

template <typename Number>
std::string number(const std::optional<Number>& value) {
  return value ? std::to_string(*value) : std::string(kMissing);
}

std::string csv_watts(const std::optional<unsigned>& milliwatts) {
  return or_na(
      milliwatts, [](unsigned mw) { return printed("%.2f", mw / 1000.0); }, kMissing);
}

std::string csv_mib(uint64_t bytes) { return std::to_string(mebibytes(bytes)); }

Field throttle(const char* name, const char* older, uint64_t bit) {
  return {{name, older}, "", [bit](const Row& row) {
            return or_na(
                row.card.throttle_reasons,
                [bit](uint64_t set) { return std::string((set & bit) != 0 ? "Active" : "Not Active"); }, kMissing);
          }};
}

std::string or_missing(const std::string& text) { return text.empty() ? kMissing : text; }

std::vector<Field> identity_fields() {
  return {
      {{"timestamp"}, "", [](const Row&) { return timestamp_now(); }},
      {{"driver_version"}, "", [](const Row& row) { return row.machine.driver; }},
      {{"count"}, "", [](const Row& row) { return std::to_string(row.machine.cards.size()); }},
      {{"name", "gpu_name"}, "", [](const Row& row) { return row.card.name; }},
      {{"serial", "gpu_serial"}, "", [](const Row& row) { return or_missing(row.card.serial); }},
      {{"uuid", "gpu_uuid"}, "", [](const Row& row) { return row.card.uuid; }},
      {{"pci.bus_id", "gpu_bus_id"}, "", [](const Row& row) { return row.card.bus_id; }},
      {{"pci.domain"}, "", [](const Row& row) { return "0x" + row.card.bus_id.substr(4, 4); }},
      {{"pci.bus"}, "", [](const Row& row) { return "0x" + row.card.bus_id.substr(9, 2); }},
      {{"pci.device"}, "", [](const Row& row) { return "0x" + row.card.bus_id.substr(12, 2); }},
      {{"index"}, "", [](const Row& row) { return std::to_string(row.card.index); }},
      {{"compute_cap"},
       "",
       [](const Row& row) { return printed("%d.%d", row.card.compute_major, row.card.compute_minor); }},
  };
}

std::vector<Field> memory_fields() {
  return {
      {{"memory.total"}, "MiB", [](const Row& row) { return csv_mib(row.card.total_bytes); }},
      {{"memory.reserved"}, "MiB", [](const Row& row) { return csv_mib(row.card.reserved_bytes); }},
      {{"memory.used"}, "MiB", [](const Row& row) { return csv_mib(row.card.used_bytes); }},
      {{"memory.free"}, "MiB", [](const Row& row) { return csv_mib(row.card.free_bytes); }},
      {{"protected_memory.total"}, "MiB", [](const Row&) { return std::string("0"); }},
      {{"protected_memory.used"}, "MiB", [](const Row&) { return std::string("0"); }},
      {{"protected_memory.free"}, "MiB", [](const Row&) { return std::string("0"); }},
  };
}

std::vector<Field> state_fields() {
  const auto on_off = [](bool is_on) { return std::string(is_on ? "Enabled" : "Disabled"); };
  return {
      {{"display_mode"}, "", [=](const Row& row) { return on_off(row.card.display_active); }},
      {{"display_active"}, "", [=](const Row& row) { return on_off(row.card.display_active); }},
      {{"persistence_mode"}, "", [=](const Row& row) { return on_off(row.card.persistence); }},
      {{"accounting.mode"}, "", [=](const Row&) { return on_off(false); }},
      {{"accounting.buffer_size"}, "", [](const Row&) { return std::string("4000"); }},
      {{"compute_mode"}, "", [](const Row& row) { return or_na(row.card.compute_mode, compute_mode_text, kMissing); }},
      {{"pstate"},
       "",
       [](const Row& row) {
         return or_na(
             row.card.performance_state, [](int state) { return "P" + std::to_string(state); }, kMissing);
       }},
      {{"ecc.mode.current"}, "", [=](const Row& row) { return or_na(row.card.ecc, on_off, kMissing); }},
      {{"ecc.mode.pending"}, "", [=](const Row& row) { return or_na(row.card.ecc, on_off, kMissing); }},
      {{"inforom.oem"}, "", [=](const Row& row) { return or_missing(row.card.inforom_oem); }},
      {{"inforom.ecc"}, "", [=](const Row& row) { return or_missing(row.card.inforom_ecc); }},
      {{"mig.mode.current"}, "", [=](const Row& row) { return or_na(row.card.mig, on_off, kMissing); }},
      {{"mig.mode.pending"}, "", [=](const Row& row) { return or_na(row.card.mig, on_off, kMissing); }},
      {{"utilization.gpu"}, "%", [](const Row& row) { return number(row.card.busy_percent); }},
      {{"utilization.memory"}, "%", [](const Row& row) { return number(row.card.memory_busy_percent); }},
      {{"temperature.gpu"}, "", [](const Row& row) { return number(row.card.temperature_c); }},
      {{"fan.speed"}, "%", [](const Row& row) { return number(row.card.fan_percent); }},
      {{"power.management"}, "", [=](const Row& row) { return on_off(row.card.power_limit_mw.has_value()); }},
      {{"power.draw"}, "W", [](const Row& row) { return csv_watts(row.card.power_mw); }},
      {{"power.draw.average"}, "W", [](const Row& row) { return csv_watts(row.card.power_mw); }},
      {{"power.draw.instant"}, "W", [](const Row& row) { return csv_watts(row.card.power_mw); }},
      {{"power.limit"}, "W", [](const Row& row) { return csv_watts(row.card.power_limit_mw); }},
      {{"enforced.power.limit"}, "W", [](const Row& row) { return csv_watts(row.card.power_limit_mw); }},
      {{"power.default_limit"}, "W", [](const Row& row) { return csv_watts(row.card.power_limit_mw); }},
      {{"power.max_limit"}, "W", [](const Row& row) { return csv_watts(row.card.power_limit_mw); }},
  };
}

std::vector<Field> clock_fields() {
  return {
      {{"clocks.current.graphics", "clocks.gr"}, "MHz", [](const Row& row) { return number(row.card.sm_mhz); }},
      {{"clocks.current.sm", "clocks.sm"}, "MHz", [](const Row& row) { return number(row.card.sm_mhz); }},
      {{"clocks.current.memory", "clocks.mem"}, "MHz", [](const Row& row) { return number(row.card.memory_mhz); }},
      {{"clocks.max.graphics", "clocks.max.gr"}, "MHz", [](const Row& row) { return number(row.card.max_sm_mhz); }},
      {{"clocks.max.sm"}, "MHz", [](const Row& row) { return number(row.card.max_sm_mhz); }},
      {{"clocks.max.memory", "clocks.max.mem"}, "MHz", [](const Row& row) { return number(row.card.max_memory_mhz); }},
      {{"pcie.link.gen.current", "pcie.link.gen.gpucurrent"},
       "",
       [](const Row& row) { return number(row.card.pcie_generation); }},
      {{"pcie.link.width.current"}, "", [](const Row& row) { return number(row.card.pcie_width); }},
      {{"pcie.link.gen.max", "pcie.link.gen.gpumax"},
       "",
       [](const Row& row) { return number(row.card.max_pcie_generation); }},
      {{"pcie.link.gen.hostmax"}, "", [](const Row& row) { return number(row.card.max_pcie_generation); }},
      {{"pcie.link.width.max"}, "", [](const Row& row) { return number(row.card.max_pcie_width); }},
      {{"utilization.encoder"}, "%", [](const Row& row) { return number(row.card.encoder_percent); }},
      {{"utilization.decoder"}, "%", [](const Row& row) { return number(row.card.decoder_percent); }},
      {{"encoder.stats.sessionCount"}, "", [](const Row& row) { return number(row.card.encoder_sessions); }},
      {{"encoder.stats.averageFps"}, "", [](const Row& row) { return number(row.card.encoder_frames); }},
      {{"encoder.stats.averageLatency"}, "", [](const Row& row) { return number(row.card.encoder_latency_us); }},
      {{"clocks_event_reasons.active", "clocks_throttle_reasons.active"},
       "",
       [](const Row& row) {
         return or_na(
             row.card.throttle_reasons,
             [](uint64_t set) { return printed("0x%016llX", static_cast<unsigned long long>(set)); }, kMissing);
       }},
      throttle("clocks_event_reasons.gpu_idle", "clocks_throttle_reasons.gpu_idle", 0x1),
      throttle("clocks_event_reasons.applications_clocks_setting",
               "clocks_throttle_reasons.applications_clocks_setting", 0x2),
      throttle("clocks_event_reasons.sw_power_cap", "clocks_throttle_reasons.sw_power_cap", 0x4),
      throttle("clocks_event_reasons.hw_slowdown", "clocks_throttle_reasons.hw_slowdown", 0x8),
      throttle("clocks_event_reasons.sync_boost", "clocks_throttle_reasons.sync_boost", 0x10),
      throttle("clocks_event_reasons.sw_thermal_slowdown", "clocks_throttle_reasons.sw_thermal_slowdown", 0x20),
      throttle("clocks_event_reasons.hw_thermal_slowdown", "clocks_throttle_reasons.hw_thermal_slowdown", 0x40),
      throttle("clocks_event_reasons.hw_power_brake_slowdown", "clocks_throttle_reasons.hw_power_brake_slowdown", 0x80),
  };
}

// Properties of the real tool that no virtual card has.
std::vector<Field> absent_fields() {
  std::vector<Field> fields;
  for (const char* const name : {"vbios_version",
                                 "board_id",
                                 "module_id",
                                 "addressing_mode",
                                 "driver_model.current",
                                 "driver_model.pending",
                                 "inforom.img",
                                 "inforom.image",
                                 "inforom.pwr",
                                 "inforom.power",
                                 "gom.current",
                                 "gom.pending",
                                 "pci.device_id",
                                 "pci.sub_device_id",
                                 "pci.baseClass",
                                 "pci.subClass",
                                 "dramEncryption.mode.current",
                                 "temperature.gpu.tlimit",
                                 "temperature.memory",
                                 "retired_pages.sbe",
                                 "retired_pages.dbe",
                                 "retired_pages.pending",
                                 "clocks_event_reasons.supported",
                                 "clocks_throttle_reasons.supported",
                                 "fabric.state",
                                 "fabric.status",
                                 "gsp.mode.current",
                                 "gsp.mode.default",
                                 "hostname",
                                 "c2c.mode",
                                 "display_attached",
                                 "reset_status.reset_required",
                                 "reset_status.drain_and_reset_recommended"})
    fields.push_back({{name}, "", nullptr});
  for (const char* const name : {"utilization.jpeg", "utilization.ofa"}) fields.push_back({{name}, "%", nullptr});
  for (const char* const name : {"clocks.current.video", "clocks.video", "clocks.applications.graphics",
                                 "clocks.applications.gr", "clocks.applications.memory", "clocks.applications.mem",
                                 "clocks.default_applications.graphics", "clocks.default_applications.memory"})
    fields.push_back({{name}, "MHz", nullptr});
  for (const char* const name : {"power.min_limit", "module.power.draw.average", "module.power.draw.instant"})
    fields.push_back({{name}, "W", nullptr});
  for (const std::string kind : {"corrected", "uncorrected"}) {
    for (const std::string time : {"volatile", "aggregate"}) {
      for (const std::string place : {"device_memory", "dram", "register_file", "l1_cache", "l2_cache",
                                      "texture_memory", "cbu", "sram", "total"}) {
        const auto count = [](const Row& row) {
          return or_na(
              row.card.uncorrected_errors, [](uint64_t errors) { return std::to_string(errors); }, kMissing);
        };
        const bool is_known = kind == "uncorrected" && time == "volatile" && place == "total";
        fields.push_back({{"ecc.errors." + kind + "." + time + "." + place}, "", nullptr});
        if (is_known) fields.back().value = count;
      }
    }
  }
  return fields;
}

const std::vector<Field>& gpu_fields() {
  static const std::vector<Field> fields = [] {
    std::vector<Field> all;
    for (auto make : {identity_fields, memory_fields, state_fields, clock_fields, absent_fields})
      std::ranges::move(make(), std::back_inserter(all));
    return all;
  }();
  return fields;
}

const std::vector<Field>& process_fields() {
  static const std::vector<Field> fields = {
      {{"timestamp"}, "", [](const Row&) { return timestamp_now(); }},
      {{"gpu_name"}, "", [](const Row& row) { return row.card.name; }},
      {{"gpu_bus_id"}, "", [](const Row& row) { return row.card.bus_id; }},
      {{"gpu_serial"}, "", nullptr},
      {{"gpu_uuid"}, "", [](const Row& row) { return row.card.uuid; }},
      {{"pid"}, "", [](const Row& row) { return std::to_string(row.process->pid); }},
      {{"process_name", "name"}, "", [](const Row& row) { return row.process->name; }},
      {{"used_gpu_memory", "used_memory"},
       "MiB",
       [](const Row& row) { return or_na(row.process->used_bytes, csv_mib, kMissing); }},
  };
  return fields;
}

const Field* find_field(std::span<const Field> fields, const std::string& name) {
  const auto found = std::ranges::find_if(fields, [&](const Field& one) { return one.is_called(name); });
  return found == fields.end() ? nullptr : &*found;
}

std::string first_unknown(std::span<const Field> known, const std::vector<std::string>& fields) {
  for (const std::string& name : fields) {
    if (find_field(known, name) == nullptr) return name;
  }
  return {};
}

std::string header_of(std::span<const Field> known, const std::vector<std::string>& fields, bool units) {
  std::string line;
  for (const std::string& name : fields) {
    const Field& field = *find_field(known, name);
    line += (line.empty() ? "" : ", ") + field.names[0];
    if (units && *field.unit != '\0') line += " [" + std::string(field.unit) + "]";
  }
  return line + "\n";
}

std::string line_of(std::span<const Field> known, const std::vector<std::string>& fields, const Row& row, bool units) {
  std::string line;
  for (size_t i = 0; i < fields.size(); ++i) {
    const Field& field = *find_field(known, fields[i]);
    const std::string value = field.value ? field.value(row) : kMissing;
    line += (i == 0 ? "" : ", ") + value;
    if (units && *field.unit != '\0' && value != kMissing) line += " " + std::string(field.unit);
  }
  return line + "\n";
}

}  // namespace

std::string unknown_gpu_field(const std::vector<std::string>& fields) { return first_unknown(gpu_fields(), fields); }
std::string unknown_process_field(const std::vector<std::string>& fields) {
  return first_unknown(process_fields(), fields);
}

std::string gpu_csv(const Machine& machine, const std::vector<std::string>& fields, const CsvForm& form) {
  std::string text = form.header ? header_of(gpu_fields(), fields, form.units) : "";
  for (const Card& card : machine.cards) text += line_of(gpu_fields(), fields, Row{machine, card}, form.units);
  return text;
}

std::string process_csv(const Machine& machine, const std::vector<std::string>& fields, const CsvForm& form) {
  std::string text = form.header ? header_of(process_fields(), fields, form.units) : "";
  for (const Card& card : machine.cards) {
    for (const Process& process : card.processes)
      text += line_of(process_fields(), fields, Row{machine, card, &process}, form.units);
  }
  return text;
}

std::string gpu_fields_help() {
  std::string text = "List of valid properties to query for the switch \"--query-gpu=\":\n\n";
  for (const Field& field : gpu_fields()) {
    for (size_t i = 0; i < field.names.size(); ++i) text += (i == 0 ? "\"" : " or \"") + field.names[i] + "\"";
    text += "\n";
  }
  return text;
}

}  // namespace vramfit::smi
