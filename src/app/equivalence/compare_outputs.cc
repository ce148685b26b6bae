#include "app/equivalence/compare_outputs.h"

#include <fmt/format.h>

#include "app/equivalence/closeness.h"
#include "app/equivalence/equivalence.h"
#include "app/equivalence/tensor_distance.h"
#include "plan/promise.h"

namespace vramfit::app {

using facts::TrainingRecord;
using model::Equivalence;
using model::Sameness;

namespace {

std::string count_forwards(std::size_t count) { return fmt::format("{} forward{}", count, count == 1 ? "" : "s"); }

std::string why_outputs_tell_nothing(const TrainingRecord& without, const TrainingRecord& with) {
  if (without.outputs.empty()) return "no forward of an evaluation was seen in the job as it is";
  if (with.outputs.empty()) return "no forward of an evaluation was seen with the plan";
  for (const auto& [number, sum] : without.inputs) {
    const auto other = with.inputs.find(number);
    const bool same =
        other != with.inputs.end() && !sum.empty() && !other->second.empty() && is_same_sum(sum[0], other->second[0]);
    if (!same) return "the two evaluations were not given the same numbers";
  }
  if (!find_not_finite(without.outputs).empty()) return "without the plan it puts out values that are not numbers, too";
  if (are_zero(without.outputs)) return "the evaluation puts out zeros: some operator has no values on the CPU";
  return "";
}

std::string words_of(double distance, bool is_precision) {
  if (distance == 0) return "outputs equal";
  if (!is_precision) return fmt::format("outputs equal to rounding ({} at most)", percent(distance));
  return fmt::format("outputs within {}, as rounding to fewer bits leaves them", percent(distance));
}

}  // namespace

Equivalence compare_outputs(const TrainingRecord& without, const TrainingRecord& with, double share) {
  if (const std::string why = why_outputs_tell_nothing(without, with); !why.empty()) return not_compared(why);
  Equivalence found;
  found.checked = true;
  if (const std::string name = find_not_finite(with.outputs); !name.empty()) {
    found.sameness = Sameness::kNotANumber;
    found.text = "evaluates to values that are not numbers: output " + name + ", which is one without the plan";
    found.differences.push_back(found.text);
    return found;
  }
  const TensorDistance distance = measure_distance(without.outputs, with.outputs, {}, share);
  if (distance.looked_at < without.outputs.size() || distance.worst > share) {
    found.sameness = Sameness::kOther;
    found.differences.push_back(distance.looked_at < without.outputs.size()
                                    ? "an output has another shape"
                                    : fmt::format("the output {} differs by {}, where {} was promised", distance.at,
                                                  percent(distance.worst), percent(share)));
    found.text = "evaluates to something else: " + found.differences.front();
    return found;
  }
  const bool is_precision = distance.worst > plan::kRoundingShare;
  found.sameness = distance.worst == 0 ? Sameness::kEqual : is_precision ? Sameness::kPrecision : Sameness::kRounding;
  found.text = fmt::format("evaluates the same: {} compared, {}", count_forwards(without.inputs.size()),
                           words_of(distance.worst, is_precision));
  return found;
}

}  // namespace vramfit::app
