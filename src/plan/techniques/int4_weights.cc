// Weights in 4 bits, with a scale for each 64 numbers; else as in 8 bits (python/vramfit/apply/int4_weights.py).
#include "plan/techniques/fewer_bits.h"
#include "plan/techniques/registry.h"

namespace vramfit::plan {
namespace {

constexpr double kShareInInt4 = 0.17;  // of fp32 weights: 4 bits and a scale for 64, and layers that stay as they are

class Int4Weights final : public WeightsInFewerBits {
 public:
  std::string_view id() const override { return "int4_weights"; }
  std::string_view slot() const override { return int8_weights().slot(); }

  Applicability applies_to(const model::Job& job, const Target& target) const override {
    return int8_weights().applies_to(job, target);
  }

  std::string describe(const model::Change&) const override { return "4-bit weights"; }

 private:
  double assumed_share() const override { return kShareInInt4; }
  std::string_view consequence() const override {
    return "weights of linear layers, convolutions and embeddings round to 4 bits with a scale for each 64 of them: "
           "accuracy has to be looked at";
  }
};

}  // namespace

const Technique& int4_weights() {
  static const Int4Weights kTechnique;
  return kTechnique;
}

}  // namespace vramfit::plan
