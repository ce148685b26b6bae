#include "ingest/text/training_line.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "ingest/text/cursor.h"
#include "ingest/text/memory_label.h"
#include "ingest/text/printed_size.h"
#include "model/number_text.h"

namespace vramfit::ingest {
namespace {

using model::PrintedBytes;
using model::TrainingLogPoint;

std::optional<PrintedBytes> size(std::string_view text, std::string_view label, std::int64_t unit = 0) {
  return size_after(text, label, Rounding::kNearest, unit);
}

// ---- where in the training ------------------------------------------------------------------------------------------

// "Epoch [3][50/120]", "Epoch(train) [3][50/120]", "Epoch: [3]  [ 50/120]", "iteration 50/ 1000", "step: 10", "'epoch':
// 0.5"
void read_place(std::string_view text, TrainingLogPoint& point) {
  for (const std::string_view label :
       {"epoch\": ", "'epoch': ", "Epoch(train)", "Epoch(val)", "Epoch:", "Epoch ", "epoch: ", "epoch=", "epoch ["}) {
    const std::size_t at = text.find(label);
    if (at == kNowhere) continue;
    Cursor cursor(text.substr(at + label.size()));
    cursor.take_while([](char letter) { return is_blank(letter) || letter == '['; });
    if (const auto epoch = cursor.take_number(); epoch && *epoch >= 0) {
      point.epoch = *epoch;
      break;
    }
  }
  // "[  50/120]" and "iteration  50/  1000"
  for (std::size_t slash = text.find('/'); slash != kNowhere; slash = text.find('/', slash + 1)) {
    std::size_t begin = slash;
    while (begin > 0 && is_blank(text[begin - 1])) --begin;
    const std::size_t end_of_number = begin;
    while (begin > 0 && is_digit(text[begin - 1])) --begin;
    Cursor behind(text.substr(slash + 1));
    behind.skip_blanks();
    const auto step = to_integer(text.substr(begin, end_of_number - begin));
    const auto total = behind.take_integer();
    std::size_t before = begin;
    while (before > 0 && is_blank(text[before - 1])) --before;
    const bool bracket = before > 0 && (text[before - 1] == '[' || text[before - 1] == '|' || text[before - 1] == ':');
    const bool named = text.substr(0, before).ends_with("iteration") || text.substr(0, before).ends_with("step") ||
                       text.substr(0, before).ends_with("Step");
    if (step && total && *step <= *total && (bracket || named)) {
      point.step = step;
      point.steps_total = total;
      break;
    }
  }
  if (!point.step) {
    for (const std::string_view label : {"step: ", "step=", "Step ", "step ", "iter: ", "Iter ", "iteration ",
                                         "'step': ", "\"step\": ", "global_step"}) {
      if (const auto step = integer_after(text, label); step && *step >= 0) {
        point.step = step;
        break;
      }
    }
  }
}

void read_phase(std::string_view text, TrainingLogPoint& point) {
  if (contains_ignoring_case(text, "epoch(val)") || contains_ignoring_case(text, "validat") ||
      contains_ignoring_case(text, "eval"))
    point.phase = model::phase::kValidate;
  else if (contains_ignoring_case(text, "epoch(test)") || contains_ignoring_case(text, "test:"))
    point.phase = model::phase::kTest;
  else if (contains_ignoring_case(text, "epoch(train)") || contains_ignoring_case(text, "train"))
    point.phase = model::phase::kTrain;
}

// ---- one program each -----------------------------------------------------------------------------------------------

//   MA 4.96 GB         Max_MA 5.09 GB         CA 6.39 GB         Max_CA 6 GB
bool deepspeed(std::string_view text, TrainingLogPoint& point) {
  if (!text.contains("Max_MA")) {
    // "CPU Virtual Memory:  used = 50.5 GB, percent = 40.2%"
    if (!text.contains("CPU Virtual Memory")) return false;
    point.host = size(text, "used");
    point.host_percent = number_after(text, "percent");
    return point.host.has_value();
  }
  point.allocated = size(text, "MA ");
  point.max_allocated = size(text, "Max_MA ");
  point.reserved = size(text, " CA ");
  point.max_reserved = size(text, "Max_CA ");
  if (point.max_reserved) {  // printed as a whole number of GB, rounded
    point.max_reserved = size_after(text, "Max_CA ", Rounding::kUnknown);
  }
  return point.allocated.has_value();
}

// DeepSpeed's older lines and its throughput line: "MemAllocated=17.94GB, MaxMemAllocated=54.06GB"
bool deepspeed_timer(std::string_view text, TrainingLogPoint& point) {
  if (!text.contains("MemAllocated=")) return false;
  point.allocated = size(text, "MemAllocated=");
  point.max_allocated = size(text, "MaxMemAllocated=");
  return point.max_allocated || point.allocated;
}

// "[Rank 0] (after 1 iterations) memory (MB) | allocated: 18548.8 | max allocated: 22083.2 | reserved: ... | max
// reserved: ..."
bool megatron(std::string_view text, TrainingLogPoint& point) {
  if (!text.contains("memory (MB)")) return false;
  point.allocated = size(text, "| allocated:", kMib);
  point.max_allocated = size(text, "max allocated:", kMib);
  point.reserved = size(text, "| reserved:", kMib);
  point.max_reserved = size(text, "max reserved:", kMib);
  if (const auto step = integer_after(text, "(after ")) point.step = step;
  return point.allocated.has_value();
}

// OpenMMLab: "Epoch(train) [1][50/120]  lr: 1e-3  eta: 0:10  time: 0.5  data_time: 0.1  memory: 7123  loss: 0.3", in MB
bool openmmlab(std::string_view text, TrainingLogPoint& point) {
  const std::size_t at = text.find("memory: ");
  if (at == kNowhere || !(text.contains("data_time") || text.contains("eta:") || text.contains("lr:"))) return false;
  Cursor cursor(text.substr(at + 8));
  const auto count = cursor.take_integer();
  if (!count || *count < 0 || cursor.peek() == '.') return false;
  point.max_allocated = size_after(text, "memory: ", Rounding::kUnknown, kMib);
  return point.max_allocated.has_value();
}

// torchtitan: "step: 10  loss: 7.1  memory: 24.55GiB(51.80%)  tps: 7,000"; max reserved
bool torchtitan(std::string_view text, TrainingLogPoint& point) {
  if (!text.contains("memory:") || !text.contains("GiB(")) return false;
  point.max_reserved = size(text, "memory:");
  return point.max_reserved.has_value();
}

// Detectron2: "iter: 19  total_loss: ...  max_mem: 7123M". torchvision's references: "max mem: 7123"
bool detectron(std::string_view text, TrainingLogPoint& point) {
  for (const std::string_view label : {"max_mem:", "max mem:"}) {
    if (!text.contains(label)) continue;
    point.max_allocated = size_after(text, label, Rounding::kUnknown, kMib);
    return point.max_allocated.has_value();
  }
  return false;
}

// Ultralytics: "      1/100      7.26G      1.234  ...  640:  10%|..", its column named GPU_mem on a line before.
bool ultralytics(std::string_view text, TrainingLogPoint& point) {
  Cursor cursor(trim(text));
  const auto epoch = cursor.take_integer();
  if (!epoch || *epoch < 0 || !cursor.take("/")) return false;
  const auto total = cursor.take_integer();
  cursor.skip_blanks();
  const auto reserved = parse_size(cursor.rest(), Rounding::kNearest);
  if (!total || *epoch > *total || !reserved || !cursor.rest().substr(0, reserved->length).ends_with('G')) return false;
  point.epoch = static_cast<double>(*epoch);
  point.reserved = reserved->bytes;
  return true;
}

// Hugging Face's Trainer with skip_memory_metrics=False: "train_mem_gpu_peaked_delta = 123MB",
// "'init_mem_gpu_alloc_delta': 12345"
bool huggingface(std::string_view text, TrainingLogPoint& point) {
  const std::size_t at = text.find("_mem_gpu_");
  if (at == kNowhere) return false;
  std::size_t begin = at;
  while (begin > 0 && is_word(text[begin - 1])) --begin;
  Cursor cursor(text.substr(begin));
  const std::string_view key = cursor.take_while(is_word);
  point.label = std::string(key);
  const auto bytes = size_after(text.substr(begin), key, Rounding::kUnknown, 1);
  (key.contains("peaked") ? point.max_allocated : point.allocated) = bytes;
  return bytes.has_value();
}

bool is_of_training(std::string_view text) { return contains_any(text, {"loss", "step", "epoch", "iter"}); }

// axolotl and others: "memory/max_mem_active(gib)=12.3", "memory/device_mem_reserved(gib)",
// "[GPU memory usage while training: 7.2GB (+1.1GB cache, ...)"
bool others(std::string_view text, TrainingLogPoint& point) {
  const auto gib = [&](std::string_view label) {
    const std::size_t at = text.find(label);
    if (at == kNowhere) return std::optional<PrintedBytes>();
    const std::size_t close = text.find_first_of(":=", at);
    return close == kNowhere ? std::nullopt
                             : size_after(text.substr(close), text.substr(close, 1), Rounding::kNearest, kGib);
  };
  point.max_allocated = gib("memory/max_mem_allocated(gib)");
  if (!point.max_allocated) point.max_allocated = gib("memory/max_allocated");
  point.allocated = gib("memory/allocated");
  point.max_reserved = gib("memory/device_mem_reserved(gib)");
  if (const auto usage = size(text, "GPU memory usage while training:")) point.allocated = usage;
  return point.max_allocated || point.max_reserved || point.allocated;
}

// What scripts print by themselves, and programs that nobody here knows.
bool own_lines(std::string_view text, TrainingLogPoint& point) {
  for (const LabelledMemory& found : find_labelled_memory(text)) {
    // A word as short as "mem" means the card's memory only beside a loss or a place in the training.
    if (!found.kind.is_of_card && !is_of_training(text)) continue;
    take_reading(found, point);
  }
  return point.allocated || point.max_allocated || point.reserved || point.max_reserved || point.free || point.memory ||
         point.used_percent || point.max_used_percent;
}

struct Program {
  std::string_view source;
  bool (*read)(std::string_view, TrainingLogPoint&);
};
constexpr std::array<Program, 10> kPrograms{{{"deepspeed", deepspeed},
                                             {"deepspeed", deepspeed_timer},
                                             {"megatron", megatron},
                                             {"mm", openmmlab},
                                             {"torchtitan", torchtitan},
                                             {"detectron", detectron},
                                             {"ultralytics", ultralytics},
                                             {"huggingface", huggingface},
                                             {"other", others},
                                             {"other", own_lines}}};

}  // namespace

std::optional<TrainingLogPoint> find_memory(std::string_view text) {
  // Out-of-memory messages and tables have readers of their own.
  if (contains_ignoring_case(text, "tried to allocate") || text.contains("by PyTorch") || text.starts_with('|') ||
      text.contains("alreadyallocated"))
    return std::nullopt;
  for (const Program& program : kPrograms) {
    TrainingLogPoint point;
    if (!program.read(text, point)) continue;
    point.source = std::string(program.source);
    return point;
  }
  return std::nullopt;
}

namespace {

void take_share(const LabelledMemory& found, TrainingLogPoint& point) {
  std::optional<double>& field = found.kind.is_peak ? point.max_used_percent : point.used_percent;
  if (field) return;
  field = found.kind.is_free ? 100 - *found.percent : *found.percent;
  if (point.label.empty()) point.label = found.label;
}

}  // namespace

void take_reading(const LabelledMemory& found, TrainingLogPoint& point) {
  if (found.percent) {
    take_share(found, point);
    return;
  }
  std::optional<PrintedBytes>& field =
      found.kind.is_free        ? point.free
      : found.kind.is_allocated ? (found.kind.is_peak ? point.max_allocated : point.allocated)
      : found.kind.is_reserved  ? (found.kind.is_peak ? point.max_reserved : point.reserved)
      : found.kind.is_peak      ? point.max_allocated
                                : point.memory;
  if (field) return;
  field = found.bytes;
  if (point.label.empty()) point.label = found.label;
}

void find_whereabouts(std::string_view text, TrainingLogPoint& point) {
  if (!point.epoch && !point.step) read_place(text, point);
  read_phase(text, point);
}

}  // namespace vramfit::ingest
