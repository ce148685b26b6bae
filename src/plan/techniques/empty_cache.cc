// torch.cuda.empty_cache() before evaluation. PyTorch gives its cache back by itself before it reports that memory has
// run out, so this only helps where blocks cached by training stand in the way of evaluation's larger ones.
#include <algorithm>

#include "model/number_text.h"
#include "plan/techniques/registry.h"

namespace vramfit::plan {
namespace {

constexpr double kCacheLeftByEmptying = 0.7;

class EmptyCache final : public Technique {
 public:
  std::string_view id() const override { return "empty_cache"; }

  Applicability applies_to(const model::Job& job, const Target&) const override {
    const model::PhaseFacts* training = model::find_phase(job, model::phase::kTrain);
    const model::PhaseFacts* evaluation = model::find_phase(job, model::phase::kValidate);
    if (training == nullptr || evaluation == nullptr) {
      return not_possible("training and evaluation do not follow each other in this run");
    }
    if (evaluation->peak_reserved <= training->peak_reserved) {
      return not_possible("evaluation reserves no more than training left it");
    }
    return applicable();
  }

  std::vector<model::Change> options(const model::Job&, const Target&) const override {
    return {{std::string(id()), {{"before", std::vector<std::string>{"validate"}}}}};
  }

  bool only_lets_go() const override { return true; }

  void predict(const model::Job&, const Target&, const model::Change&, Forecast& forecast) const override {
    forecast.cache_scale *= kCacheLeftByEmptying;
    forecast.empties_cache = true;
    forecast.uncertainty = std::max(forecast.uncertainty, 0.05);
  }

  std::string describe(const model::Change&) const override { return "empty_cache before evaluation"; }
};

}  // namespace

const Technique& empty_cache() {
  static const EmptyCache kTechnique;
  return kTechnique;
}

}  // namespace vramfit::plan
