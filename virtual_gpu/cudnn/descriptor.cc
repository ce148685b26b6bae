#include "virtual_gpu/cudnn/descriptor.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace vramfit::cudnn {
namespace {

// First and last of each run of cudnnBackendAttributeName_t in cudnn_graph.h of cuDNN 9.20, with room to the next
// hundred where later releases append.
constexpr std::array<std::pair<int32_t, int32_t>, 42> kKnown = {{
    {0, 9},       {100, 106},   {200, 204},   {300, 304},   {400, 407},   {500, 503},   {600, 601},
    {700, 717},   {750, 758},   {770, 774},   {780, 796},   {800, 804},   {900, 913},   {1000, 1003},
    {1010, 1012}, {1100, 1101}, {1200, 1203}, {1300, 1308}, {1500, 1503}, {1520, 1527}, {1600, 1602},
    {1610, 1612}, {1620, 1630}, {1700, 1708}, {1710, 1716}, {1720, 1727}, {1800, 1803}, {1900, 1904},
    {1950, 1953}, {2000, 2014}, {2100, 2110}, {2200, 2202}, {2250, 2257}, {2270, 2276}, {2300, 2305},
    {2310, 2313}, {2400, 2402}, {2500, 2605}, {2700, 2702}, {2800, 2862}, {2900, 2908}, {3000, 3105},
}};

const Attribute* find(const Node& node, int32_t name) {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? nullptr : &found->second;
}

Status copy_children(const Attribute& attribute, int64_t wanted, void* elements) {
  auto** targets = static_cast<BackendDescriptor**>(elements);
  const int64_t count = std::min(wanted, attribute.count);
  for (int64_t i = 0; i < count; ++i) {
    if (targets[i] == nullptr) return kNullPointer;
    targets[i]->node = attribute.children[static_cast<size_t>(i)];
  }
  return kSuccess;
}

}  // namespace

size_t element_bytes(int32_t type) {
  switch (type) {
    case kTypeHandle:
    case kTypeInt64:
    case kTypeDouble:
    case kTypeVoidPtr:
    case kTypeDescriptor:
      return 8;
    case kTypeBoolean:
    case kTypeChar:
      return 1;
    case kTypeFraction:  // cudnnFraction_t: two 64-bit integers
      return 16;
    default:  // float, int32 and every enum
      return 4;
  }
}

bool is_known_attribute(int32_t name) {
  return std::any_of(kKnown.begin(), kKnown.end(),
                     [name](const auto& run) { return name >= run.first && name <= run.second; });
}

const std::vector<NodePointer>& Node::children(int32_t name) const {
  static const std::vector<NodePointer> kNone;
  const Attribute* attribute = find(*this, name);
  return attribute == nullptr ? kNone : attribute->children;
}

std::vector<int64_t> Node::integers(int32_t name) const {
  const Attribute* attribute = find(*this, name);
  if (attribute == nullptr || attribute->type != kTypeInt64) return {};
  std::vector<int64_t> values(static_cast<size_t>(attribute->count));
  std::memcpy(values.data(), attribute->bytes.data(), attribute->bytes.size());
  return values;
}

int32_t Node::enumerator(int32_t name, int32_t missing) const {
  const Attribute* attribute = find(*this, name);
  if (attribute == nullptr || attribute->bytes.size() < sizeof(int32_t)) return missing;
  int32_t value = 0;
  std::memcpy(&value, attribute->bytes.data(), sizeof value);
  return value;
}

Status set_attribute(Node& node, int32_t name, int32_t type, int64_t count, const void* elements) {
  if (type < 0 || type > kLastType) return kAttributeType;
  if (count < 0) return kBadParam;
  if (count > 0 && elements == nullptr) return kNullPointer;
  Attribute attribute{.type = type, .count = count, .bytes = {}, .children = {}};
  if (type == kTypeDescriptor) {
    const auto* const* given = static_cast<const BackendDescriptor* const*>(elements);
    for (int64_t i = 0; i < count; ++i) {
      if (given[i] == nullptr) return kNullPointer;
      attribute.children.push_back(given[i]->node);
    }
  } else if (count > 0) {
    const auto* begin = static_cast<const std::byte*>(elements);
    attribute.bytes.assign(begin, begin + static_cast<size_t>(count) * element_bytes(type));
  }
  node.attributes[name] = std::move(attribute);
  return kSuccess;
}

Status get_attribute(const Node& node, int32_t name, int32_t type, int64_t wanted, int64_t* found, void* elements) {
  const Attribute* attribute = find(node, name);
  if (attribute == nullptr) return kNotSupported;
  if (attribute->type != type) return kAttributeType;
  if (found != nullptr) *found = attribute->count;
  if (wanted <= 0 || elements == nullptr) return kSuccess;
  if (type == kTypeDescriptor) return copy_children(*attribute, wanted, elements);
  const size_t bytes = static_cast<size_t>(std::min(wanted, attribute->count)) * element_bytes(type);
  std::memcpy(elements, attribute->bytes.data(), bytes);
  return kSuccess;
}

}  // namespace vramfit::cudnn
