// expandable_segments: PyTorch maps memory page by page, so that free pieces of different segments can serve one
// tensor. Worth a run only when a good part of what PyTorch reserves is not allocated: by the job as it is, or by a
// plan whose own stream breaks the cache up.
#include <algorithm>

#include "plan/techniques/registry.h"

namespace vramfit::plan {
namespace {

constexpr double kWorthwhileShare = 0.08;  // of the card
constexpr double kCacheLeft = 0.25;

// Reserved beyond allocated: at the out-of-memory error where there was one, else where memory was plenty.
Bytes find_slack(const model::Job& job) { return job.oom ? job.oom->reserved - job.oom->allocated : find_cache(job); }

class Allocator final : public Technique {
 public:
  std::string_view id() const override { return "allocator"; }

  Applicability applies_to(const model::Job& job, const Target& target) const override {
    const Bytes slack = find_slack(job);
    // What a plan leaves unused shows when its stream is played, with this setting and without.
    const bool is_played = job.streams.contains("");
    if (!is_played && slack < scaled(target.limit, kWorthwhileShare)) {
      return not_possible("only " + base::to_string(slack) + " of what PyTorch reserved was not allocated");
    }
    return applicable();
  }

  std::vector<model::Change> options(const model::Job&, const Target&) const override {
    return {{std::string(id()), {{"conf", std::string("expandable_segments:True")}}}};
  }

  void predict(const model::Job&, const Target&, const model::Change&, Forecast& forecast) const override {
    forecast.cache_scale *= kCacheLeft;
    forecast.expandable_segments = true;
    forecast.uncertainty = std::max(forecast.uncertainty, 0.05);
  }

  std::string describe(const model::Change&) const override { return "expandable_segments"; }
};

}  // namespace

const Technique& allocator() {
  static const Allocator kTechnique;
  return kTechnique;
}

}  // namespace vramfit::plan
