#include "virtual_gpu/cudnn/rnn.h"

#include <gtest/gtest.h>

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
