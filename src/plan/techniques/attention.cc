// Attention by fused kernels, which keep no scores of queries times keys for backward: where the script has models of
// transformers that attend eagerly, MultiheadAttention that writes out weights which nobody reads, or calls of
// scaled_dot_product_attention in a shape that no fused kernel takes (python/vramfit/apply/attention.py).
#include <fmt/format.h>

#include <algorithm>

#include "plan/measured_shares.h"
#include "plan/techniques/registry.h"

namespace vramfit::plan {
namespace {

constexpr double kWorthScores = 0.02;      // of the card
constexpr double kUnmeasuredScores = 0.2;  // uncertainty where no run shows it

bool can_be_fused(const model::AttentionFacts& attention) {
  const bool is_eager = !attention.eager.empty() && attention.why_not.empty();
  return is_eager || attention.of_sdpa > Bytes(0) || attention.of_multihead > Bytes(0);
}

class Attention final : public Technique {
 public:
  std::string_view id() const override { return "attention"; }

  Applicability applies_to(const model::Job& job, const Target& target) const override {
    if (!job.attention) return not_possible("no training step was seen to hold scores of attention");
    const model::AttentionFacts& attention = *job.attention;
    if (attention.scores == Bytes(0)) {
      return in_force(fmt::format("its attention runs in fused kernels already, which keep nothing of {} of scores",
                                  to_string(attention.spared)));
    }
    if (attention.scores < scaled(target.limit, kWorthScores)) {
      return not_possible(fmt::format("scores that its attention keeps are {} alone", to_string(attention.scores)));
    }
    if (!attention.eager.empty() && !attention.why_not.empty()) return not_possible(attention.why_not);
    if (!can_be_fused(attention)) {
      return not_possible(
          fmt::format("the script's own lines multiply queries and keys, and keep {} of scores in {} softmaxes; "
                      "scaled_dot_product_attention in their place would keep none",
                      to_string(attention.scores), attention.calls));
    }
    return applicable();
  }

  std::vector<model::Change> options(const model::Job&, const Target&) const override {
    return {{std::string(id()), {}}};
  }

  std::optional<model::Change> find_measurable(const model::Job& job, const Target& target) const override {
    return options(job, target).front();
  }

  void predict(const model::Job& job, const Target&, const model::Change&, Forecast& forecast) const override {
    const auto measured = job.measured.find(std::string(id()));
    for (model::StagePeak& moment : forecast.stage_peaks) {
      const model::StagePeak* before = find_same_stage(job.stage_peaks, moment);
      if (before == nullptr) continue;
      const model::StagePeak* after =
          measured == job.measured.end() ? nullptr : find_same_stage(measured->second, moment);
      if (after == nullptr && !holds_graph(moment)) continue;
      const model::Holdings with = after != nullptr ? after->holdings : assume(*job.attention, before->holdings);
      for (auto field : {&model::Holdings::activations, &model::Holdings::temporaries, &model::Holdings::workspaces}) {
        moment.holdings.*field = scaled(moment.holdings.*field, share_of(with.*field, before->holdings.*field));
      }
    }
    if (measured != job.measured.end()) {
      forecast.measured_with = id();
      if (const auto work = job.measured_work.find(measured->first); work != job.measured_work.end()) {
        scale_work_to(work->second, job.work, forecast.work);
      }
    }
    forecast.uncertainty = std::max(forecast.uncertainty, measured == job.measured.end() ? kUnmeasuredScores : 0.04);
    worsen(forecast, Effect::kRounding,
           "attention adds up in another order; where its scores have dropout, that draws other random numbers");
  }

  std::string describe(const model::Change&) const override { return "fused attention"; }

 private:
  static model::Holdings assume(const model::AttentionFacts& attention, model::Holdings holdings) {
    holdings.activations = std::max(holdings.activations - attention.scores, Bytes(0));
    return holdings;
  }
};

}  // namespace

const Technique& attention() {
  static const Attention kTechnique;
  return kTechnique;
}

}  // namespace vramfit::plan
