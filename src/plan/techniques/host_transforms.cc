// Transforms of torchvision and kornia that the script calls with tensors of the card, in host memory instead. Which of
// the card's memory was theirs, a run without them on the card shows.
#include "plan/techniques/another_network.h"
#include "plan/techniques/registry.h"

namespace vramfit::plan {
namespace {

constexpr double kUnknownUncertainty = 0.3;  // where there was no time for a run

class HostTransforms final : public Technique {
 public:
  std::string_view id() const override { return "host_transforms"; }

  Applicability applies_to(const model::Job& job, const Target&) const override {
    if (!job.card_transforms.empty()) return applicable();
    return not_possible("no transform of torchvision or kornia was called with tensors of the card");
  }

  std::vector<model::Change> options(const model::Job&, const Target&) const override {
    return {{std::string(id()), {}}};
  }

  std::optional<model::Change> find_measurable(const model::Job& job, const Target& target) const override {
    return options(job, target).front();
  }

  void predict(const model::Job& job, const Target&, const model::Change& change, Forecast& forecast) const override {
    const model::StepWork work = forecast.work;  // the host's part of it is not known, and it is no less work
    const bool was_run = foretell_by_its_run(job, change, forecast);
    forecast.work = work;
    if (!was_run) {
      forecast.uncertainty = std::max(forecast.uncertainty, kUnknownUncertainty);
    }
    worsen(forecast, Effect::kRounding,
           job.card_transforms.front().name +
               " works on the host, which rounds otherwise; what it draws on the card itself comes from the host's "
               "generator then, in other numbers. How long the host takes for it is not in the time");
  }

  std::string describe(const model::Change&) const override { return "transforms on the host"; }
};

}  // namespace

const Technique& host_transforms() {
  static const HostTransforms kTechnique;
  return kTechnique;
}

}  // namespace vramfit::plan
