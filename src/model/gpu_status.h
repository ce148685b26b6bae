// What nvidia-smi and its like print.
#ifndef VRAMFIT_MODEL_GPU_STATUS_H
#define VRAMFIT_MODEL_GPU_STATUS_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/printed_bytes.h"
#include "model/source_line.h"

namespace vramfit::model {

struct GpuProcess {
  SourceLine at;
  std::optional<int> gpu;
  std::string gpu_uuid;  // where the text names cards so
  std::optional<std::int64_t> pid;
  std::string type;  // "C", "G", "C+G", "M+C"
  std::string name;
  std::optional<PrintedBytes> memory;  // absent: "N/A"
  std::optional<int> mig_instance;     // GI ID
  friend bool operator==(const GpuProcess&, const GpuProcess&) = default;
};

struct MigSlice {
  std::optional<int> gpu, gpu_instance, compute_instance, device;
  std::optional<PrintedBytes> used, total;
  friend bool operator==(const MigSlice&, const MigSlice&) = default;
};

struct GpuCard {
  SourceLine at;
  std::optional<int> index;
  std::string name, uuid, bus_id;
  std::optional<PrintedBytes> total, used, free, reserved;
  std::optional<double> utilization_percent, memory_utilization_percent, temperature_c, power_w, power_limit_w;
  std::string mig_mode;      // "Enabled", "Disabled"; empty: not said
  std::string driver_model;  // "WDDM", "TCC", "MCDM"
  std::string compute_mode;  // "Default", "E. Process"
  std::string display;       // "On", "Off"
  std::string problem;       // "ERR!", "GPU is lost"
  friend bool operator==(const GpuCard&, const GpuCard&) = default;
};

enum class GpuStatusForm { kTable, kQuery, kXml, kCsv, kDmon, kPmon };

struct GpuStatus {
  SourceLine at;
  GpuStatusForm form = GpuStatusForm::kTable;
  std::string program;  // "nvidia-smi", "rocm-smi", "gpustat"
  std::string time, driver, cuda;
  std::vector<GpuCard> cards;
  std::vector<MigSlice> slices;
  std::vector<GpuProcess> processes;
  bool processes_listed = false;  // the text has a process section, perhaps an empty one
  std::int64_t samples = 1;       // dmon, pmon, -l: readings in a row; `cards` has the last, `most_used` the greatest
  std::map<int, PrintedBytes> first_used, most_used;  // by card index
  bool truncated = false;
  friend bool operator==(const GpuStatus&, const GpuStatus&) = default;
};

}  // namespace vramfit::model

#endif
