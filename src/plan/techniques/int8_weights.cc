// Weights of jobs that only evaluate in 8 bits, a scale for each output channel; one layer's are made numbers at a time
// (python/vramfit/apply/int8_weights.py). Computation stays in the type that it was.
#include <fmt/format.h>

#include "plan/evaluation.h"
#include "plan/techniques/fewer_bits.h"
#include "plan/techniques/registry.h"

namespace vramfit::plan {
namespace {

constexpr double kShareInInt8 = 0.3;  // of fp32 weights: a quarter, and the layers that stay as they are
constexpr double kWorthInt8 = 0.05;   // of what an evaluation needs

class Int8Weights final : public WeightsInFewerBits {
 public:
  std::string_view id() const override { return "int8_weights"; }

  Applicability applies_to(const model::Job& job, const Target& target) const override {
    if (Applicability found = check_evaluation_alone(job, target); found.standing != Standing::kApplicable)
      return found;
    const Bytes needs = evaluation_needs(job);
    if (static_cast<double>(job.parameter_bytes.count()) >= kWorthInt8 * static_cast<double>(needs.count())) {
      return applicable();
    }
    return not_possible(fmt::format("weights are {} of the {} that evaluation needs", to_string(job.parameter_bytes),
                                    to_string(needs)));
  }

  std::string describe(const model::Change&) const override { return "8-bit weights"; }

 private:
  double assumed_share() const override { return kShareInInt8; }
  std::string_view consequence() const override {
    return "weights of linear layers, convolutions and embeddings round to 8 bits with a scale per output channel";
  }
};

}  // namespace

const Technique& int8_weights() {
  static const Int8Weights kTechnique;
  return kTechnique;
}

}  // namespace vramfit::plan
