// Streams and events in virtual time, and the capture of streams into graphs.
//
// Handles are void*, as cudaStream_t and CUstream pass them: null and 1 are the legacy default stream of the current
// card, 2 the per-thread one. A handle that names nothing living is refused, never followed.
#ifndef VRAMFIT_VIRTUAL_GPU_DEVICE_STREAM_H
#define VRAMFIT_VIRTUAL_GPU_DEVICE_STREAM_H

#include "virtual_gpu/device/error.h"
#include "virtual_gpu/device/graph.h"

namespace vramfit::device {

inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr int kLeastPriority = 0;
inline constexpr int kGreatestPriority = -5;

struct StreamFacts {
  int card = 0;
  unsigned flags = 0;
  int priority = 0;
  uint64_t id = 0;
  bool is_default = false;
  const void* context = nullptr;  // that owns it; null: the card's primary one
};

VF_EXPORT Error create_stream(int card, unsigned flags, int priority, void** stream);
VF_EXPORT Error destroy_stream(void* stream);
VF_EXPORT Error stream_facts(void* stream, StreamFacts* facts);

// Gives the stream work: done at once when nothing captures the stream, else kept as a node.
VF_EXPORT Error submit(void* stream, const Work& work);
VF_EXPORT void count_launches(uint64_t count);
VF_EXPORT Error query_stream(void* stream);
VF_EXPORT Error synchronize_stream(void* stream);
VF_EXPORT Error synchronize_card(int card);

inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr unsigned kEventInterprocess = 4;
inline constexpr unsigned kExternal = 1;  // cudaEventRecordExternal, cudaEventWaitExternal: a node of its own

VF_EXPORT Error create_event(int card, unsigned flags, void** event);
VF_EXPORT Error destroy_event(void* event);
VF_EXPORT bool is_event(void* event);  // one that was made and not destroyed
VF_EXPORT Error record_event(void* event, void* stream, unsigned flags);
VF_EXPORT Error wait_event(void* stream, void* event, unsigned flags);
VF_EXPORT Error query_event(void* event);
VF_EXPORT Error synchronize_event(void* event);
VF_EXPORT Error elapsed_ms(void* from, void* to, float* ms);

// The numbers are cudaStreamCaptureMode's and cudaStreamCaptureStatus's.
enum class CaptureMode : int { kGlobal = 0, kThreadLocal = 1, kRelaxed = 2 };
enum class CaptureStatus : int { kNone = 0, kActive = 1, kInvalidated = 2 };

struct CaptureInfo {
  CaptureStatus status = CaptureStatus::kNone;
  uint64_t id = 0;
  Graph* graph = nullptr;
  Node* const* needs = nullptr;  // what the next node will follow; valid until the stream's next call
  size_t need_count = 0;
};

// `graph` null: a new one.
// `needs`: nodes of `graph` that what is captured comes after.
VF_EXPORT Error begin_capture(void* stream, CaptureMode mode, Graph* graph, void* const* needs = nullptr,
                              size_t count = 0);
VF_EXPORT Error end_capture(void* stream, Graph** graph);
VF_EXPORT Error capture_info(void* stream, CaptureInfo* info);
// Replaces what the stream's next node will follow, or adds to it.
// Each has to be a node of the graph that is captured into.
VF_EXPORT Error set_capture_needs(void* stream, void* const* nodes, size_t count, bool replace);
VF_EXPORT CaptureMode exchange_capture_mode(CaptureMode mode);
// Checks calls such as cudaMalloc that a strict capture forbids; refusing also invalidates that capture.
VF_EXPORT Error check_unsafe_call();
// Whether the stream is being captured: cudaMallocAsync then makes graph memory.
VF_EXPORT Graph* capturing_graph(void* stream);

}  // namespace vramfit::device

#endif
