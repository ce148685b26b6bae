// The teacher of a distillation in half precision, weights and forward: it learns nothing, and the student is not
// touched (python/vramfit/apply/half_teacher.py).
#include <fmt/format.h>

#include <algorithm>

#include "model/number_text.h"
#include "plan/measured_shares.h"
#include "plan/techniques/registry.h"

namespace vramfit::plan {
namespace {

constexpr double kWorthHalfTeacher = 0.01;  // of the card: its weights

class HalfTeacher final : public Technique {
 public:
  std::string_view id() const override { return "half_teacher"; }
  ActsIn acts_in() const override { return ActsIn::kTraining; }

  Applicability applies_to(const model::Job& job, const Target& target) const override {
    if (!job.teacher) return not_possible("no training step was seen to call a network that it does not train");
    if (!job.teacher->is_float) return in_force(job.teacher->class_name + " is in half precision already");
    if (target.card.capability < model::ComputeCapability{5, 3}) {
      return not_possible("the card has no half-precision arithmetic");
    }
    if (job.teacher->weights < scaled(target.limit, kWorthHalfTeacher)) {
      return not_possible(fmt::format("weights of the teacher ({}) are {} alone", job.teacher->class_name,
                                      to_string(job.teacher->weights)));
    }
    return applicable();
  }

  std::vector<model::Change> options(const model::Job&, const Target& target) const override {
    const std::string dtype = target.card.capability >= kFirstWithBf16 ? "bfloat16" : "float16";
    return {{std::string(id()), {{"dtype", dtype}}}};
  }

  std::optional<model::Change> find_measurable(const model::Job& job, const Target& target) const override {
    return options(job, target).front();
  }

  void predict(const model::Job& job, const Target&, const model::Change& change, Forecast& forecast) const override {
    const auto measured = job.measured.find(std::string(id()));
    for (model::StagePeak& moment : forecast.stage_peaks) {
      if (moment.phase == model::phase::kLoad) continue;
      const model::StagePeak* before = find_same_stage(job.stage_peaks, moment);
      if (before == nullptr) continue;
      const model::StagePeak* after =
          measured == job.measured.end() ? nullptr : find_same_stage(measured->second, moment);
      if (after == nullptr) {
        const Bytes left = before->holdings.weights - scaled(job.teacher->weights, 0.5);
        moment.holdings.weights =
            scaled(moment.holdings.weights, std::clamp(share_of(left, before->holdings.weights), 0.0, 1.0));
        continue;
      }
      for (auto field : {&model::Holdings::weights, &model::Holdings::activations, &model::Holdings::temporaries}) {
        moment.holdings.*field =
            scaled(moment.holdings.*field, share_of(after->holdings.*field, before->holdings.*field));
      }
    }
    if (measured != job.measured.end()) forecast.measured_with = id();
    forecast.uncertainty = std::max(forecast.uncertainty, measured == job.measured.end() ? 0.1 : 0.04);
    worsen(forecast, Effect::kPrecision,
           fmt::format("what the teacher ({}) puts out rounds to {}; the network that is trained is not touched",
                       job.teacher->class_name,
                       model::find_text(change, "dtype").value_or("bfloat16") == "bfloat16" ? "bf16" : "fp16"));
  }

  std::string describe(const model::Change& change) const override {
    const bool bf16 = model::find_text(change, "dtype").value_or("bfloat16") == "bfloat16";
    return fmt::format("teacher in {}", bf16 ? "bf16" : "fp16");
  }
};

}  // namespace

const Technique& half_teacher() {
  static const HalfTeacher kTechnique;
  return kTechnique;
}

}  // namespace vramfit::plan
