#include "app/training_record.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "model/note_fields.h"

namespace vramfit::app {
namespace {

using model::flag_of;
using model::integer_of;
using model::list_of;
using model::Note;
using model::text_of;
using nlohmann::json;

double number_of(const json& value) {
  if (value.is_number()) return value.get<double>();
  return std::numeric_limits<double>::quiet_NaN();  // "nan", "inf": JSON has neither
}

double number_in(const json& fields, const char* name) {
  const auto found = fields.find(name);
  return found != fields.end() && found->is_number() ? found->get<double>() : 0;
}

GroupOptions options_of(const json& group) {
  GroupOptions options;
  if (!group.is_object()) return options;
  for (const auto& [name, value] : group.items()) {
    if (value.is_number()) options[name] = value.get<double>();
  }
  return options;
}

void add_step(const json& fields, TrainingRecord& record) {
  TrainingStep step;
  step.optimizer = static_cast<int>(integer_of(fields, "optimizer"));
  step.number = static_cast<int>(integer_of(fields, "step"));
  step.samples = integer_of(fields, "samples");
  step.data = number_in(fields, "data");
  for (const json& group : list_of(fields, "options")) step.groups.push_back(options_of(group));
  const auto weights = fields.find("weights");
  if (weights != fields.end() && weights->is_number()) record.weights[step.optimizer] = weights->get<double>();
  record.steps.push_back(std::move(step));
}

void add_tensor(const json& fields, TrainingRecord& record) {
  const std::string what = text_of(fields, "what");
  Tensors* tensors = what == "gradient"  ? &record.gradients
                     : what == "update"  ? &record.updates
                     : what == "buffer"  ? &record.buffers
                     : what == "average" ? &record.averages
                                         : nullptr;
  if (tensors == nullptr) return;
  std::vector<double>& values = (*tensors)[text_of(fields, "index")];
  values.clear();
  for (const json& value : list_of(fields, "values")) values.push_back(number_of(value));
}

void add_note(const Note& note, TrainingRecord& record) {
  const json& fields = note.fields;
  if (note.kind == "training_step") {
    add_step(fields, record);
  } else if (note.kind == "training_tensor") {
    add_tensor(fields, record);
  } else if (note.kind == "training_end") {
    record.has_ended = true;
  } else if (note.kind == "optimizer") {
    record.optimizers.push_back(text_of(fields, "class"));
  } else if (note.kind == "precision") {
    if (std::string type = text_of(fields, "autocast"); !type.empty()) record.autocast = std::move(type);
  } else if (note.kind == "root_module") {
    record.has_batch_norm = record.has_batch_norm || flag_of(fields, "has_batch_norm");
  } else if (note.kind == "plan_effect") {
    record.effects.push_back({text_of(fields, "id"), text_of(fields, "text")});
  }
}

}  // namespace

TrainingRecord read_training_record(const std::vector<model::Recording>& recordings) {
  const auto trains = [](const model::Recording& recording) {
    return std::ranges::any_of(recording.notes, [](const Note& note) { return note.kind == "training_step"; });
  };
  TrainingRecord record;
  const auto first = std::ranges::find_if(recordings, trains);
  if (first == recordings.end()) return record;
  for (const Note& note : first->notes) add_note(note, record);
  return record;
}

}  // namespace vramfit::app
