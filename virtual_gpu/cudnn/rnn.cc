#include "virtual_gpu/cudnn/rnn.h"

#include <algorithm>

#include "virtual_gpu/cudnn/legacy.h"
#include "virtual_gpu/ledger/ledger.h"
#include "virtual_gpu/library/abi.h"
#include "virtual_gpu/library/work.h"

namespace vramfit::cudnn {
namespace {

constexpr int kLstm = 2, kGru = 3;           // cudnnRNNMode_t
constexpr int kNoBias = 0, kDoubleBias = 2;  // cudnnRNNBiasMode_t
constexpr int kStandard = 0;                 // cudnnRNNAlgo_t

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

// Each part of a space begins at a multiple.
int64_t part(int64_t bytes) {
  constexpr int64_t kAlignment = 32;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// Sizes that the parts of a network's spaces are multiples of, in bytes.
struct Measures {
  int64_t pseudo_layers = 0, layers = 0, directions = 0, gates = 0, steps = 0;
  int64_t input = 0;      // of all steps
  int64_t states = 0;     // of one layer and direction at all steps
  int64_t one_state = 0;  // of one layer and direction at one step
  bool is_persistent = false, is_lstm = false, is_gru = false;

  bool is_bidirectional() const { return directions > 1; }
};

Measures measures_of(const RnnDescriptor& rnn, int64_t steps, int64_t batch) {
  const int64_t element = bytes_of(rnn.type), one_state = batch * rnn.hidden * element;
  return {.pseudo_layers = pseudo_layers(rnn),
          .layers = rnn.layers,
          .directions = rnn.directions(),
          .gates = rnn.gates(),
          .steps = steps,
          .input = steps * batch * rnn.input * element,
          .states = steps * one_state,
          .one_state = one_state,
          .is_persistent = rnn.is_persistent(),
          .is_lstm = rnn.mode == kLstm,
          .is_gru = rnn.mode == kGru};
}

// One layer of gates and outputs is in work at a time; initial and last states of all layers are held. Where weights
// stay on the chip, the gates are there a second time, with four times the bytes, whatever the directions.
int64_t forward_bytes(const Measures& m) {
  const int64_t held = m.is_persistent ? (m.is_lstm ? 8 : 4) : (m.is_lstm ? 10 : m.is_gru ? 5 : 3);
  int64_t bytes = part(m.input) + part(m.gates * m.states * m.directions) + part(m.states * m.directions) +
                  held * m.one_state * m.pseudo_layers;
  if (m.is_persistent) bytes += 4 * m.gates * m.states;
  if (m.is_bidirectional()) bytes += 4 * m.states + (m.is_persistent ? 2 : 4) * m.one_state * m.layers;
  return bytes;
}

// How much of a layer's states the reserve holds.
int64_t kept_states(const Measures& m) { return m.is_lstm ? 5 : m.is_gru ? 6 : 1; }

// Inputs and states with their gradients; between layers those of a whole layer, or of the steps under way only, where
// layers are worked on at once. Two cases were not measured:
// - both ways with inputs wider than the states: at most `m.states` too much;
// - a persistent LSTM, as what was measured took more in its forward pass: the largest multiple that leaves it so,
// which
//   matters where inputs are 2.5 times as wide as the states.
int64_t backward_bytes(const Measures& m) {
  const int64_t held = m.is_lstm ? 11 : m.is_persistent ? 6 : 5;
  int64_t bytes = 2 * part(m.input) + part(std::max(m.input, m.states)) + held * m.one_state * m.pseudo_layers;
  const bool is_deep = m.layers > 1, is_staggered = is_deep && !m.is_persistent && !m.is_bidirectional();
  const int64_t under_way = is_staggered ? std::min(m.steps, 8 + 4 * m.layers) : m.steps;
  if (m.is_persistent) bytes += (8 + kept_states(m)) * m.states;
  if (m.is_bidirectional()) {
    bytes += 9 * m.states + (m.is_persistent ? 2 : 4) * m.one_state * m.layers;
  } else {
    bytes += 2 * part(m.states) + part(under_way * m.one_state);
  }
  return is_deep && !is_staggered ? bytes + m.states * m.directions : bytes;
}

}  // namespace

int RnnDescriptor::gates() const { return mode == kLstm ? 4 : mode == kGru ? 3 : 1; }
int RnnDescriptor::directions() const { return direction == 0 ? 1 : 2; }
int RnnDescriptor::biases_per_layer() const {
  return bias == kNoBias ? 0 : bias == kDoubleBias ? 2 * gates() : gates();
}
bool RnnDescriptor::is_projected() const { return projection > 0 && projection != hidden; }
// cuDNN 9.19 runs bfloat16 the standard way, also where PyTorch asks for a persistent one.
bool RnnDescriptor::is_persistent() const { return algorithm != kStandard && type != kBfloat16; }
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

// Each layer and direction has 8 MiB, probably the work area of its products: no multiple of the H200's 132
// multiprocessors, as nothing here is. Then the weights a second time.
RnnSpaces spaces_of(const RnnDescriptor& rnn, int64_t steps, int64_t batch, bool is_training) {
  constexpr int64_t kOfProducts = int64_t{8} << 20, kHeader = 256;
  const Measures m = measures_of(rnn, steps, batch);
  const int64_t weights = all_matrix_elements(rnn, pseudo_layers(rnn)) * bytes_of(rnn.type);
  const int64_t lengths = part(batch * int64_t{2 * sizeof(int32_t)});
  const int64_t forward = forward_bytes(m);
  RnnSpaces spaces;
  spaces.work = m.pseudo_layers * kOfProducts + kHeader + lengths + weights +
                (is_training ? std::max(forward, backward_bytes(m)) : forward);
  if (is_training) {
    const int64_t all_directions = m.states * m.directions;
    spaces.reserve = part(kept_states(m) * m.layers * all_directions) + part((m.layers - 1) * all_directions) + kHeader;
  }
  return spaces;
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
                                    int32_t projection, int32_t layers, cudnn::DropoutDescriptor* dropout, uint32_t) {
  if (rnn == nullptr) return cudnn::kNullPointer;
  const bool drops_out = dropout != nullptr && dropout->probability > 0 && layers > 1;
  *rnn = {algorithm, mode, bias, direction, input_mode, type, input, hidden, projection, layers, drops_out};
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

VF_ABI int cudnnGetRNNTempSpaceSizes(Handle*, RnnDescriptor* rnn, int forward_mode, RnnDataDescriptor* x,
                                     size_t* work_bytes, size_t* reserve_bytes) {
  if (rnn == nullptr || x == nullptr) return cudnn::kNullPointer;
  constexpr int kTraining = 1;  // CUDNN_FWD_MODE_TRAINING
  const cudnn::RnnSpaces spaces = cudnn::spaces_of(*rnn, x->max_steps, x->batch, forward_mode == kTraining);
  vramfit::library::answer(work_bytes, spaces.work);
  vramfit::library::answer(reserve_bytes, spaces.reserve);
  ledger::note_assumed(
      "recurrent layers take what cuDNN 9.19 takes on an H200, 8 MiB a layer and direction among it; "
      "the work space of other cards and versions is not known");
  if (rnn->drops_out || rnn->is_projected()) {
    ledger::note_assumed("recurrent layers with dropout or projections take what those without take (not measured)");
  }
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
