#include "app/wide_outputs.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "model/note_fields.h"

namespace vramfit::app {

using model::integer_of;
using model::list_of;
using model::Note;
using model::Recording;
using model::text_of;
using nlohmann::json;

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
WideOutput output_of(const json& fields) {
  std::vector<std::int64_t> shape;
  for (const json& size : list_of(fields, "shape")) {
    if (size.is_number_integer()) shape.push_back(std::max<std::int64_t>(1, size.get<std::int64_t>()));
  }
  WideOutput output;
  if (shape.size() < 2) return output;
  std::int64_t elements = 1;
  for (const std::int64_t size : shape) elements = std::min<std::int64_t>(elements, std::int64_t{1} << 40) * size;
  output.classes = shape.size() >= 4 ? shape[1] : shape.back();
  if (shape.size() < 4 && output.classes < kManyClasses) return {};
  output.rows = elements / output.classes;
  output.shape = text_of(fields, "dtype") + " " + list_of(fields, "shape").dump();
  return output;
}

}  // namespace

std::vector<WideOutput> read_wide_outputs(std::span<const Recording> recordings) {
  std::vector<WideOutput> found;
  std::int64_t tokens = 0;
  for (const Recording& recording : recordings) {
    for (const Note& note : recording.notes) {
      if (note.kind == "step_input") tokens = std::max(tokens, tokens_in(text_of(note.fields, "shapes")));
      if (note.kind == "output") {
        if (WideOutput output = output_of(note.fields); output.classes > 1) add_wide(found, std::move(output));
      }
    }
  }
  for (const Recording& recording : recordings) {
    for (const Note& note : recording.notes) {
      if (note.kind != "wide_layer") continue;
      add_wide(found, {text_of(note.fields, "name"), integer_of(note.fields, "classes"), tokens, ""});
    }
  }
  return found;
}

}  // namespace vramfit::app
