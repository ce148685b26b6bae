// The product itself and the choice of an algorithm. One algorithm is offered, without a workspace: PyTorch allocates
// the workspace it allows before it asks (cublasLt's own choice within it changes no size that PyTorch sees).
#include <cstdlib>
#include <cstring>

#include "virtual_gpu/cublaslt/layout.h"
#include "virtual_gpu/library/abi.h"
#include "virtual_gpu/library/data_type.h"
#include "virtual_gpu/library/work.h"

using vramfit::cublaslt::Algorithm;
using vramfit::cublaslt::Description;
using vramfit::cublaslt::Heuristic;
using vramfit::cublaslt::Layout;
using vramfit::cublaslt::Preference;
namespace lt = vramfit::cublaslt;
namespace library = vramfit::library;
namespace ledger = vramfit::ledger;

namespace {

constexpr int kComputeFastTf32 = 77;  // CUBLAS_COMPUTE_32F_FAST_TF32
constexpr int kAlgorithmAttributes = 9;

bool is_transposed(const Description& description, int attribute) {
  const auto found = description.attributes.find(attribute);
  if (found == description.attributes.end() || found->second.size() < sizeof(int32_t)) return false;
  int32_t value = 0;
  std::memcpy(&value, found->second.data(), sizeof value);
  return value != 0;  // CUBLAS_OP_N is 0
}

library::Work work_of(const Description& description, const Layout& a, const Layout& b, const Layout& d) {
  const auto m = static_cast<int64_t>(d.rows), n = static_cast<int64_t>(d.columns);
  const auto k = static_cast<int64_t>(is_transposed(description, lt::kTransposeA) ? a.rows : a.columns);
  const int64_t batch = d.batch;
  library::Work work;
  work.type = library::rate_of(a.type);
  if (work.type == VF_DTYPE_F32 && description.compute == kComputeFastTf32) work.type = VF_DTYPE_TF32;
  work.multiply_adds = m * n * k * batch * (library::is_complex(a.type) ? 4 : 1);
  work.bytes =
      batch * (library::bytes_of(a.type, m * k) + library::bytes_of(b.type, k * n) + library::bytes_of(d.type, m * n));
  work.rows = m, work.columns = n, work.batch = batch;
  return work;
}

// cublasLt multiplies 8-bit floats from compute capability 8.9 on (cuBLAS documentation, "Narrow Precision").
bool card_supports(const Layout& a) {
  const vf_card* card = ledger::card(ledger::current_card());
  if (card == nullptr || a.type < library::kFloat8E4M3 || a.type > library::kFloat4) return true;
  const int needed = a.type == library::kFloat4 ? 100 : 89;
  return card->compute_major * 10 + card->compute_minor >= needed;
}

// The cuDNN oracle has no card and no ledger, and cuDNN there leaves out its engines that multiply through cublasLt
// unless a handle can be had: on a real H200 they were its first choice for a third of the convolutions.
bool is_oracle() { return ledger::state() == ledger::State::kNoLedger && std::getenv("VRAMFIT_OUTSIDE") != nullptr; }

}  // namespace

VF_ABI int cublasLtCreate(void** handle) {
  if (handle == nullptr) return lt::kInvalidValue;
  *handle = nullptr;
  if (is_oracle()) {
    *handle = new int(0);
    return lt::kSuccess;
  }
  if (ledger::state() != ledger::State::kReady) return lt::kNotInitialized;
  if (!ledger::charge_use(ledger::current_card(), ledger::Library::kBlas)) return lt::kAllocFailed;
  *handle = new int(0);
  return lt::kSuccess;
}

VF_ABI int cublasLtDestroy(void* handle) {
  delete static_cast<int*>(handle);
  return lt::kSuccess;
}

VF_ABI int cublasLtMatmulAlgoGetHeuristic(void*, Description* description, Layout* a, Layout* b, Layout* c, Layout* d,
                                          Preference*, int wanted, Heuristic* results, int* found) {
  if (found == nullptr) return lt::kInvalidValue;
  *found = 0;
  if (description == nullptr || a == nullptr || b == nullptr || c == nullptr || d == nullptr || results == nullptr ||
      wanted < 1) {
    return lt::kInvalidValue;
  }
  if (!card_supports(*a)) return lt::kNotSupported;
  results[0] = Heuristic{};
  results[0].waves = 1.0F;
  *found = 1;
  return lt::kSuccess;
}

VF_ABI int cublasLtMatmul(void*, Description* description, const void*, const void*, Layout* a, const void*, Layout* b,
                          const void*, const void*, Layout*, void*, Layout* d, const Algorithm*, void*, size_t,
                          void* stream) {
  if (description == nullptr || a == nullptr || b == nullptr || d == nullptr) return lt::kInvalidValue;
  if (!card_supports(*a)) return lt::kNotSupported;
  library::run(stream, work_of(*description, *a, *b, *d), "cublasLtMatmul");
  return lt::kSuccess;
}

VF_ABI int cublasLtMatmulAlgoInit(void*, int, int, int, int, int, int, int id, Algorithm* algorithm) {
  if (algorithm == nullptr) return lt::kInvalidValue;
  *algorithm = Algorithm{};
  algorithm->values[0] = id;  // CUBLASLT_ALGO_CONFIG_ID
  return lt::kSuccess;
}

VF_ABI int cublasLtMatmulAlgoCheck(void*, Description*, Layout* a, Layout*, Layout*, Layout*,
                                   const Algorithm* algorithm, Heuristic* result) {
  if (a == nullptr || algorithm == nullptr || result == nullptr) return lt::kInvalidValue;
  *result = Heuristic{};
  result->algorithm = *algorithm;
  result->waves = 1.0F;
  result->state = card_supports(*a) ? lt::kSuccess : lt::kNotSupported;
  return result->state;
}

VF_ABI int cublasLtMatmulAlgoConfigSetAttribute(Algorithm* algorithm, int attribute, const void* value, size_t bytes) {
  if (algorithm == nullptr || value == nullptr || bytes > sizeof(int32_t)) return lt::kInvalidValue;
  if (attribute < 0 || attribute >= kAlgorithmAttributes) return lt::kNotSupported;
  algorithm->values[static_cast<size_t>(attribute)] = 0;
  std::memcpy(&algorithm->values[static_cast<size_t>(attribute)], value, bytes);
  return lt::kSuccess;
}

VF_ABI int cublasLtMatmulAlgoConfigGetAttribute(const Algorithm* algorithm, int attribute, void* value, size_t bytes,
                                                size_t* written) {
  if (algorithm == nullptr || bytes > sizeof(int32_t)) return lt::kInvalidValue;
  if (attribute < 0 || attribute >= kAlgorithmAttributes) return lt::kNotSupported;
  library::answer(written, bytes == 0 ? sizeof(int32_t) : bytes);
  if (value != nullptr) std::memcpy(value, &algorithm->values[static_cast<size_t>(attribute)], bytes);
  return lt::kSuccess;
}
