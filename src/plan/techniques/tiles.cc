// Large images in tiles, in evaluation: a network's early layers, which hold most of the memory and reach a few pixels,
// tile by tile and sample by sample (python/vramfit/apply/tiles.py). Outputs are the same but for the order of sums.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "plan/evaluation.h"
#include "plan/measured_shares.h"
#include "plan/techniques/registry.h"

namespace vramfit::plan {
namespace {

// Tiles along each side of an image. The margins are too large a part of smaller ones: 8 a side were seen to free no
// more.
constexpr std::array<std::int64_t, 2> kPerSide = {2, 4};
// Each count has a run of its own: layers whose tiles would need a wide margin stay whole, and which these are depends
// on the count. This one is run first; where there was no time for twice as large tiles, they leave so much beside it.
constexpr std::int64_t kFirstRun = 4;
constexpr double kLargerTiles = 1.3;
constexpr double kShareInTiles = 0.5;
// What margins are computed twice, with tiles of no less than a few dozen pixels.
constexpr double kMargins = 1.35;
constexpr std::int64_t kSmallestSide = 256;  // of an image

std::int64_t per_side_of(const model::Change& change) {
  return model::find_integer(change, "per_side").value_or(kFirstRun);
}

// The first tensor of a batch decides: N x C x H x W is an image.
std::string find_obstacle(const std::vector<std::int64_t>& shape) {
  if (shape.size() != 4) return fmt::format("a batch of the evaluation has {} dimensions: no images", shape.size());
  if (std::max(shape[2], shape[3]) >= kSmallestSide) return "";
  return fmt::format("images of the evaluation are {} x {}: too small for tiles", shape[2], shape[3]);
}

class Tiles final : public Technique {
 public:
  std::string_view id() const override { return "tiles"; }
  ActsIn acts_in() const override { return ActsIn::kEvaluations; }

  Applicability applies_to(const model::Job& job, const Target& target) const override {
    if (Applicability found = check_evaluation(job, target); found.standing != Standing::kApplicable) return found;
    const model::LoaderFacts* loader = find_evaluation_loader(job);
    if (loader == nullptr || loader->shapes.empty()) return applicable();  // a run tells
    const std::string obstacle = find_obstacle(loader->shapes[0]);
    return obstacle.empty() ? applicable() : not_possible(obstacle);
  }

  std::vector<model::Change> options(const model::Job&, const Target&) const override {
    std::vector<model::Change> changes;
    for (const std::int64_t count : kPerSide) changes.push_back(make_change(count));
    return changes;
  }

  std::vector<model::Change> find_all_measurable(const model::Job& job, const Target& target) const override {
    std::vector<model::Change> changes = options(job, target);
    std::ranges::reverse(changes);
    return changes;
  }

  void predict(const model::Job& job, const Target&, const model::Change& change, Forecast& forecast) const override {
    const std::int64_t count = per_side_of(change);
    const std::string own = measured_key(change);
    const bool is_known = is_measured(job, own);
    const std::string key = is_known ? own : measured_key(make_change(kFirstRun));
    const double beside = is_known || count >= kFirstRun ? 1 : kLargerTiles;
    for (model::StagePeak& moment : forecast.stage_peaks) {
      if (!is_evaluation(moment)) continue;
      const HoldingShares left =
          measured_shares(job, key, moment, {.activations = kShareInTiles, .temporaries = kShareInTiles});
      HoldingShares shares;
      shares.activations = std::min(1.0, left.activations * beside);
      shares.temporaries = std::min(1.0, left.temporaries * beside);
      shares.workspaces = std::min(1.0, left.workspaces);
      scale_holdings(moment.holdings, shares);
    }
    if (is_known) forecast.measured_with = job.measured.find(own)->first;
    forecast.one_sample_at_once = true;
    forecast.uncertainty = std::max(forecast.uncertainty, is_known ? 0.04 : 0.2);
    if (!trains(job)) scale_work(forecast.work, kMargins);
    worsen(forecast, Effect::kSame,
           fmt::format("early layers run on {0} x {0} tiles of each image, margins twice: evaluation takes longer",
                       count));
  }

  std::string describe(const model::Change& change) const override {
    return fmt::format("evaluation in {0} x {0} tiles", per_side_of(change));
  }

 private:
  model::Change make_change(std::int64_t count) const { return {std::string(id()), {{"per_side", count}}}; }
};

}  // namespace

const Technique& tiles() {
  static const Tiles kTechnique;
  return kTechnique;
}

}  // namespace vramfit::plan
