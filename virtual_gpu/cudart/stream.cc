// Streams, events and capture.
#include "virtual_gpu/device/stream.h"

#include <unistd.h>

#include <cstring>

#include "virtual_gpu/cudart/runtime.h"

using vramfit::cudart::answer;
using vramfit::cudart::check_stream;
namespace ledger = vramfit::ledger;
namespace device = vramfit::device;

cudaError_t vramfit::cudart::check_stream(cudaStream_t stream) {
  device::StreamFacts facts;
  return answer(device::stream_facts(stream, &facts));
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  VF_NEED(stream);
  *stream = nullptr;
  VF_NEED_CARD();
  return answer(device::create_stream(ledger::current_card(), flags, priority, reinterpret_cast<void**>(stream)));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithPriority(stream, 0, 0); }

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  VF_NEED_CARD();
  return answer(device::destroy_stream(stream));
}

namespace {

template <typename Out, typename Get>
cudaError_t stream_fact(cudaStream_t stream, Out* out, Get get) {
  VF_NEED(out);
  *out = {};
  VF_NEED_CARD();
  device::StreamFacts facts;
  const auto error = device::stream_facts(stream, &facts);
  if (error == device::Error::kNone) *out = get(facts);
  return answer(error);
}

}  // namespace

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return stream_fact(stream, priority, [](const auto& facts) { return facts.priority; });
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  return stream_fact(stream, flags, [](const auto& facts) { return facts.flags; });
}

cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  return stream_fact(stream, id, [](const auto& facts) { return static_cast<unsigned long long>(facts.id); });
}

#if CUDART_VERSION >= 13000
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* card) {
  return stream_fact(stream, card, [](const auto& facts) { return facts.card; });
}
#endif

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  VF_NEED_CARD();
  return answer(device::query_stream(stream));
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  VF_NEED_CARD();
  return answer(device::synchronize_stream(stream));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  VF_NEED_CARD();
  return answer(device::wait_event(stream, event, flags));
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void*, size_t, unsigned) { return check_stream(stream); }

// Nothing that can be copied changes an answer.
cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from) {
  const cudaError_t error = check_stream(to);
  return error != cudaSuccess ? error : check_stream(from);
}

cudaError_t cudaStreamGetAttribute(cudaStream_t stream, cudaLaunchAttributeID which, cudaLaunchAttributeValue* value) {
  VF_NEED(value);
  std::memset(value, 0, sizeof *value);
  device::StreamFacts facts;
  if (const auto error = device::stream_facts(stream, &facts); error != device::Error::kNone) return answer(error);
  if (which == cudaLaunchAttributePriority) value->priority = facts.priority;
  return cudaSuccess;
}

cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaLaunchAttributeID, const cudaLaunchAttributeValue*) {
  return check_stream(stream);
}

// The host's part runs at once: nothing it could wait for is still to come.
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* argument) {
  VF_NEED_CARD();
  VF_NEED(function);
  device::Work work;
  work.kind = device::WorkKind::kHostCall;
  work.host_call = function;
  work.argument = argument;
  return answer(device::submit(stream, work));
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* argument, unsigned) {
  VF_NEED_CARD();
  VF_NEED(callback);
  if (device::capturing_graph(stream) != nullptr) return answer(cudaErrorStreamCaptureUnsupported);
  callback(stream, cudaSuccess, argument);
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  VF_NEED(event);
  *event = nullptr;
  VF_NEED_CARD();
  return answer(device::create_event(ledger::current_card(), flags, reinterpret_cast<void**>(event)));
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  VF_NEED_CARD();
  return answer(device::destroy_event(event));
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  VF_NEED_CARD();
  return answer(device::record_event(event, stream, flags));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, stream, 0);
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  VF_NEED_CARD();
  return answer(device::query_event(event));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  VF_NEED_CARD();
  return answer(device::synchronize_event(event));
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t from, cudaEvent_t to) {
  VF_NEED(ms);
  *ms = 0;
  VF_NEED_CARD();
  return answer(device::elapsed_ms(from, to, ms));
}

// Another process's event: it has long happened by the time anybody asks.
cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t event) {
  VF_NEED(handle);
  std::memset(handle, 0, sizeof *handle);
  VF_NEED_CARD();
  VF_NEED(event);
  const auto state = device::query_event(event);  // of one that nobody gave: an error of its own
  if (state != device::Error::kNone && state != device::Error::kNotReady) return answer(state);
  const int pid = getpid();
  std::memcpy(handle, &pid, sizeof pid);
  return cudaSuccess;
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcEventHandle_t) {
  return cudaEventCreateWithFlags(event, device::kEventDisableTiming | device::kEventInterprocess);
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  VF_NEED(mode);
  *mode = static_cast<cudaStreamCaptureMode>(device::exchange_capture_mode(static_cast<device::CaptureMode>(*mode)));
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  VF_NEED_CARD();
  return answer(device::begin_capture(stream, static_cast<device::CaptureMode>(mode), nullptr));
}

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t* needs,
                                          const cudaGraphEdgeData*, size_t count, cudaStreamCaptureMode mode) {
  VF_NEED_CARD();
  device::Graph* target = device::find_graph(graph);
  if (target == nullptr) return answer(cudaErrorInvalidValue);
  return answer(device::begin_capture(stream, static_cast<device::CaptureMode>(mode), target,
                                      reinterpret_cast<void* const*>(needs), count));
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  VF_NEED(graph);
  *graph = nullptr;
  VF_NEED_CARD();
  device::Graph* made = nullptr;
  const auto error = device::end_capture(stream, &made);
  *graph = reinterpret_cast<cudaGraph_t>(made);
  return answer(error);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  VF_NEED(status);
  *status = cudaStreamCaptureStatusNone;
  VF_NEED_CARD();
  device::CaptureInfo info;
  const auto error = device::capture_info(stream, &info);
  *status = static_cast<cudaStreamCaptureStatus>(info.status);
  return answer(error);
}

namespace {

cudaError_t describe_capture(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                             cudaGraph_t* graph, const cudaGraphNode_t** needs, size_t* count) {
  VF_NEED(status);
  VF_NEED_CARD();
  device::CaptureInfo info;
  const auto error = device::capture_info(stream, &info);
  *status = static_cast<cudaStreamCaptureStatus>(info.status);
  if (id != nullptr) *id = info.id;
  if (graph != nullptr) *graph = reinterpret_cast<cudaGraph_t>(info.graph);
  if (needs != nullptr) *needs = reinterpret_cast<const cudaGraphNode_t*>(info.needs);
  if (count != nullptr) *count = info.need_count;
  return answer(error);
}

cudaError_t update_needs(cudaStream_t stream, cudaGraphNode_t* nodes, size_t count, unsigned flags) {
  VF_NEED_CARD();
  if (count != 0) VF_NEED(nodes);
  const bool replace = flags == cudaStreamSetCaptureDependencies;
  return answer(device::set_capture_needs(stream, reinterpret_cast<void* const*>(nodes), count, replace));
}

}  // namespace

#if CUDART_VERSION >= 13000
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t* graph, const cudaGraphNode_t** needs, const cudaGraphEdgeData** edges,
                                     size_t* count) {
  if (edges != nullptr) *edges = nullptr;
  return describe_capture(stream, status, id, graph, needs, count);
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* nodes, const cudaGraphEdgeData*,
                                                size_t count, unsigned flags) {
  return update_needs(stream, nodes, count, flags);
}
#else
cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                                        cudaGraph_t* graph, const cudaGraphNode_t** needs, size_t* count) {
  return describe_capture(stream, status, id, graph, needs, count);
}

cudaError_t cudaStreamGetCaptureInfo_v3(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                                        cudaGraph_t* graph, const cudaGraphNode_t** needs,
                                        const cudaGraphEdgeData** edges, size_t* count) {
  if (edges != nullptr) *edges = nullptr;
  return describe_capture(stream, status, id, graph, needs, count);
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* nodes, size_t count,
                                                unsigned flags) {
  return update_needs(stream, nodes, count, flags);
}

cudaError_t cudaStreamUpdateCaptureDependencies_v2(cudaStream_t stream, cudaGraphNode_t* nodes,
                                                   const cudaGraphEdgeData*, size_t count, unsigned flags) {
  return update_needs(stream, nodes, count, flags);
}
#endif
