#include "facts/training_record.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/recording.h"

namespace vramfit::facts {
namespace {

namespace notes = model::notes;

GroupOptions options_of(const std::map<std::string, double, std::less<>>& group) {
  return {group.begin(), group.end()};
}

void add_step(const notes::TrainingStep& note, TrainingRecord& record) {
  TrainingStep step;
  step.optimizer = static_cast<int>(note.optimizer);
  step.number = static_cast<int>(note.step);
  step.samples = note.samples;
  step.data = note.data;
  for (const auto& group : note.options) step.groups.push_back(options_of(group));
  if (note.weights) record.weights[step.optimizer] = *note.weights;
  record.steps.push_back(std::move(step));
}

Tensors* tensors_of(notes::TensorKind kind, TrainingRecord& record) {
  using enum notes::TensorKind;
  switch (kind) {
    case kGradient:
      return &record.gradients;
    case kUpdate:
      return &record.updates;
    case kState:
      return &record.states;
    case kBuffer:
      return &record.buffers;
    case kAverage:
      return &record.averages;
    case kAverageInOrder:
      return &record.averages_in_order;
    case kOutput:
      return &record.outputs;
    case kInput:
      return &record.inputs;
    case kUnread:
      break;
  }
  return nullptr;
}

void add_tensor(const notes::TrainingTensor& note, TrainingRecord& record) {
  if (Tensors* tensors = tensors_of(note.what, record)) (*tensors)[note.index] = note.values;
}

}  // namespace

TrainingRecord read_training_record(std::span<const model::Recording> recordings) {
  TrainingRecord record;
  // A job that failed over them took no step, and tells them all the same.
  for (const model::Recording& recording : recordings) {
    for (const auto& cut : recording.notes.texts_cut) record.texts_kept = cut.kept;
    for (const auto& cut : recording.notes.images_cut) {
      record.images_kept = fmt::format("{} x {}", cut.height, cut.width);
    }
  }
  const auto trains = [](const model::Recording& recording) { return !recording.notes.training_step.empty(); };
  const auto evaluates = [](const model::Recording& recording) { return !recording.notes.training_tensor.empty(); };
  auto first = std::ranges::find_if(recordings, trains);
  if (first == recordings.end()) first = std::ranges::find_if(recordings, evaluates);
  if (first == recordings.end()) return record;
  const model::Notes& notes = first->notes;
  for (const auto& step : notes.training_step) add_step(step, record);
  for (const auto& tensor : notes.training_tensor) add_tensor(tensor, record);
  record.has_ended = !notes.training_end.empty();
  for (const auto& optimizer : notes.optimizer) record.optimizers.push_back(optimizer.class_name);
  for (const auto& precision : notes.precision) {
    if (precision.autocast && !precision.autocast->empty()) record.autocast = *precision.autocast;
  }
  for (const auto& root : notes.root_module) record.has_batch_norm = record.has_batch_norm || root.has_batch_norm;
  for (const auto& effect : notes.plan_effect) record.effects.push_back({effect.id, effect.text, effect.what});
  return record;
}

}  // namespace vramfit::facts
