// Objects that graphs keep alive.
#include "virtual_gpu/cudart/runtime.h"
#include "virtual_gpu/device/graph.h"

using vramfit::cudart::answer;
namespace device = vramfit::device;

cudaError_t cudaUserObjectCreate(cudaUserObject_t* object, void* pointer, cudaHostFn_t destroy, unsigned references,
                                 unsigned) {
  VF_NEED(object);
  *object = nullptr;
  if (destroy == nullptr || references == 0) return answer(cudaErrorInvalidValue);
  *object = reinterpret_cast<cudaUserObject_t>(device::create_object(pointer, destroy, references));
  return cudaSuccess;
}

cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned count) {
  device::UserObject* found = device::find_object(object);
  if (found == nullptr) return answer(cudaErrorInvalidValue);
  device::retain_object(*found, count);
  return cudaSuccess;
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned count) {
  return answer(device::release_object(device::find_object(object), count));
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned count, unsigned flags) {
  device::Graph* target = device::find_graph(graph);
  if (target == nullptr) return answer(cudaErrorInvalidValue);
  const bool move = (flags & cudaGraphUserObjectMove) != 0;
  return answer(device::keep_object(*target, device::find_object(object), count, move));
}

cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned count) {
  device::Graph* target = device::find_graph(graph);
  if (target == nullptr) return answer(cudaErrorInvalidValue);
  return answer(device::let_go_of_object(*target, device::find_object(object), count));
}
