// What an evaluation gathers goes to the CPU batch by batch, as `.cpu()` at the place of gathering would do. Results
// stay the same; the metric at the end is then worked out on the CPU.
#include <fmt/format.h>

#include <algorithm>

#include "plan/techniques/registry.h"

namespace vramfit::plan {
namespace {

class GatherOnCpu final : public Technique {
 public:
  std::string_view id() const override { return "gather_on_cpu"; }
  ActsIn acts_in() const override { return ActsIn::kEvaluations; }

  Applicability applies_to(const model::Job& job, const Target&) const override {
    if (!job.gathered) return not_possible("no evaluation was seen to gather on the card");
    if (!job.gathered->movable) {
      return not_possible("what evaluation gathers is in no list of the script that could be moved to the CPU");
    }
    return applicable();
  }

  std::vector<model::Change> options(const model::Job&, const Target&) const override {
    return {{std::string(id()), {}}};
  }

  // The pile goes, but for the last batch's share, which lies on the card until the next one comes. What the script
  // makes of it after the last batch (it is concatenated, compared) is then made on the CPU.
  bool only_lets_go() const override { return true; }

  void predict(const model::Job& job, const Target&, const model::Change&, Forecast& forecast) const override {
    for (model::StagePeak& moment : forecast.stage_peaks) {
      moment.holdings.gathered = std::min(moment.holdings.gathered, job.gathered->per_batch);
    }
    forecast.uncertainty = std::max(forecast.uncertainty, 0.15);
    worsen(forecast, Effect::kSame,
           fmt::format("what evaluation gathers, {} by its end, lies in host memory; the metric is worked out there",
                       to_string(sum(*job.gathered))));
  }

  std::string describe(const model::Change&) const override { return "gather on the CPU in evaluation"; }
  // Where the pile is of graphs, no_grad() is what it lacks.
  bool mends_cause(const model::Job& job) const override { return job.gathered && !job.gathered->keeps_graphs; }
};

}  // namespace

const Technique& gather_on_cpu() {
  static const GatherOnCpu kTechnique;
  return kTechnique;
}

}  // namespace vramfit::plan
