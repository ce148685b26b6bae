#include "app/equivalence/equivalence.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/equivalence/compare_outputs.h"
#include "app/equivalence/compare_training.h"

namespace vramfit::app {

using model::Equivalence;

Equivalence compare_runs(const facts::TrainingRecord& without, const facts::TrainingRecord& with,
                         const plan::Promise& promise) {
  const bool trains = !without.steps.empty();
  if (trains && (promise.outputs == 0 || !promise.meant.empty())) return compare_training(without, with, promise);
  if (!promise.meant.empty()) return not_compared("it is meant to put out something else: " + promise.meant);
  if (!trains && without.outputs.empty()) return not_compared("neither an optimizer step nor an evaluation was seen");
  const double share = std::max({promise.outputs, promise.outputs > 0 ? 0 : promise.share,
                                 plan::rounding_share_of(without.autocast), plan::kRoundingShare});
  Equivalence outputs = compare_outputs(without, with, share);
  if (!trains || is_failed(outputs)) return outputs;
  Equivalence training = compare_training(without, with, promise);
  if (is_failed(training) || !training.checked) return training;
  training.text += "; " + outputs.text;
  training.sameness = std::max(training.sameness, outputs.sameness);
  training.checked = outputs.checked;
  return training;
}

Equivalence not_compared(std::string why) {
  Equivalence none;
  none.text = "not compared: " + std::move(why);
  return none;
}

Equivalence trains_otherwise(std::string_view meant, std::string_view known) {
  return not_compared(fmt::format("it is meant to train otherwise: {}{}", meant, known));
}

}  // namespace vramfit::app
