// Sizes of batch normalisation, dropout and CTC loss. The kernels themselves are launches (abi/symbols).
#include "virtual_gpu/cudnn/legacy.h"
#include "virtual_gpu/device/kernel_arguments.h"
#include "virtual_gpu/ledger/ledger.h"
#include "virtual_gpu/library/work.h"

namespace cudnn = vramfit::cudnn;
namespace device = vramfit::device;
namespace ledger = vramfit::ledger;
using cudnn::ActivationDescriptor;
using cudnn::CtcDescriptor;
using cudnn::DropoutDescriptor;
using cudnn::Handle;
using cudnn::TensorDescriptor;

namespace {

constexpr int kPlainNormalization = 0;  // CUDNN_BATCHNORM_OPS_BN: no activation, no addition

int answer_normalization_workspace(const TensorDescriptor* x, size_t* bytes) {
  if (bytes == nullptr || x == nullptr) return cudnn::kNullPointer;
  *bytes = 0;
  if (x->is_channels_last()) {
    ledger::note_assumed("cuDNN's channels-last batch normalisation needs no workspace; a real one takes a few KiB");
  }
  return cudnn::kSuccess;
}

// Normalisation is bound by memory: its passes over the tensors are all that its time depends on. cuDNN's kernels for
// channels that lie last load vectors of them; those for whole planes go one by one.
int tell_passes(Handle* handle, const TensorDescriptor* x, int passes) {
  if (handle == nullptr || x == nullptr) return cudnn::kNullPointer;
  device::Touched touched;
  touched.bytes = x->elements() * cudnn::bytes_of(x->type) * passes;
  if (!x->is_channels_last()) touched.one_by_one_bytes = static_cast<unsigned>(cudnn::bytes_of(x->type));
  ledger::tell_kernel(ledger::current_card(), touched);
  vramfit::library::launch(handle->stream);
  return cudnn::kSuccess;
}

// Forward: the statistics read it, and the result reads and writes. Backward: two sums read it and the gradient, and
// the result reads both and writes.
constexpr int kPassesForward = 3, kPassesBackward = 5, kPassesInference = 2;

}  // namespace

// handle, mode, operations, alpha, beta, x's descriptor, x, ... (the rest is on the card, or read by nobody)
VF_ABI int cudnnBatchNormalizationForwardTrainingEx(Handle* handle, int, int, const void*, const void*,
                                                    TensorDescriptor* x) {
  return tell_passes(handle, x, kPassesForward);
}

// handle, mode, operations, four factors, x's descriptor, x, ...
VF_ABI int cudnnBatchNormalizationBackwardEx(Handle* handle, int, int, const void*, const void*, const void*,
                                             const void*, TensorDescriptor* x) {
  return tell_passes(handle, x, kPassesBackward);
}

// handle, mode, alpha, beta, x's descriptor, x, ...
VF_ABI int cudnnBatchNormalizationForwardInference(Handle* handle, int, const void*, const void*, TensorDescriptor* x) {
  return tell_passes(handle, x, kPassesInference);
}

VF_ABI int cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(Handle*, int, int, TensorDescriptor* x,
                                                                    TensorDescriptor*, TensorDescriptor*,
                                                                    TensorDescriptor*, ActivationDescriptor*,
                                                                    size_t* bytes) {
  return answer_normalization_workspace(x, bytes);
}

VF_ABI int cudnnGetBatchNormalizationBackwardExWorkspaceSize(Handle*, int, int, TensorDescriptor* x, TensorDescriptor*,
                                                             TensorDescriptor*, TensorDescriptor*, TensorDescriptor*,
                                                             TensorDescriptor*, ActivationDescriptor*, size_t* bytes) {
  return answer_normalization_workspace(x, bytes);
}

VF_ABI int cudnnGetBatchNormalizationTrainingExReserveSpaceSize(Handle*, int, int operations, ActivationDescriptor*,
                                                                TensorDescriptor* x, size_t* bytes) {
  if (bytes == nullptr || x == nullptr) return cudnn::kNullPointer;
  *bytes = 0;
  if (operations != kPlainNormalization) {
    // The activation's sign of every element, to be found again in the backward pass.
    *bytes = static_cast<size_t>((x->elements() + 7) / 8);
    ledger::note_assumed("cuDNN keeps one bit an element for a fused batch normalisation and activation");
  }
  return cudnn::kSuccess;
}

// One generator state per resident thread (documented as depending on the card only). 12 bytes per thread of the whole
// card is what a real cuDNN answered as far as the order of magnitude is known.
VF_ABI int cudnnDropoutGetStatesSize(Handle*, size_t* bytes) {
  if (bytes == nullptr) return cudnn::kNullPointer;
  const vf_card* card = ledger::card(ledger::current_card());
  *bytes = 0;
  if (card == nullptr) return cudnn::kNotInitialized;
  *bytes = static_cast<size_t>(card->sm_count) * 2048 * 12;
  ledger::note_assumed("cuDNN's dropout states take 24 KiB per multiprocessor");
  return cudnn::kSuccess;
}

VF_ABI int cudnnSetDropoutDescriptor(DropoutDescriptor* descriptor, Handle*, float probability, void* states,
                                     size_t bytes, unsigned long long seed) {
  if (descriptor == nullptr) return cudnn::kNullPointer;
  *descriptor = {probability, states, bytes, seed};
  return cudnn::kSuccess;
}

VF_ABI int cudnnRestoreDropoutDescriptor(DropoutDescriptor* descriptor, Handle*, float probability, void* states,
                                         size_t bytes, unsigned long long seed) {
  if (descriptor == nullptr) return cudnn::kNullPointer;
  *descriptor = {probability, states, bytes, seed};
  return cudnn::kSuccess;
}

VF_ABI int cudnnSetCTCLossDescriptorEx(CtcDescriptor* descriptor, int compute_type, int normalization,
                                       int gradient_mode) {
  if (descriptor == nullptr) return cudnn::kNullPointer;
  *descriptor = {compute_type, normalization, gradient_mode, 0};
  return cudnn::kSuccess;
}

VF_ABI int cudnnSetCTCLossDescriptor_v9(CtcDescriptor* descriptor, int compute_type, int normalization,
                                        int gradient_mode, int max_label_length) {
  if (descriptor == nullptr) return cudnn::kNullPointer;
  *descriptor = {compute_type, normalization, gradient_mode, max_label_length};
  return cudnn::kSuccess;
}

namespace {

// Forward and backward variables of every time step over the label with blanks between (2 * length + 1 states), in
// fp32: what the algorithm of Graves et al. (2006) keeps.
int answer_ctc_workspace(const TensorDescriptor* probabilities, int longest_label, size_t* bytes) {
  if (bytes == nullptr || probabilities == nullptr) return cudnn::kNullPointer;
  *bytes = 0;
  if (probabilities->rank < 3) return cudnn::kBadParam;
  const int64_t steps = probabilities->dimensions[0], batch = probabilities->dimensions[1];
  *bytes = static_cast<size_t>(steps * batch * (2 * int64_t{longest_label} + 1) * 2 * 4);
  ledger::note_assumed("cuDNN's CTC loss keeps forward and backward variables in fp32");
  return cudnn::kSuccess;
}

}  // namespace

VF_ABI int cudnnGetCTCLossWorkspaceSize(Handle*, TensorDescriptor* probabilities, TensorDescriptor*, const int*,
                                        const int* label_lengths, const int*, int, CtcDescriptor*, size_t* bytes) {
  if (probabilities == nullptr || label_lengths == nullptr) return cudnn::kNullPointer;
  int longest = 0;
  for (int i = 0; probabilities->rank >= 2 && i < probabilities->dimensions[1]; ++i) {
    longest = label_lengths[i] > longest ? label_lengths[i] : longest;
  }
  return answer_ctc_workspace(probabilities, longest, bytes);
}

VF_ABI int cudnnGetCTCLossWorkspaceSize_v8(Handle*, int, CtcDescriptor* descriptor, TensorDescriptor* probabilities,
                                           TensorDescriptor*, size_t* bytes) {
  if (descriptor == nullptr) return cudnn::kNullPointer;
  return answer_ctc_workspace(probabilities, descriptor->max_label_length, bytes);
}
