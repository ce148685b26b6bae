// Streams and events through the driver: the same objects as the runtime's.
#include "virtual_gpu/device/stream.h"

#include "virtual_gpu/device/graph.h"
#include "virtual_gpu/driver/driver.h"

using vramfit::driver::answer;
namespace ledger = vramfit::ledger;
namespace device = vramfit::device;

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  VF_NEED(stream);
  *stream = nullptr;
  VF_NEED_CARD();
  return answer(device::create_stream(ledger::current_card(), flags, priority, reinterpret_cast<void**>(stream)));
}

CUresult cuStreamCreate(CUstream* stream, unsigned flags) { return cuStreamCreateWithPriority(stream, flags, 0); }

CUresult cuStreamDestroy_v2(CUstream stream) {
  VF_NEED_CARD();
  return answer(device::destroy_stream(stream));
}

namespace {

template <typename Out, typename Get>
CUresult stream_fact(CUstream stream, Out* out, Get get) {
  VF_NEED(out);
  *out = {};
  VF_NEED_CARD();
  device::StreamFacts facts;
  const device::Error error = device::stream_facts(stream, &facts);
  if (error == device::Error::kNone) *out = get(facts);
  return answer(error);
}

}  // namespace

CUresult cuStreamGetPriority(CUstream stream, int* priority) {
  return stream_fact(stream, priority, [](const auto& facts) { return facts.priority; });
}

CUresult cuStreamGetFlags(CUstream stream, unsigned* flags) {
  return stream_fact(stream, flags, [](const auto& facts) { return facts.flags; });
}

CUresult cuStreamGetId(CUstream stream, unsigned long long* id) {
  return stream_fact(stream, id, [](const auto& facts) { return static_cast<unsigned long long>(facts.id); });
}

CUresult cuStreamGetDevice(CUstream stream, CUdevice* card) {
  return stream_fact(stream, card, [](const auto& facts) { return facts.card; });
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  return stream_fact(stream, context, [](const auto& facts) {
    if (facts.context == nullptr) return vramfit::driver::primary_context(facts.card);
    return static_cast<CUcontext>(const_cast<void*>(facts.context));
  });
}

CUresult cuStreamQuery(CUstream stream) {
  VF_NEED_CARD();
  return answer(device::query_stream(stream));
}

CUresult cuStreamSynchronize(CUstream stream) {
  VF_NEED_CARD();
  return answer(device::synchronize_stream(stream));
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  VF_NEED_CARD();
  return answer(device::wait_event(stream, event, flags));
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  VF_NEED(status);
  *status = CU_STREAM_CAPTURE_STATUS_NONE;
  VF_NEED_CARD();
  device::CaptureInfo info;
  const device::Error error = device::capture_info(stream, &info);
  *status = static_cast<CUstreamCaptureStatus>(info.status);
  return answer(error);
}

CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                                   const CUgraphNode** needs, size_t* count) {
  VF_NEED(status);
  VF_NEED_CARD();
  device::CaptureInfo info;
  const device::Error error = device::capture_info(stream, &info);
  *status = static_cast<CUstreamCaptureStatus>(info.status);
  if (id != nullptr) *id = info.id;
  if (graph != nullptr) *graph = reinterpret_cast<CUgraph>(info.graph);
  if (needs != nullptr) *needs = reinterpret_cast<const CUgraphNode*>(info.needs);
  if (count != nullptr) *count = info.need_count;
  return answer(error);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  VF_NEED(mode);
  *mode = static_cast<CUstreamCaptureMode>(device::exchange_capture_mode(static_cast<device::CaptureMode>(*mode)));
  return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent* event, unsigned flags) {
  VF_NEED(event);
  *event = nullptr;
  VF_NEED_CARD();
  return answer(device::create_event(ledger::current_card(), flags, reinterpret_cast<void**>(event)));
}

CUresult cuEventDestroy_v2(CUevent event) {
  VF_NEED_CARD();
  return answer(device::destroy_event(event));
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
  VF_NEED_CARD();
  return answer(device::record_event(event, stream, flags));
}

CUresult cuEventRecord(CUevent event, CUstream stream) { return cuEventRecordWithFlags(event, stream, 0); }

CUresult cuEventQuery(CUevent event) {
  VF_NEED_CARD();
  return answer(device::query_event(event));
}

CUresult cuEventSynchronize(CUevent event) {
  VF_NEED_CARD();
  return answer(device::synchronize_event(event));
}

CUresult cuEventElapsedTime_v2(float* ms, CUevent from, CUevent to) {
  VF_NEED(ms);
  *ms = 0;
  VF_NEED_CARD();
  return answer(device::elapsed_ms(from, to, ms));
}

CUresult cuEventElapsedTime(float* ms, CUevent from, CUevent to) { return cuEventElapsedTime_v2(ms, from, to); }

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  VF_NEED_CARD();
  return answer(device::begin_capture(stream, static_cast<device::CaptureMode>(mode), nullptr));
}

CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode* needs, const CUgraphEdgeData*,
                                     size_t count, CUstreamCaptureMode mode) {
  VF_NEED_CARD();
  device::Graph* target = device::find_graph(graph);
  if (target == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return answer(device::begin_capture(stream, static_cast<device::CaptureMode>(mode), target,
                                      reinterpret_cast<void* const*>(needs), count));
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  VF_NEED(graph);
  *graph = nullptr;
  VF_NEED_CARD();
  device::Graph* made = nullptr;
  const device::Error error = device::end_capture(stream, &made);
  *graph = reinterpret_cast<CUgraph>(made);
  return answer(error);
}
