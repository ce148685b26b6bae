#include "virtual_gpu/cudnn/rnn.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "virtual_gpu/cudnn/descriptor.h"
#include "virtual_gpu/cudnn/graph_work.h"

namespace vramfit::cudnn {
namespace {

constexpr int kLstmMode = 2, kTwoBiases = 2;

RnnDescriptor lstm(int input, int hidden, int layers, int direction, int projection) {
  RnnDescriptor rnn;
  rnn.mode = kLstmMode;
  rnn.bias = kTwoBiases;
  rnn.direction = direction;
  rnn.input = input;
  rnn.hidden = hidden;
  rnn.projection = projection;
  rnn.layers = layers;
  return rnn;
}

TEST(Rnn, weights_take_what_pytorch_counts_as_parameters) {
  // nn.LSTM(32, 64, 2, bidirectional=True): 2 * (4 * 64 * (32 + 64 + 2)) + 2 * (4 * 64 * (128 + 64 + 2)).
  EXPECT_EQ(weight_elements(lstm(32, 64, 2, 1, 64)), 2 * 256 * 98 + 2 * 256 * 194);
  // nn.LSTM(32, 64, proj_size=16): 256 * (32 + 16 + 2) + 16 * 64.
  EXPECT_EQ(weight_elements(lstm(32, 64, 1, 0, 16)), 256 * 50 + 16 * 64);
}

TEST(Rnn, parameters_lie_one_after_another_without_a_gap) {
  const RnnDescriptor rnn = lstm(32, 64, 2, 1, 16);
  int64_t next = 0;
  for (int layer = 0; layer < 4; ++layer) {
    for (int linear = 0; linear < 9; ++linear) {
      const RnnParameter matrix = find_matrix(rnn, layer, linear);
      EXPECT_EQ(matrix.offset, next);
      next += matrix.rows * matrix.columns;
    }
  }
  for (int layer = 0; layer < 4; ++layer) {
    for (int linear = 0; linear < 8; ++linear) {
      const RnnParameter bias = find_bias(rnn, layer, linear);
      EXPECT_EQ(bias.offset, next);
      next += bias.rows;
    }
  }
  EXPECT_EQ(next, weight_elements(rnn));
}

TEST(Rnn, a_parameter_that_does_not_exist_is_empty) {
  EXPECT_EQ(find_matrix(lstm(32, 64, 1, 0, 64), 0, 8).rows, 0);
  EXPECT_EQ(find_bias(lstm(32, 64, 1, 0, 64), 1, 0).rows, 0);
}

RnnDescriptor described(const std::string& kind, const std::string& type) {
  RnnDescriptor rnn;
  rnn.mode = kind == "lstm" ? kLstmMode : kind == "gru" ? 3 : 1;
  rnn.type = type == "float32" ? kFloat : type == "float16" ? kHalf : kBfloat16;
  rnn.bias = kTwoBiases;
  return rnn;
}

// A row of what a real H200 was asked for. bench/workspaces/rnn.py solved for the formula's multiples with half of the
// layers.
TEST(Rnn, spaces_are_those_of_a_real_card) {
  std::ifstream file(VRAMFIT_SOURCE_DIR "/fixtures/real_cards/h200_recurrent.csv");
  std::string line;
  std::getline(file, line);  // names of the columns
  int rows = 0;
  for (; std::getline(file, line); ++rows) {
    std::istringstream row(line);
    std::string kind, type;
    std::getline(row, kind, ',');
    std::getline(row, type, ',');
    RnnDescriptor rnn = described(kind, type);
    const auto next = [&] {
      std::string cell;
      std::getline(row, cell, ',');
      return cell.empty() ? int64_t{-1} : std::stoll(cell);
    };
    rnn.algorithm = static_cast<int>(next());
    rnn.input = static_cast<int>(next());
    rnn.hidden = static_cast<int>(next());
    rnn.layers = static_cast<int>(next());
    rnn.direction = static_cast<int>(next()) - 1;
    const int64_t batch = next(), steps = next(), training = next(), inference = next(), reserve = next();
    EXPECT_EQ(spaces_of(rnn, steps, batch, true).work, training) << line;
    EXPECT_EQ(spaces_of(rnn, steps, batch, true).reserve, reserve) << line;
    if (inference >= 0) {
      EXPECT_EQ(spaces_of(rnn, steps, batch, false).work, inference) << line;
    }
  }
  EXPECT_EQ(rows, 128);
}

// Layers that no multiple was solved for with, in the figures of the card itself.
TEST(Rnn, spaces_of_layers_that_were_not_fitted_are_those_of_a_real_card) {
  RnnDescriptor deep = described("lstm", "float16");  // nn.LSTM(256, 512, 3), 32 x 100
  deep.input = 256;
  deep.hidden = 512;
  deep.layers = 3;
  EXPECT_EQ(spaces_of(deep, 100, 32, true).work, 55706112);
  EXPECT_EQ(spaces_of(deep, 100, 32, true).reserve, 55705856);

  RnnDescriptor padded =
      described("gru", "float16");  // nn.GRU(650, 650, 2), 20 x 35: parts are no multiples of 32 bytes
  padded.input = padded.hidden = 650;
  padded.layers = 2;
  EXPECT_EQ(spaces_of(padded, 35, 20, true).work, 32143712);
  EXPECT_EQ(spaces_of(padded, 35, 20, false).work, 31727680);
  EXPECT_EQ(spaces_of(padded, 35, 20, true).reserve, 11830272);

  RnnDescriptor long_one = described("lstm", "float16");  // nn.LSTM(40, 96, 4, bidirectional=True), 7 x 333
  long_one.algorithm = 3;
  long_one.input = 40;
  long_one.hidden = 96;
  long_one.layers = 4;
  long_one.direction = 1;
  EXPECT_EQ(spaces_of(long_one, 333, 7, true).work, 82355008);
  EXPECT_EQ(spaces_of(long_one, 333, 7, true).reserve, 20587648);

  RnnDescriptor plain = described("rnn", "float16");  // nn.RNN(300, 1000), 64 x 20
  plain.input = 300;
  plain.hidden = 1000;
  plain.layers = 1;
  EXPECT_EQ(spaces_of(plain, 20, 64, true).work, 23405376);
  EXPECT_EQ(spaces_of(plain, 20, 64, false).work, 17261376);
  EXPECT_EQ(spaces_of(plain, 20, 64, false).reserve, 0);
}

// cuDNN 9.19 has no persistent way in bfloat16, which PyTorch asks for all the same.
TEST(Rnn, bfloat16_is_never_persistent) {
  RnnDescriptor rnn = described("gru", "bfloat16");
  rnn.algorithm = 3;
  EXPECT_FALSE(rnn.is_persistent());
  rnn.type = kHalf;
  EXPECT_TRUE(rnn.is_persistent());
}

TEST(GraphWork, a_convolution_multiplies_each_output_element_with_a_filter) {
  EXPECT_EQ(convolution_multiply_adds({2, 64, 56, 56}, {64, 3, 7, 7}), int64_t{2} * 64 * 56 * 56 * 3 * 49);
  EXPECT_EQ(convolution_multiply_adds({2, 64, 28, 28}, {64, 1, 3, 3}), int64_t{2} * 64 * 28 * 28 * 9);  // depthwise
}

TEST(Descriptor, an_attribute_comes_back_with_its_own_type_only) {
  Node node;
  const int64_t sizes[2] = {3, 5};
  EXPECT_EQ(set_attribute(node, 902, kTypeInt64, 2, sizes), kSuccess);
  int64_t found = 0, back[2] = {};
  EXPECT_EQ(get_attribute(node, 902, kTypeInt64, 2, &found, back), kSuccess);
  EXPECT_EQ(found, 2);
  EXPECT_EQ(back[1], 5);
  EXPECT_EQ(get_attribute(node, 902, kTypeFloat, 2, &found, back), kAttributeType);
  EXPECT_EQ(get_attribute(node, 903, kTypeInt64, 2, &found, back), kNotSupported);
  EXPECT_EQ(set_attribute(node, 902, kLastType + 1, 1, sizes), kAttributeType);
}

TEST(Descriptor, attributes_that_no_cudnn_has_are_not_known) {
  EXPECT_TRUE(is_known_attribute(402));
  EXPECT_FALSE(is_known_attribute(499));
  EXPECT_FALSE(is_known_attribute(-1));
}

}  // namespace
}  // namespace vramfit::cudnn
