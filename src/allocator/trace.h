// What the allocator did, in the words of torch.cuda.memory._snapshot()["device_traces"].
#ifndef VRAMFIT_ALLOCATOR_TRACE_H
#define VRAMFIT_ALLOCATOR_TRACE_H

#include <cstdint>
#include <string_view>
#include <vector>

#include "allocator/block.h"

namespace vramfit::allocator {

enum class TraceAction : std::uint8_t {
  kAlloc,
  kFreeRequested,
  kFreeCompleted,
  kSegmentAlloc,
  kSegmentFree,
  kSegmentMap,
  kSegmentUnmap,
  kOom,
};

std::string_view to_string(TraceAction action);

struct TraceEvent {
  TraceAction action = TraceAction::kAlloc;
  std::uint64_t address = 0;  // for kOom: what the device has free
  std::uint64_t size = 0;     // requested bytes for blocks, real ones for segments, rounded for kOom
  StreamHandle stream = 0;
  PoolId pool;
  std::uint32_t tag = 0;
  friend bool operator==(const TraceEvent&, const TraceEvent&) = default;
};

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void on_event(const TraceEvent& event) = 0;
};

// Keeps everything.
class TraceLog : public TraceSink {
 public:
  void on_event(const TraceEvent& event) override { events.push_back(event); }
  std::vector<TraceEvent> events;
};

}  // namespace vramfit::allocator

#endif
