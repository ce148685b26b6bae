#include "facts/wide_outputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "liveness/owners.h"
#include "model/allocator_sizes.h"
#include "model/recording.h"

namespace vramfit::facts {

using base::Bytes;
using liveness::CardHistory;
using model::Recording;

namespace {

constexpr std::size_t kMostLogitLines = 5;

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
WideOutput output_of(const model::notes::Output& note) {
  WideOutput output;
  if (note.shape.size() < 2) return output;
  std::vector<std::int64_t> shape;
  std::int64_t elements = 1;
  constexpr std::int64_t kMost = std::int64_t{1} << 60;
  for (const std::int64_t size : note.shape) {
    shape.push_back(std::max<std::int64_t>(1, size));
    elements = elements > kMost / shape.back() ? kMost : elements * shape.back();
  }
  output.classes = shape.size() >= 4 ? shape[1] : shape.back();
  if (shape.size() < 4 && output.classes < kManyClasses) return {};
  output.rows = elements / output.classes;
  output.shape = fmt::format("{} [{}]", note.dtype, fmt::join(note.shape, ","));
  return output;
}

// Blocks as large as `rows` x `classes` elements of 2, 4 or 8 bytes; one row a sequence less where labels are shifted.
// A block may be 1 MiB larger than its tensor: PyTorch splits off no less.
struct LogitSizes {
  std::int64_t least, most;
  bool contains(std::int64_t size) const { return size >= least && size < most; }
};

LogitSizes sizes_of(const WideOutput& output, std::int64_t element) {
  constexpr std::int64_t kUnsplit = model::kLeastSplit;
  const std::int64_t whole = output.rows * output.classes * element;
  const bool tokens = output.classes >= 1000;
  return {tokens ? whole - whole / 16 : whole, whole + kUnsplit};
}

model::Logits logits_of(const CardHistory& history, std::span<const Recording> recordings, liveness::EventIndex at,
                        const WideOutput& output) {
  model::Logits logits{history.device, output.module, output.classes, output.rows, output.shape, Bytes(0), 0, 0, {}};
  const LogitSizes of_2 = sizes_of(output, 2), of_4 = sizes_of(output, 4), of_8 = sizes_of(output, 8);
  std::set<std::string> lines;
  for (const liveness::Block& block : history.blocks) {
    if (!block.lives_at(at) || liveness::is_model_state(block)) continue;
    const std::int64_t size = block.size.count();
    if (!of_2.contains(size) && !of_4.contains(size) && !of_8.contains(size)) continue;
    logits.at_peak += block.size;
    ++logits.blocks_at_peak;
    logits.of_4_bytes += of_4.contains(size);
    const std::string_view line = recordings[static_cast<std::size_t>(block.process)].text(block.line);
    if (!line.empty() && lines.size() < kMostLogitLines) lines.emplace(line);
  }
  logits.lines.assign(lines.begin(), lines.end());
  return logits;
}

}  // namespace

std::vector<WideOutput> read_wide_outputs(std::span<const Recording> recordings) {
  std::vector<WideOutput> found;
  std::int64_t tokens = 0;
  for (const Recording& recording : recordings) {
    for (const auto& input : recording.notes.step_input) tokens = std::max(tokens, tokens_in(input.shapes));
    for (const auto& note : recording.notes.output) {
      if (WideOutput output = output_of(note); output.classes > 1) add_wide(found, std::move(output));
    }
  }
  for (const Recording& recording : recordings) {
    for (const auto& layer : recording.notes.wide_layer) add_wide(found, {layer.name, layer.classes, tokens, ""});
  }
  return found;
}

std::vector<model::Logits> find_logits(const CardHistory& history, std::span<const Recording> recordings,
                                       liveness::EventIndex at) {
  std::vector<model::Logits> found;
  for (const WideOutput& output : read_wide_outputs(recordings)) {
    if (output.rows == 0) continue;
    model::Logits logits = logits_of(history, recordings, at, output);
    if (logits.blocks_at_peak > 0) found.push_back(std::move(logits));
  }
  return found;
}

}  // namespace vramfit::facts
