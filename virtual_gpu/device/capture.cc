// Stream capture. The rules are those of the CUDA programming guide ("Cross-stream Dependencies and Events",
// "Prohibited and Unhandled Operations"); PyTorch relies on the refusals.
#include <algorithm>
#include <mutex>
#include <unordered_set>

#include "virtual_gpu/device/stream_types.h"

namespace vramfit::device {
namespace {

struct Captures {
  std::mutex lock;
  std::set<Capture*> active;
  uint64_t next_id = 1;
};

Captures& captures() {
  static auto* const kCaptures = new Captures;  // outlives other libraries' destructors
  return *kCaptures;
}

std::atomic<int> active_count{0};  // the usual answer, 0, needs no lock
thread_local CaptureMode thread_mode = CaptureMode::kGlobal;

bool none_active() { return active_count.load(std::memory_order_acquire) == 0; }

Capture* find_by_id(uint64_t id) {
  for (Capture* capture : captures().active) {
    if (capture->id == id) return capture;
  }
  return nullptr;
}

Error invalidate(Capture& capture, Error error) {
  capture.is_invalidated = true;
  return error;
}

// The legacy stream would wait for every blocking stream, captured ones included.
Capture* find_implicit_dependency(const Stream& stream) {
  if (!stream.facts.is_default) return nullptr;
  for (Capture* capture : captures().active) {
    const bool clashes = std::ranges::any_of(capture->streams, [&](const Stream* other) {
      return other->facts.card == stream.facts.card && (other->facts.flags & kStreamNonBlocking) == 0;
    });
    if (clashes) return capture;
  }
  return nullptr;
}

Error refuse_implicit_dependency(const Stream& stream) {
  Capture* capture = find_implicit_dependency(stream);
  return capture == nullptr ? Error::kNone : invalidate(*capture, Error::kCaptureImplicit);
}

void append_new(std::vector<Node*>& needs, const std::vector<Node*>& more) {
  for (Node* node : more) {
    if (std::ranges::find(needs, node) == needs.end()) needs.push_back(node);
  }
}

// The script may destroy a node, or the whole graph, while it is captured into.
void forget_destroyed(std::vector<Node*>& needs, const Graph* graph) {
  std::erase_if(needs, [&](Node* node) { return find_node(node) == nullptr || node->graph != graph; });
}

// False: the graph is gone.
bool has_graph(Capture& capture) {
  if (find_graph(capture.graph) == nullptr) capture.is_invalidated = true;
  return !capture.is_invalidated;
}

// False: one of them is no node of the graph.
bool find_nodes(const Graph* graph, void* const* handles, size_t count, std::vector<Node*>& found) {
  if (count != 0 && handles == nullptr) return false;
  for (size_t i = 0; i < count; ++i) {
    Node* node = find_node(handles[i]);
    if (node == nullptr || node->graph != graph) return false;
    found.push_back(node);
  }
  return true;
}

// The graph is there.
Node* add_captured(Capture& capture, Stream& stream, const Work& work) {
  forget_destroyed(stream.needs, capture.graph);
  Node* node = add_node(*capture.graph, work, stream.needs);
  stream.needs.assign(1, node);
  return node;
}

// Every node the origin stream will have waited for.
std::unordered_set<const Node*> ancestors(const std::vector<Node*>& tips) {
  std::unordered_set<const Node*> seen;
  std::vector<const Node*> open(tips.begin(), tips.end());
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    if (!seen.insert(node).second) continue;
    open.insert(open.end(), node->needs.begin(), node->needs.end());
  }
  return seen;
}

bool is_joined(const Capture& capture) {
  for (Stream* stream : capture.streams) forget_destroyed(stream->needs, capture.graph);
  const auto joined = ancestors(capture.origin->needs);
  return std::ranges::all_of(capture.streams, [&](const Stream* stream) {
    return std::ranges::all_of(stream->needs, [&](const Node* node) { return joined.contains(node); });
  });
}

void end(Capture* capture) {
  for (Stream* stream : capture->streams) {
    stream->capture = nullptr;
    stream->needs.clear();
  }
  if (capture->owns_graph) destroy_graph(capture->graph);
  captures().active.erase(capture);
  active_count.fetch_sub(1, std::memory_order_release);
  delete capture;
}

bool forbids_unsafe_calls(const Capture& capture) {
  const bool is_own = capture.thread == std::this_thread::get_id();
  if (capture.mode == CaptureMode::kRelaxed) return false;
  if (is_own) return true;
  return thread_mode == CaptureMode::kGlobal && capture.mode == CaptureMode::kGlobal;
}

}  // namespace

Submission submit_to_capture(Stream& stream, const Work& work) {
  if (none_active()) return {};
  const std::lock_guard guard(captures().lock);
  Capture* capture = stream.capture;
  if (capture == nullptr) {
    const Error error = refuse_implicit_dependency(stream);
    return {.captured = error != Error::kNone, .error = error};
  }
  if (!has_graph(*capture)) return {.captured = true, .error = Error::kCaptureInvalidated};
  add_captured(*capture, stream, work);
  return {.captured = true, .error = Error::kNone};
}

Submission record_in_capture(Stream& stream, Event& event, bool external) {
  if (none_active()) {
    event.capture_id = 0;
    return {};
  }
  const std::lock_guard guard(captures().lock);
  Capture* capture = stream.capture;
  if (capture == nullptr) {
    event.capture_id = 0;
    const Error error = refuse_implicit_dependency(stream);
    return {.captured = error != Error::kNone, .error = error};
  }
  if (!has_graph(*capture)) return {.captured = true, .error = Error::kCaptureInvalidated};
  if (external) {
    Work work;
    work.kind = WorkKind::kRecordEvent;
    add_captured(*capture, stream, work)->event = &event;
  } else {
    event.capture_id = capture->id;
    event.needs = stream.needs;
  }
  return {.captured = true, .error = Error::kNone};
}

Submission wait_in_capture(Stream& stream, Event& event, bool external) {
  if (none_active()) return {};
  const std::lock_guard guard(captures().lock);
  Capture* own = stream.capture;
  Capture* other = event.capture_id == 0 ? nullptr : find_by_id(event.capture_id);
  if (own == nullptr && other == nullptr) return {};
  if (own != nullptr && !has_graph(*own)) return {.captured = true, .error = Error::kCaptureInvalidated};
  if (own != nullptr && external) {
    Work work;
    work.kind = WorkKind::kWaitEvent;
    add_captured(*own, stream, work)->event = &event;
    return {.captured = true, .error = Error::kNone};
  }
  if (own != nullptr && other == nullptr) {
    if (event.completes_at < 0) return {.captured = true, .error = Error::kNone};  // never recorded
    return {.captured = true, .error = invalidate(*own, Error::kCaptureIsolation)};
  }
  if (own != nullptr && own != other) return {.captured = true, .error = invalidate(*own, Error::kCaptureMerge)};
  stream.capture = other;
  other->streams.insert(&stream);
  append_new(stream.needs, event.needs);
  return {.captured = true, .error = Error::kNone};
}

Error refuse_while_captured(Stream& stream) {
  if (none_active()) return Error::kNone;
  const std::lock_guard guard(captures().lock);
  Capture* capture = stream.capture;
  return capture == nullptr ? refuse_implicit_dependency(stream) : invalidate(*capture, Error::kCaptureUnsupported);
}

Error refuse_while_card_is_captured(int card) {
  if (none_active()) return Error::kNone;
  const std::lock_guard guard(captures().lock);
  for (Capture* capture : captures().active) {
    if (capture->origin->facts.card == card) return invalidate(*capture, Error::kCaptureUnsupported);
  }
  return Error::kNone;
}

Error refuse_captured_event(Event& event) {
  if (event.capture_id == 0 || none_active()) return Error::kNone;
  const std::lock_guard guard(captures().lock);
  Capture* capture = find_by_id(event.capture_id);
  return capture == nullptr ? Error::kNone : invalidate(*capture, Error::kCapturedEvent);
}

void leave_capture(Stream& stream) {
  if (none_active()) return;
  const std::lock_guard guard(captures().lock);
  Capture* capture = stream.capture;
  if (capture == nullptr) return;
  capture->is_invalidated = true;
  capture->streams.erase(&stream);
  stream.capture = nullptr;
  if (capture->origin == &stream) end(capture);
}

Error begin_capture(void* handle, CaptureMode mode, Graph* graph, void* const* needs, size_t count) {
  Stream* stream = find_stream(handle);
  if (stream == nullptr) return Error::kInvalidHandle;
  std::vector<Node*> checked;
  if (!find_nodes(graph, needs, count, checked)) return Error::kInvalidValue;
  const auto number = reinterpret_cast<uintptr_t>(handle);
  if (number <= 1) return Error::kCaptureUnsupported;  // the legacy stream
  const std::lock_guard guard(captures().lock);
  if (stream->capture != nullptr) return Error::kInvalidValue;
  auto* capture = new Capture;
  capture->id = captures().next_id++;
  capture->mode = mode;
  capture->owns_graph = graph == nullptr;
  capture->graph = graph != nullptr ? graph : create_graph();
  capture->origin = stream;
  capture->thread = std::this_thread::get_id();
  capture->streams.insert(stream);
  captures().active.insert(capture);
  stream->needs = std::move(checked);
  stream->capture = capture;
  active_count.fetch_add(1, std::memory_order_release);
  return Error::kNone;
}

Error end_capture(void* handle, Graph** graph) {
  *graph = nullptr;
  Stream* stream = find_stream(handle);
  if (stream == nullptr) return Error::kInvalidHandle;
  const std::lock_guard guard(captures().lock);
  Capture* capture = stream->capture;
  if (capture == nullptr) return Error::kInvalidValue;
  if (capture->origin != stream) return invalidate(*capture, Error::kCaptureUnmatched);
  if (capture->mode != CaptureMode::kRelaxed && capture->thread != std::this_thread::get_id()) {
    return invalidate(*capture, Error::kCaptureWrongThread);
  }
  Error error = Error::kNone;
  if (!has_graph(*capture)) {
    error = Error::kCaptureInvalidated;
  } else if (!is_joined(*capture)) {
    error = Error::kCaptureUnjoined;
  }
  if (error == Error::kNone) {
    *graph = capture->graph;
    capture->owns_graph = false;
  }
  end(capture);
  return error;
}

Error capture_info(void* handle, CaptureInfo* info) {
  *info = {};
  Stream* stream = find_stream(handle);
  if (stream == nullptr) return Error::kInvalidHandle;
  if (none_active()) return Error::kNone;
  const std::lock_guard guard(captures().lock);
  Capture* capture = stream->capture;
  if (capture == nullptr) {  // asking does not spoil the other stream's capture
    return find_implicit_dependency(*stream) == nullptr ? Error::kNone : Error::kCaptureImplicit;
  }
  has_graph(*capture);
  info->status = capture->is_invalidated ? CaptureStatus::kInvalidated : CaptureStatus::kActive;
  if (capture->is_invalidated) return Error::kNone;
  info->id = capture->id;
  info->graph = capture->graph;
  info->needs = stream->needs.data();
  info->need_count = stream->needs.size();
  return Error::kNone;
}

Error set_capture_needs(void* handle, void* const* nodes, size_t count, bool replace) {
  Stream* stream = find_stream(handle);
  if (stream == nullptr) return Error::kInvalidHandle;
  const std::lock_guard guard(captures().lock);
  Capture* capture = stream->capture;
  if (capture == nullptr) return Error::kInvalidValue;
  std::vector<Node*> checked;
  if (!find_nodes(capture->graph, nodes, count, checked)) return Error::kInvalidValue;
  if (replace) stream->needs.clear();
  append_new(stream->needs, checked);
  return Error::kNone;
}

CaptureMode exchange_capture_mode(CaptureMode mode) { return std::exchange(thread_mode, mode); }

Error check_unsafe_call() {
  if (none_active() || thread_mode == CaptureMode::kRelaxed) return Error::kNone;
  const std::lock_guard guard(captures().lock);
  for (Capture* capture : captures().active) {
    if (forbids_unsafe_calls(*capture)) return invalidate(*capture, Error::kCaptureUnsupported);
  }
  return Error::kNone;
}

Graph* capturing_graph(void* handle) {
  if (none_active()) return nullptr;
  Stream* stream = find_stream(handle);
  const std::lock_guard guard(captures().lock);
  if (stream == nullptr || stream->capture == nullptr) return nullptr;
  Capture* capture = stream->capture;
  return has_graph(*capture) ? capture->graph : nullptr;
}

}  // namespace vramfit::device
