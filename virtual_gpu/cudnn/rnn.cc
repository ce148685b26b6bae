#include "virtual_gpu/cudnn/rnn.h"

#include "virtual_gpu/cudnn/legacy.h"
#include "virtual_gpu/ledger/ledger.h"
#include "virtual_gpu/library/abi.h"
#include "virtual_gpu/library/work.h"

namespace vramfit::cudnn {
namespace {

constexpr int kLstm = 2, kGru = 3;           // cudnnRNNMode_t
constexpr int kNoBias = 0, kDoubleBias = 2;  // cudnnRNNBiasMode_t

// Input width of a pseudo layer.
int64_t input_width(const RnnDescriptor& rnn, int pseudo_layer) {
  return pseudo_layer / rnn.directions() == 0 ? rnn.input : rnn.output_width() * rnn.directions();
}

int64_t matrix_elements(const RnnDescriptor& rnn, int pseudo_layer) {
  const int64_t gates = int64_t{rnn.gates()} * rnn.hidden;
  const int64_t projection = rnn.is_projected() ? int64_t{rnn.projection} * rnn.hidden : 0;
  return gates * (input_width(rnn, pseudo_layer) + rnn.output_width()) + projection;
}

int64_t all_matrix_elements(const RnnDescriptor& rnn, int before_pseudo_layer) {
  int64_t total = 0;
  for (int layer = 0; layer < before_pseudo_layer; ++layer) total += matrix_elements(rnn, layer);
  return total;
}

int pseudo_layers(const RnnDescriptor& rnn) { return rnn.layers * rnn.directions(); }

void describe(TensorDescriptor* descriptor, const RnnDescriptor& rnn, const RnnParameter& parameter) {
  if (descriptor == nullptr) return;
  *descriptor = TensorDescriptor{};
  if (parameter.rows == 0) return;
  const int rows = static_cast<int>(parameter.rows), columns = static_cast<int>(parameter.columns);
  descriptor->type = rnn.type;
  descriptor->rank = 3;
  descriptor->dimensions = {1, rows, columns};
  descriptor->strides = {rows * columns, columns, 1};
}

// One product per gate matrix and time step.
library::Work work_of(const RnnDescriptor& rnn, const RnnDataDescriptor& x, int passes) {
  const int64_t steps = int64_t{x.max_steps} * x.batch;
  const int64_t matrices = all_matrix_elements(rnn, pseudo_layers(rnn));
  return {.kind = VF_RECORD_MATMUL,
          .type = rate_of(rnn.type),
          .multiply_adds = steps * matrices * passes,
          .bytes = (matrices + steps * (rnn.input + rnn.output_width() * rnn.directions())) * bytes_of(rnn.type)};
}

int run_rnn(Handle* handle, const RnnDescriptor* rnn, const RnnDataDescriptor* x, int passes, const char* function) {
  if (handle == nullptr || rnn == nullptr || x == nullptr) return kNullPointer;
  library::run(handle->stream, work_of(*rnn, *x, passes), function);
  return kSuccess;
}

}  // namespace

int RnnDescriptor::gates() const { return mode == kLstm ? 4 : mode == kGru ? 3 : 1; }
int RnnDescriptor::directions() const { return direction == 0 ? 1 : 2; }
int RnnDescriptor::biases_per_layer() const {
  return bias == kNoBias ? 0 : bias == kDoubleBias ? 2 * gates() : gates();
}
bool RnnDescriptor::is_projected() const { return projection > 0 && projection != hidden; }
int64_t RnnDescriptor::output_width() const { return is_projected() ? projection : hidden; }

RnnParameter find_matrix(const RnnDescriptor& rnn, int pseudo_layer, int linear) {
  const int gates = rnn.gates();
  if (pseudo_layer < 0 || pseudo_layer >= pseudo_layers(rnn) || linear < 0) return {};
  const int64_t start = all_matrix_elements(rnn, pseudo_layer);
  const int64_t in = input_width(rnn, pseudo_layer), out = rnn.output_width(), hidden = rnn.hidden;
  if (linear < gates) return {start + linear * hidden * in, hidden, in};
  if (linear < 2 * gates) return {start + gates * hidden * in + (linear - gates) * hidden * out, hidden, out};
  if (linear == 2 * gates && rnn.is_projected()) {
    return {start + gates * hidden * (in + out), rnn.projection, hidden};
  }
  return {};
}

RnnParameter find_bias(const RnnDescriptor& rnn, int pseudo_layer, int linear) {
  const int per_layer = rnn.biases_per_layer();
  if (pseudo_layer < 0 || pseudo_layer >= pseudo_layers(rnn) || linear < 0 || linear >= per_layer) return {};
  const int64_t start = all_matrix_elements(rnn, pseudo_layers(rnn));
  return {start + (int64_t{pseudo_layer} * per_layer + linear) * rnn.hidden, rnn.hidden, 1};
}

int64_t weight_elements(const RnnDescriptor& rnn) {
  return all_matrix_elements(rnn, pseudo_layers(rnn)) +
         int64_t{pseudo_layers(rnn)} * rnn.biases_per_layer() * rnn.hidden;
}

}  // namespace vramfit::cudnn

namespace cudnn = vramfit::cudnn;
namespace ledger = vramfit::ledger;
using cudnn::Handle;
using cudnn::RnnDataDescriptor;
using cudnn::RnnDescriptor;
using cudnn::TensorDescriptor;

VF_ABI int cudnnCreateRNNDescriptor(RnnDescriptor** descriptor) {
  if (descriptor == nullptr) return cudnn::kNullPointer;
  *descriptor = new RnnDescriptor;
  return cudnn::kSuccess;
}

VF_ABI int cudnnDestroyRNNDescriptor(RnnDescriptor* descriptor) {
  delete descriptor;
  return cudnn::kSuccess;
}

VF_ABI int cudnnCreateRNNDataDescriptor(RnnDataDescriptor** descriptor) {
  if (descriptor == nullptr) return cudnn::kNullPointer;
  *descriptor = new RnnDataDescriptor;
  return cudnn::kSuccess;
}

VF_ABI int cudnnDestroyRNNDataDescriptor(RnnDataDescriptor* descriptor) {
  delete descriptor;
  return cudnn::kSuccess;
}

VF_ABI int cudnnSetRNNDescriptor_v8(RnnDescriptor* rnn, int algorithm, int mode, int bias, int direction,
                                    int input_mode, int type, int, int, int32_t input, int32_t hidden,
                                    int32_t projection, int32_t layers, cudnn::DropoutDescriptor*, uint32_t) {
  if (rnn == nullptr) return cudnn::kNullPointer;
  *rnn = {algorithm, mode, bias, direction, input_mode, type, input, hidden, projection, layers};
  return cudnn::kSuccess;
}

VF_ABI int cudnnSetRNNDataDescriptor(RnnDataDescriptor* data, int type, int layout, int max_steps, int batch, int width,
                                     const int*, void*) {
  if (data == nullptr) return cudnn::kNullPointer;
  *data = {type, layout, max_steps, batch, width};
  return cudnn::kSuccess;
}

VF_ABI int cudnnGetRNNWeightSpaceSize(Handle*, RnnDescriptor* rnn, size_t* bytes) {
  if (rnn == nullptr || bytes == nullptr) return cudnn::kNullPointer;
  *bytes = static_cast<size_t>(cudnn::weight_elements(*rnn) * cudnn::bytes_of(rnn->type));
  return cudnn::kSuccess;
}

// The descriptors may be null. A parameter that the network does not have gives a null address and an empty shape.
VF_ABI int cudnnGetRNNWeightParams(Handle*, RnnDescriptor* rnn, int32_t pseudo_layer, size_t, const void* weights,
                                   int32_t linear, TensorDescriptor* matrix, void** matrix_address,
                                   TensorDescriptor* bias, void** bias_address) {
  if (rnn == nullptr) return cudnn::kNullPointer;
  const auto address_of = [&](const cudnn::RnnParameter& parameter) -> void* {
    if (parameter.rows == 0) return nullptr;
    const auto offset = static_cast<uintptr_t>(parameter.offset * cudnn::bytes_of(rnn->type));
    return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(weights) + offset);
  };
  const cudnn::RnnParameter m = cudnn::find_matrix(*rnn, pseudo_layer, linear);
  const cudnn::RnnParameter b = cudnn::find_bias(*rnn, pseudo_layer, linear);
  cudnn::describe(matrix, *rnn, m);
  cudnn::describe(bias, *rnn, b);
  vramfit::library::answer(matrix_address, address_of(m));
  vramfit::library::answer(bias_address, address_of(b));
  return cudnn::kSuccess;
}

// Work space: gate pre-activations of the longest layer, twice, and a megabyte of buffers. Reserve space, kept from the
// forward to the backward pass of training: gates, cell and hidden states of every layer.
VF_ABI int cudnnGetRNNTempSpaceSizes(Handle*, RnnDescriptor* rnn, int forward_mode, RnnDataDescriptor* x,
                                     size_t* work_bytes, size_t* reserve_bytes) {
  if (rnn == nullptr || x == nullptr) return cudnn::kNullPointer;
  constexpr int kTraining = 1;  // CUDNN_FWD_MODE_TRAINING
  constexpr int64_t kBuffers = int64_t{1} << 20;
  const int64_t states =
      int64_t{x->max_steps} * x->batch * rnn->hidden * rnn->directions() * cudnn::bytes_of(rnn->type);
  vramfit::library::answer(work_bytes, states * rnn->gates() * 2 + kBuffers);
  vramfit::library::answer(reserve_bytes, forward_mode == kTraining ? states * rnn->layers * (rnn->gates() + 2) : 0);
  ledger::note_assumed("cuDNN's recurrent networks keep gates, cell and hidden state of every step and layer");
  return cudnn::kSuccess;
}

// handle, rnn, mode, lengths, x, ...
VF_ABI int cudnnRNNForward(Handle* handle, RnnDescriptor* rnn, int, const int32_t*, RnnDataDescriptor* x, const void*,
                           RnnDataDescriptor*, void*, TensorDescriptor*, const void*, void*, TensorDescriptor*,
                           const void*, void*, size_t, const void*, size_t, void*, size_t, void*) {
  return cudnn::run_rnn(handle, rnn, x, 1, "cudnnRNNForward");
}

// handle, rnn, lengths, y, y data, dy data, x, ...
VF_ABI int cudnnRNNBackwardData_v8(Handle* handle, RnnDescriptor* rnn, const int32_t*, RnnDataDescriptor*, const void*,
                                   const void*, RnnDataDescriptor* x, void*, TensorDescriptor*, const void*,
                                   const void*, void*, TensorDescriptor*, const void*, const void*, void*, size_t,
                                   const void*, size_t, void*, size_t, void*) {
  return cudnn::run_rnn(handle, rnn, x, 1, "cudnnRNNBackwardData");
}

// handle, rnn, mode, lengths, x, ...
VF_ABI int cudnnRNNBackwardWeights_v8(Handle* handle, RnnDescriptor* rnn, int, const int32_t*, RnnDataDescriptor* x,
                                      const void*, TensorDescriptor*, const void*, RnnDataDescriptor*, const void*,
                                      size_t, void*, size_t, void*, size_t, void*) {
  return cudnn::run_rnn(handle, rnn, x, 1, "cudnnRNNBackwardWeights");
}
