// Reads what tools print of cards: nvidia-smi as a table (driver 3xx to today), -q and all its -d sections, -q -x, CSV
// queries of cards and processes, dmon and pmon; gpustat; rocm-smi --showmeminfo.
#ifndef VRAMFIT_INGEST_TEXT_GPU_STATUS_H
#define VRAMFIT_INGEST_TEXT_GPU_STATUS_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/text/reader.h"
#include "ingest/text/thinning.h"

namespace vramfit::ingest {

extern const TextFormat kNvidiaSmiTableFormat, kNvidiaSmiQueryFormat, kNvidiaSmiXmlFormat, kNvidiaSmiCsvFormat,
    kNvidiaSmiMonitorFormat, kGpuToolsFormat;

// "11439 MiB", "N/A", "[Not Supported]", "[Insufficient Permissions]": a size, or nothing.
std::optional<model::PrintedBytes> gpu_size(std::string_view text, std::int64_t default_unit = 0);
std::optional<double> gpu_number(std::string_view text);  // "43.57 W", "28 C", "0 %"
std::optional<int> gpu_index(std::optional<std::int64_t> number);

// Keeps a reading. From the eighth of one form on, readings of a loop (-l 1) are folded into one that knows the first,
// the last and the greatest values.
void add_status(EvidenceSink& sink, model::GpuStatus status);

// What cards or processes used, reading by reading, where a tool repeats its rows: a series of the log, like what
// training programs print.
class UsedReadings {
 public:
  // `of`: "GPU 0", "process 1234".
  void add(const std::string& of, model::TrainingLogPoint point);
  void hand_over(EvidenceSink& sink);

 private:
  struct Series {
    std::vector<model::TrainingLogPoint> points;
    Thinning thinning;
  };
  std::map<std::string, Series> series_;
};

// One field of -q or -q -x, named as in the XML, within its section: ("fb_memory_usage", "used", "105 MiB").
void set_gpu_field(model::GpuCard& card, std::string_view section, std::string_view name, std::string_view value);
void set_process_field(model::GpuProcess& process, std::string_view name, std::string_view value);

}  // namespace vramfit::ingest

#endif
