// What a Kineto trace (torch.profiler, export_chrome_trace) tells of memory.
#ifndef VRAMFIT_MODEL_KINETO_TRACE_H
#define VRAMFIT_MODEL_KINETO_TRACE_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit::model {

// One `[memory]` event of a card: a block came (bytes > 0) or went. Sizes are of blocks, rounded.
struct KinetoMemory {
  int device = 0;
  std::uint32_t caller = 0;  // KinetoTrace::texts
  double at_us = 0;
  std::int64_t bytes = 0;
  std::uint64_t address = 0;              // "Addr", torch 1.10; 0 before
  std::optional<std::int64_t> allocated;  // "Total Allocated", 1.10
  std::optional<std::int64_t> reserved;   // "Total Reserved", 1.10
};

struct KinetoDevice {
  int id = 0;
  std::string name;  // "Tesla V100-DGXS-32GB"
  std::int64_t memory_bytes = 0;
};

struct KinetoTrace {
  std::vector<KinetoMemory> memory;  // by time
  std::vector<KinetoDevice> devices;
  std::vector<std::string> texts{std::string()};  // "train.py:54 step (aten::conv2d)"; 0 is empty
  std::int64_t events = 0;                        // of all kinds
  bool is_cut = false;                            // the file ends too early; what was complete before is here

  std::string_view text(std::uint32_t id) const { return texts[id]; }
};

}  // namespace vramfit::model

#endif
