#include "virtual_gpu/cublaslt/layout.h"

#include <cstring>

#include "virtual_gpu/ledger/ledger.h"
#include "virtual_gpu/library/abi.h"

using vramfit::cublaslt::Attributes;
using vramfit::cublaslt::Description;
using vramfit::cublaslt::Layout;
using vramfit::cublaslt::Preference;
namespace lt = vramfit::cublaslt;

namespace {

struct Field {
  void* address = nullptr;
  size_t bytes = 0;
};

Field field_of(Layout& layout, int attribute) {
  switch (attribute) {
    case lt::kLayoutType:
      return {&layout.type, sizeof layout.type};
    case lt::kLayoutOrder:
      return {&layout.order, sizeof layout.order};
    case lt::kLayoutRows:
      return {&layout.rows, sizeof layout.rows};
    case lt::kLayoutColumns:
      return {&layout.columns, sizeof layout.columns};
    case lt::kLayoutLead:
      return {&layout.lead, sizeof layout.lead};
    case lt::kLayoutBatch:
      return {&layout.batch, sizeof layout.batch};
    case lt::kLayoutBatchStride:
      return {&layout.batch_stride, sizeof layout.batch_stride};
    case lt::kLayoutPlaneOffset:
      return {&layout.plane_offset, sizeof layout.plane_offset};
    default:
      return {};
  }
}

int keep(Attributes& attributes, int attribute, const void* value, size_t bytes) {
  if (value == nullptr || bytes == 0 || attribute < 0 || attribute > lt::kLastDescription) return lt::kInvalidValue;
  const auto* begin = static_cast<const std::byte*>(value);
  attributes[attribute].assign(begin, begin + bytes);
  return lt::kSuccess;
}

int recall(const Attributes& attributes, int attribute, void* value, size_t bytes, size_t* written) {
  const auto found = attributes.find(attribute);
  if (found == attributes.end()) return lt::kNotSupported;  // a default that we do not know must not read as 0
  vramfit::library::answer(written, found->second.size());
  if (value == nullptr) return lt::kSuccess;
  if (bytes < found->second.size()) return lt::kInvalidValue;
  std::memcpy(value, found->second.data(), found->second.size());
  return lt::kSuccess;
}

}  // namespace

VF_ABI int cublasLtMatrixLayoutCreate(Layout** layout, int type, uint64_t rows, uint64_t columns, int64_t lead) {
  if (layout == nullptr) return lt::kInvalidValue;
  *layout = new Layout{.type = type, .rows = rows, .columns = columns, .lead = lead};
  return lt::kSuccess;
}

VF_ABI int cublasLtMatrixLayoutDestroy(Layout* layout) {
  delete layout;
  return lt::kSuccess;
}

VF_ABI int cublasLtMatrixLayoutSetAttribute(Layout* layout, int attribute, const void* value, size_t bytes) {
  if (layout == nullptr || value == nullptr) return lt::kInvalidValue;
  const Field field = field_of(*layout, attribute);
  if (field.address == nullptr) {
    vramfit::ledger::note_not_modelled("cublasLtMatrixLayoutSetAttribute: unknown attribute");
    return lt::kNotSupported;
  }
  if (bytes != field.bytes) return lt::kInvalidValue;
  std::memcpy(field.address, value, bytes);
  return lt::kSuccess;
}

VF_ABI int cublasLtMatrixLayoutGetAttribute(Layout* layout, int attribute, void* value, size_t bytes, size_t* written) {
  if (layout == nullptr) return lt::kInvalidValue;
  const Field field = field_of(*layout, attribute);
  if (field.address == nullptr) return lt::kNotSupported;
  vramfit::library::answer(written, field.bytes);
  if (value == nullptr) return lt::kSuccess;
  if (bytes < field.bytes) return lt::kInvalidValue;
  std::memcpy(value, field.address, field.bytes);
  return lt::kSuccess;
}

VF_ABI int cublasLtMatmulDescCreate(Description** description, int compute, int scale) {
  if (description == nullptr) return lt::kInvalidValue;
  *description = new Description{.compute = compute, .scale = scale, .attributes = {}};
  return lt::kSuccess;
}

VF_ABI int cublasLtMatmulDescDestroy(Description* description) {
  delete description;
  return lt::kSuccess;
}

VF_ABI int cublasLtMatmulDescSetAttribute(Description* description, int attribute, const void* value, size_t bytes) {
  return description == nullptr ? lt::kInvalidValue : keep(description->attributes, attribute, value, bytes);
}

VF_ABI int cublasLtMatmulDescGetAttribute(Description* description, int attribute, void* value, size_t bytes,
                                          size_t* written) {
  if (description == nullptr) return lt::kInvalidValue;
  return recall(description->attributes, attribute, value, bytes, written);
}

VF_ABI int cublasLtMatmulPreferenceCreate(Preference** preference) {
  if (preference == nullptr) return lt::kInvalidValue;
  *preference = new Preference;
  return lt::kSuccess;
}

VF_ABI int cublasLtMatmulPreferenceDestroy(Preference* preference) {
  delete preference;
  return lt::kSuccess;
}

VF_ABI int cublasLtMatmulPreferenceSetAttribute(Preference* preference, int attribute, const void* value,
                                                size_t bytes) {
  return preference == nullptr ? lt::kInvalidValue : keep(preference->attributes, attribute, value, bytes);
}

VF_ABI int cublasLtMatmulPreferenceGetAttribute(Preference* preference, int attribute, void* value, size_t bytes,
                                                size_t* written) {
  if (preference == nullptr) return lt::kInvalidValue;
  return recall(preference->attributes, attribute, value, bytes, written);
}
