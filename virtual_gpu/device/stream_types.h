// What streams, events and captures look like inside. Only device/ includes this.
#ifndef VRAMFIT_VIRTUAL_GPU_DEVICE_STREAM_TYPES_H
#define VRAMFIT_VIRTUAL_GPU_DEVICE_STREAM_TYPES_H

#include <thread>

#include "virtual_gpu/device/stream.h"

namespace vramfit::device {

struct Stream;

struct Capture {
  uint64_t id = 0;
  CaptureMode mode = CaptureMode::kGlobal;
  Graph* graph = nullptr;
  Stream* origin = nullptr;
  std::thread::id thread;
  bool is_invalidated = false;
  bool owns_graph = true;  // until the capture ends well
  std::set<Stream*> streams;
};

inline constexpr uint32_t kStreamMagic = 0x53545245;
inline constexpr uint32_t kEventMagic = 0x45564e54;

// Memory of streams and events is never given back, only reused: a stale handle is then recognised by its magic.
struct Stream {
  std::atomic<uint32_t> magic{0};
  StreamFacts facts;
  std::atomic<int64_t> busy_until{0};
  std::atomic<int64_t> fruitless_queries{0};  // since the last work
  std::atomic<Capture*> capture{nullptr};
  std::vector<Node*> needs;  // under the capture lock
};

struct Event {
  std::atomic<uint32_t> magic{0};
  int card = 0;
  unsigned flags = 0;
  const void* context = nullptr;          // as a stream's
  std::atomic<int64_t> completes_at{-1};  // -1: never recorded
  std::atomic<int64_t> fruitless_queries{0};
  std::atomic<uint64_t> capture_id{0};  // recorded during that capture; 0 = not
  std::vector<Node*> needs;             // under the capture lock
};

Stream* find_stream(void* handle);  // null: no such stream
Event* find_event(void* handle);
// And events.
void destroy_streams_of(const void* context);

// capture.cc. `captured` says that the stream took the work as a node, or refused it.
struct Submission {
  bool captured = false;
  Error error = Error::kNone;
};
Submission submit_to_capture(Stream& stream, const Work& work);
Submission record_in_capture(Stream& stream, Event& event, bool external);
Submission wait_in_capture(Stream& stream, Event& event, bool external);
Error refuse_while_captured(Stream& stream);  // queries and synchronisations
Error refuse_while_card_is_captured(int card);
Error refuse_captured_event(Event& event);
void leave_capture(Stream& stream);

}  // namespace vramfit::device

#endif
