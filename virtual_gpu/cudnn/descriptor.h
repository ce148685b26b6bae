// cuDNN's backend descriptors: typed attributes on nodes. An attribute that holds other descriptors shares their
// nodes, so that a caller may destroy its handles in any order, as with the real library.
#ifndef VRAMFIT_VIRTUAL_GPU_CUDNN_DESCRIPTOR_H
#define VRAMFIT_VIRTUAL_GPU_CUDNN_DESCRIPTOR_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "abi/cudnn_backend.h"
#include "virtual_gpu/cudnn/status.h"

namespace vramfit::cudnn {

using namespace abi::cudnn;  // NOLINT: the numbers are this namespace's vocabulary

// Bytes of one element; descriptors are pointers.
size_t element_bytes(int32_t type);
// Whether any cuDNN 9 up to 9.26 has an attribute of this number.
bool is_known_attribute(int32_t name);

struct Node;
using NodePointer = std::shared_ptr<Node>;

struct Attribute {
  int32_t type = 0;
  int64_t count = 0;
  std::vector<std::byte> bytes;       // elements, unless they are descriptors
  std::vector<NodePointer> children;  // when they are
};

// One way to run an operation graph: what heuristics offer and a plan is built from.
struct Choice {
  int64_t engine = 0;
  int64_t workspace_bytes = 0;
  std::vector<int32_t> numerical_notes;
};

struct Node {
  int32_t type = 0;
  bool finalized = false;
  std::map<int32_t, Attribute> attributes;
  // The choice for which an engine, a configuration or a plan stands.
  std::optional<Choice> choice;
  // The choices of heuristics, once they are finalized.
  std::vector<Choice> choices;

  // The descriptors an attribute holds; empty when it is not set.
  const std::vector<NodePointer>& children(int32_t name) const;
  // Its 64-bit integers; empty when it is not set or is of another type.
  std::vector<int64_t> integers(int32_t name) const;
  // The first element as a 32-bit enum; `missing` when it is not set.
  int32_t enumerator(int32_t name, int32_t missing) const;
};

// What the caller holds: cudnnBackendDescriptor_t.
struct BackendDescriptor {
  NodePointer node;
};

// cudnnBackendSetAttribute on a node that is not finalized yet.
Status set_attribute(Node& node, int32_t name, int32_t type, int64_t count, const void* elements);
// cudnnBackendGetAttribute for what the caller itself had set; kNotSupported when it had not. `found` may be null.
Status get_attribute(const Node& node, int32_t name, int32_t type, int64_t wanted, int64_t* found, void* elements);

}  // namespace vramfit::cudnn

#endif
