// Memory as programs log it while all is well: PyTorch's own statistics, and lines of training logs.
#ifndef VRAMFIT_MODEL_LOGGED_MEMORY_H
#define VRAMFIT_MODEL_LOGGED_MEMORY_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "model/printed_bytes.h"
#include "model/source_line.h"

namespace vramfit::model {

// One row of torch.cuda.memory_summary(), or the entries of torch.cuda.memory_stats() of one name. Counts are exact
// "sizes".
struct MemoryStatistic {
  std::optional<PrintedBytes> current, peak, allocated, freed;  // "Cur Usage", "Peak Usage", "Tot Alloc", "Tot Freed"
  friend bool operator==(const MemoryStatistic&, const MemoryStatistic&) = default;
};

struct MemorySummary {
  SourceLine at;
  Speaker speaker;
  std::optional<int> device;
  bool abbreviated = false;
  // The statistics under PyTorch's own keys, "allocated_bytes.all", "reserved_bytes.large_pool", "segment.all",
  // "inactive_split.all".
  std::map<std::string, MemoryStatistic> statistics;
  std::map<std::string, std::int64_t> counters;  // num_ooms, num_alloc_retries, num_device_alloc, max_split_size, ...
  bool truncated = false;
  friend bool operator==(const MemorySummary&, const MemorySummary&) = default;
};

struct TrainingLogPoint {
  SourceLine at;
  Speaker speaker;
  std::string
      source;  // deepspeed, lightning, huggingface, mm, megatron, fairseq, detectron, ultralytics, torchtitan, other
  std::string label;  // what the line says of itself: "After initializing optimizer states"
  std::string phase;  // train, validate, test where the line says so
  std::optional<std::int64_t> step, steps_total;
  std::optional<double> epoch;
  std::optional<PrintedBytes> allocated, max_allocated, reserved, max_reserved;
  std::optional<PrintedBytes> memory;  // one number whose kind the log does not say
  std::optional<PrintedBytes> free;
  std::optional<double> used_percent, max_used_percent;  // of the card's memory
  std::optional<PrintedBytes> host;
  std::optional<double> host_percent;
  friend bool operator==(const TrainingLogPoint&, const TrainingLogPoint&) = default;
};

}  // namespace vramfit::model

#endif
