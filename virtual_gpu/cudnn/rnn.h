// Recurrent networks: where each weight lies in cuDNN's one weight space, and how large its spaces are.
//
//   | layer 0: input weights of every gate, recurrent weights of every gate, projection | layer 1 ... | all biases |
//
// A bidirectional network has two pseudo layers a layer. What its spaces are made of is not documented: `spaces_of`
// is the formula that gives what a real H200 was asked for (fixtures/real_cards/h200_recurrent.csv,
// bench/workspaces/rnn.py).
#ifndef VRAMFIT_VIRTUAL_GPU_CUDNN_RNN_H
#define VRAMFIT_VIRTUAL_GPU_CUDNN_RNN_H

#include <cstdint>

#include "virtual_gpu/cudnn/status.h"

namespace vramfit::cudnn {

struct RnnDescriptor {
  int algorithm = 0, mode = 0, bias = 0, direction = 0, input_mode = 0, type = kFloat;
  int32_t input = 0, hidden = 0, projection = 0, layers = 0;
  bool drops_out = false;  // between layers

  int gates() const;             // 4 for LSTM, 3 for GRU, 1 for a plain RNN
  int directions() const;        // 2 when bidirectional
  int biases_per_layer() const;  // bias vectors of one pseudo layer
  bool is_projected() const;
  bool is_persistent() const;    // the weights stay in registers and shared memory from step to step
  int64_t output_width() const;  // per direction
};

struct RnnDataDescriptor {
  int type = kFloat, layout = 0, max_steps = 0, batch = 0, width = 0;
};

// A weight matrix or a bias vector in the weight space; rows is 0 when there is none.
struct RnnParameter {
  int64_t offset = 0;  // elements
  int64_t rows = 0, columns = 0;
};

RnnParameter find_matrix(const RnnDescriptor& rnn, int pseudo_layer, int linear);
RnnParameter find_bias(const RnnDescriptor& rnn, int pseudo_layer, int linear);
int64_t weight_elements(const RnnDescriptor& rnn);

struct RnnSpaces {
  int64_t work = 0;
  int64_t reserve = 0;  // kept from the forward to the backward pass; none in inference
};

RnnSpaces spaces_of(const RnnDescriptor& rnn, int64_t steps, int64_t batch, bool is_training);

}  // namespace vramfit::cudnn

#endif
