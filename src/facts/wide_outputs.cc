#include "facts/wide_outputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "model/recording.h"

namespace vramfit::facts {

using model::Recording;

namespace {

// The tokens of a language model's batch: the first input of whole numbers, "[8, 1024] int64, ...".
std::int64_t tokens_in(const std::string& shapes) {
  const std::size_t close = shapes.find(']');
  if (shapes.empty() || shapes[0] != '[' || close == std::string::npos) return 0;
  if (shapes.compare(close, 5, "] int") != 0) return 0;
  std::int64_t product = 1, number = 0;
  for (const char c : shapes.substr(1, close)) {
    if (c >= '0' && c <= '9') {
      number = std::min<std::int64_t>(number * 10 + (c - '0'), std::int64_t{1} << 31);
    } else if (c == ',' || c == ']') {
      product = std::min<std::int64_t>(product * number, std::int64_t{1} << 40);
      number = 0;
    }
  }
  return product;
}

void add_wide(std::vector<WideOutput>& found, WideOutput output) {
  for (WideOutput& known : found) {
    if (known.classes != output.classes) continue;
    if (output.rows > known.rows) {
      known.rows = output.rows;
      known.shape = output.shape;
    }
    if (known.module.empty()) known.module = output.module;
    return;
  }
  found.push_back(std::move(output));
}

constexpr std::int64_t kManyClasses = 1000;

// [N, T, V]: the last dimension counts classes; [N, C, H, W]: the second. With few classes and no pixels logits are of
// no weight.
WideOutput output_of(const model::notes::Output& told) {
  WideOutput output;
  if (told.shape.size() < 2) return output;
  std::vector<std::int64_t> shape;
  std::int64_t elements = 1;
  constexpr std::int64_t kMost = std::int64_t{1} << 60;
  for (const std::int64_t size : told.shape) {
    shape.push_back(std::max<std::int64_t>(1, size));
    elements = elements > kMost / shape.back() ? kMost : elements * shape.back();
  }
  output.classes = shape.size() >= 4 ? shape[1] : shape.back();
  if (shape.size() < 4 && output.classes < kManyClasses) return {};
  output.rows = elements / output.classes;
  output.shape = fmt::format("{} [{}]", told.dtype, fmt::join(told.shape, ","));
  return output;
}

}  // namespace

std::vector<WideOutput> read_wide_outputs(std::span<const Recording> recordings) {
  std::vector<WideOutput> found;
  std::int64_t tokens = 0;
  for (const Recording& recording : recordings) {
    for (const auto& input : recording.notes.step_input) tokens = std::max(tokens, tokens_in(input.shapes));
    for (const auto& told : recording.notes.output) {
      if (WideOutput output = output_of(told); output.classes > 1) add_wide(found, std::move(output));
    }
  }
  for (const Recording& recording : recordings) {
    for (const auto& layer : recording.notes.wide_layer) add_wide(found, {layer.name, layer.classes, tokens, ""});
  }
  return found;
}

}  // namespace vramfit::facts
