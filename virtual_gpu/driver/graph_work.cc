#include "virtual_gpu/driver/graph_work.h"

namespace vramfit::driver {

bool to_copy_work(const CUDA_MEMCPY3D& params, device::Work* work) {
  const auto place = [](CUmemorytype type, const void* host, CUdeviceptr on_card) {
    return type == CU_MEMORYTYPE_HOST ? const_cast<void*>(host) : reinterpret_cast<void*>(on_card);
  };
  if (params.srcMemoryType == CU_MEMORYTYPE_ARRAY || params.dstMemoryType == CU_MEMORYTYPE_ARRAY) return false;
  if (params.Depth > 1 || params.srcZ != 0 || params.dstZ != 0) return false;
  work->kind = device::WorkKind::kCopy;
  work->from = static_cast<const char*>(place(params.srcMemoryType, params.srcHost, params.srcDevice)) +
               params.srcY * params.srcPitch + params.srcXInBytes;
  work->to = static_cast<char*>(place(params.dstMemoryType, params.dstHost, params.dstDevice)) +
             params.dstY * params.dstPitch + params.dstXInBytes;
  work->bytes = params.WidthInBytes;
  work->rows = params.Height;
  work->from_pitch = params.srcPitch;
  work->to_pitch = params.dstPitch;
  work->duration_ns = device::copy_duration_ns(work->to, work->from, work->bytes * work->rows);
  return true;
}

device::Work work_of_kind(device::WorkKind kind) {
  device::Work work;
  work.kind = kind;
  return work;
}

bool to_work(const CUgraphNodeParams& params, device::Work* work) {
  switch (params.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      *work = kernel_work(params.kernel);
      return true;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return to_copy_work(params.memcpy.copyParams, work);
    case CU_GRAPH_NODE_TYPE_MEMSET:
      *work = fill_work(params.memset);
      return true;
    case CU_GRAPH_NODE_TYPE_HOST:
      *work = work_of_kind(device::WorkKind::kHostCall);
      work->host_call = params.host.fn;
      work->argument = params.host.userData;
      return true;
    case CU_GRAPH_NODE_TYPE_EMPTY:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      *work = work_of_kind(static_cast<device::WorkKind>(params.type));
      return true;
    default:
      return false;
  }
}

void* event_of(const CUgraphNodeParams& params) {
  if (params.type == CU_GRAPH_NODE_TYPE_WAIT_EVENT) return params.eventWait.event;
  return params.type == CU_GRAPH_NODE_TYPE_EVENT_RECORD ? params.eventRecord.event : nullptr;
}

}  // namespace vramfit::driver
