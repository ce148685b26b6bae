#include "plan/search/candidate.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>

#include "devices/time_model.h"
#include "plan/forecast_bounds.h"
#include "plan/measured_shares.h"

namespace vramfit::plan {
namespace {

constexpr double kCostPerChange = 0.02;
// The space is cut beyond this: the strongest levels of each axis stay, which keeps "nothing fits" provable.
constexpr std::size_t kMostCandidates = 60000;
constexpr std::size_t kMostLevels = 255;  // a level is one byte

constexpr double kTooSlow = 2;

constexpr std::string_view kChunkedLoss = "chunked_loss";

// Only lost time counts: a change that the job does not need is not better because it makes the job faster.
double cost(const Candidate& candidate) {
  return std::max(1.0, candidate.time_factor) * (1 + kCostPerChange * (candidate.changes - candidate.mends));
}

// The faster of two plans that cost no time is better. But where a smaller network or smaller inputs make it fast, a
// faster plan is further from what was to be trained.
double distance_by_time(const Candidate& candidate) {
  const bool computes_less = candidate.effect == Effect::kInput || candidate.effect == Effect::kNetwork;
  return computes_less ? -std::min(1.0, candidate.time_factor) : candidate.time_factor;
}

Forecast forecast_levels(const model::Job& job, const Target& target, const std::vector<Axis>& axes,
                         const std::vector<std::uint8_t>& levels) {
  Forecast forecast = start_forecast(job);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (levels[i] == 0) continue;
    axes[i].technique->predict(job, target, axes[i].options[levels[i] - 1], forecast);
  }
  return forecast;
}

bool is_loss_whole(const model::Job& job, const Forecast& forecast) {
  if (!forecast.chunks_loss || !job.wide_loss) return false;
  return scaled(job.wide_loss->bytes, forecast.training_batch) <= forecast.loss_chunk;
}

// The recorded run whose allocations a forecast changes: the job's own, or that with one technique applied alone.
Forecast forecast_begun(const model::Job& job, const Target& target, const std::vector<Axis>& axes,
                        const std::vector<std::uint8_t>& levels, const Forecast& forecast) {
  std::vector<std::uint8_t> alone(axes.size(), 0);
  const std::string_view run = find_best_run(forecast);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (levels[i] == 0) continue;
    const model::Change& change = axes[i].options[levels[i] - 1];
    if (is_measured_by(run, change.technique)) alone[i] = levels[i];
  }
  return forecast_levels(job, target, axes, alone);
}

struct Foretold {
  Forecast forecast, begun;
};

Foretold foretell(const model::Job& job, const Target& target, const std::vector<Axis>& axes,
                  const std::vector<std::uint8_t>& levels) {
  Forecast forecast = forecast_levels(job, target, axes, levels);
  Forecast begun = forecast_begun(job, target, axes, levels, forecast);
  return {std::move(forecast), std::move(begun)};
}

// Whether a run with this change alone would tell what it does to memory, and there was no such run, or it was of
// another option of the technique, whose shares are all that is known of this one.
bool is_unmeasured(const model::Job& job, const Target& target, const Technique& technique,
                   const model::Change& change) {
  if (technique.find_all_measurable(job, target).empty()) return false;
  const bool was_run =
      std::ranges::any_of(job.streams, [&](const auto& each) { return is_measured_by(each.first, change.technique); });
  if (!was_run) return true;
  Forecast alone = start_forecast(job);
  technique.predict(job, target, change, alone);
  return find_best_run(alone).empty();
}

bool lacks_witness(const model::Job& job, const Target& target, const Technique& technique) {
  const Technique* witness = technique.find_witness(job, target);
  return witness != nullptr && !job.streams.contains(measured_key(witness->find_measurable(job, target).value()));
}

// How a candidate is foretold that is played.
MadeBy find_way(const model::Job& job, const Target& target, const std::vector<Axis>& axes,
                const std::vector<std::uint8_t>& levels) {
  std::size_t changes = 0;
  OwnRuns runs;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (levels[i] == 0) continue;
    const model::Change& change = axes[i].options[levels[i] - 1];
    ++changes;
    runs.missed_lives += lacks_witness(job, target, *axes[i].technique) ? 1 : 0;
    if (!is_unmeasured(job, target, *axes[i].technique, change)) {
      runs.made += job.streams.contains(measured_key(change)) ? 1 : 0;
      continue;
    }
    ++(axes[i].technique->is_foretold_unmeasured() ? runs.missed_lives : runs.missed_sizes);
  }
  return played_by(changes, runs);
}

// Whether nothing that the plan does makes any moment hold more.
bool only_lets_go(const std::vector<Axis>& axes, const std::vector<std::uint8_t>& levels) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (levels[i] > 0 && !axes[i].technique->only_lets_go()) return false;
  }
  return true;
}

// With batches so small that the loss is a single chunk, training computes it as it would without the technique.
// Evaluations do not: their batches are whole.
std::optional<Foretold> foretell_whole_loss(const model::Job& job, const Target& target, const std::vector<Axis>& axes,
                                            std::vector<std::uint8_t> levels) {
  if (!is_loss_whole(job, forecast_levels(job, target, axes, levels))) return std::nullopt;
  std::string_view chunked;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (levels[i] == 0 || axes[i].technique->id() != kChunkedLoss) continue;
    const auto stream = job.streams.find(measured_key(axes[i].options[levels[i] - 1]));
    if (stream == job.streams.end()) return std::nullopt;
    chunked = stream->first;
    levels[i] = 0;
  }
  Foretold foretold = foretell(job, target, axes, levels);
  foretold.forecast.evaluated_with = chunked;
  return foretold;
}

// Walks the product of all axes, the last one fastest, and carries the forecast along: what the first axes change is
// predicted once for all combinations of the others.
class Enumeration {
 public:
  Enumeration(const model::Job& job, const Target& target, const std::vector<Axis>& axes)
      : job_(job), target_(target), axes_(axes), levels_(axes.size(), 0) {}

  std::vector<Candidate> run() && {
    extend(0, 0, start_forecast(job_));
    return std::move(candidates_);
  }

 private:
  void extend(std::size_t axis, int changes, const Forecast& forecast) {
    if (axis == axes_.size()) {
      if (changes > 0) add(changes, forecast);
      return;
    }
    extend(axis + 1, changes, forecast);
    if (is_slot_taken(axis)) return;
    for (std::size_t level = 1; level <= axes_[axis].options.size(); ++level) {
      levels_[axis] = static_cast<std::uint8_t>(level);
      Forecast further = forecast;
      axes_[axis].technique->predict(job_, target_, axes_[axis].options[level - 1], further);
      extend(axis + 1, changes + 1, further);
    }
    levels_[axis] = 0;
  }

  bool is_slot_taken(std::size_t axis) const {
    for (std::size_t i = 0; i < axis; ++i) {
      if (levels_[i] > 0 && axes_[i].technique->slot() == axes_[axis].technique->slot()) return true;
    }
    return false;
  }

  void add(int changes, const Forecast& forecast) {
    if (tier_of(forecast.effect) > target_.accept) return;
    Candidate candidate;
    candidate.levels = levels_;
    candidate.needs = add_up(job_, forecast).needs;
    candidate.effect = forecast.effect;
    candidate.time_factor = time_factor_of(job_, target_, forecast);
    if (target_.max_slowdown && candidate.time_factor > *target_.max_slowdown) return;
    candidate.uncertainty = forecast.uncertainty;
    candidate.changes = changes;
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
      candidate.mends += levels_[axis] > 0 && axes_[axis].technique->mends_cause(job_) ? 1 : 0;
    }
    candidates_.push_back(std::move(candidate));
  }

  const model::Job& job_;
  const Target& target_;
  const std::vector<Axis>& axes_;
  std::vector<std::uint8_t> levels_;
  std::vector<Candidate> candidates_;
};

// Drops every other option of the longest axis until the space is small enough; the strongest stays.
std::vector<Axis> thin_out(std::vector<Axis> axes) {
  const auto count = [&] {
    std::size_t product = 1;
    for (const Axis& axis : axes) product *= axis.options.size() + 1;
    return product;
  };
  const auto longest = [&]() -> std::vector<model::Change>& {
    return std::ranges::max_element(axes, {}, [](const Axis& axis) { return axis.options.size(); })->options;
  };
  while (count() > kMostCandidates || (!axes.empty() && longest().size() > kMostLevels)) {
    auto& options = longest();
    if (options.size() <= 1) break;
    std::vector<model::Change> kept;
    for (std::size_t i = options.size() % 2 == 0 ? 1 : 0; i < options.size(); i += 2) kept.push_back(options[i]);
    options = std::move(kept);
  }
  return axes;
}

std::optional<Outlook> play_with(UnknownEnd unknown_end, const model::Job& job, const Target& target,
                                 const std::vector<Axis>& axes, const Candidate& candidate,
                                 const StreamPlayer& player) {
  std::optional<Outlook> outlook;
  if (auto whole = foretell_whole_loss(job, target, axes, candidate.levels)) {
    whole->forecast.unknown_end = unknown_end;
    outlook = player.play(whole->forecast, whole->begun);
  }
  Foretold foretold = foretell(job, target, axes, candidate.levels);
  foretold.forecast.unknown_end = unknown_end;
  if (!outlook) outlook = player.play(foretold.forecast, foretold.begun);
  if (!outlook) return outlook;
  outlook->made_by = find_way(job, target, axes, candidate.levels);
  const Bytes own = player.as_recorded() + job.overhead;
  keep_within_bounds(job, foretold.forecast, only_lets_go(axes, candidate.levels), own, *outlook);
  return outlook;
}

// Plays the same with all blocks gone at once, and with all of them as they were, where nothing tells when they go.
void tell_how_far_off(const model::Job& job, const Target& target, const std::vector<Axis>& axes,
                      const Candidate& candidate, const StreamPlayer& player, Outlook& outlook) {
  const Foretold foretold = foretell(job, target, axes, candidate.levels);
  if (foretold.forecast.evaluation_graph >= foretold.begun.evaluation_graph) return;
  const auto at = [&](UnknownEnd unknown_end) -> std::optional<Need> {
    const auto found = play_with(unknown_end, job, target, axes, candidate, player);
    return found ? std::optional(Need{found->needs, found->uses}) : std::nullopt;
  };
  outlook.at_least = at(UnknownEnd::kGoesAtOnce);
  outlook.at_most = at(UnknownEnd::kStays);
}

}  // namespace

Rank rank_of(Effect effect, double time_factor) {
  const bool is_slow = time_factor > kTooSlow;
  switch (tier_of(effect)) {
    case Tier::kEqual:
      return is_slow ? Rank::kSlow : Rank::kEqual;
    case Tier::kRounding:
      return is_slow ? Rank::kSlow : Rank::kRounding;
    case Tier::kPrecision:
      if (effect == Effect::kUpdates) return is_slow ? Rank::kSlowUpdates : Rank::kUpdates;
      return is_slow ? Rank::kSlow : Rank::kPrecision;
    case Tier::kStatistics:
      return is_slow ? Rank::kSlow : Rank::kStatistics;
    case Tier::kAnother:
      break;
  }
  return Rank::kAnother;
}

double time_factor_of(const model::Job& job, const Target& target, const Forecast& forecast) {
  const double now = devices::estimate_step_seconds(target.card, job.work);
  return now > 0 ? devices::estimate_step_seconds(target.card, find_work(forecast)) / now : 1;
}

std::vector<Axis> build_axes(const model::Job& job, const Target& target,
                             std::span<const Technique* const> techniques) {
  std::vector<Axis> axes;
  for (const Technique* technique : techniques) {
    if (find_applicability(*technique, job, target).standing != Standing::kApplicable) continue;
    Axis axis{technique, technique->options(job, target)};
    if (!axis.options.empty()) axes.push_back(std::move(axis));
  }
  return thin_out(std::move(axes));
}

std::vector<Candidate> build_candidates(const model::Job& job, const Target& target, const std::vector<Axis>& axes) {
  std::vector<Candidate> candidates = Enumeration(job, target, axes).run();
  std::ranges::sort(candidates, Cheaper(target.goal));
  return candidates;
}

bool Cheaper::operator()(const Candidate& left, const Candidate& right) const {
  const auto by_training = [](const Candidate& c) {
    return std::tuple(rank_of(c), cost(c), c.changes, c.effect, distance_by_time(c), c.needs);
  };
  if (goal_ == Goal::kMinTime) {
    const auto by_time = [](const Candidate& c) {
      return c.time_factor * (1 + kCostPerChange * (c.changes - c.mends));
    };
    if (by_time(left) != by_time(right)) return by_time(left) < by_time(right);
  }
  if (goal_ == Goal::kMinMemory && left.needs != right.needs) return left.needs < right.needs;
  const auto left_key = by_training(left), right_key = by_training(right);
  return left_key != right_key ? left_key < right_key : left.levels < right.levels;
}

double gain_of(const Candidate& cheaper, const Candidate& other) {
  const bool differs_in_time = cheaper.effect == other.effect && tier_of(cheaper.effect) <= Tier::kPrecision;
  if (!differs_in_time || rank_of(cheaper) != rank_of(other)) return std::numeric_limits<double>::infinity();
  return cost(other) / cost(cheaper) - 1;
}

bool is_at_most(const Candidate& weaker, const Candidate& stronger) {
  return std::ranges::equal(weaker.levels, stronger.levels, std::ranges::less_equal());
}

std::vector<bool> find_axes_of(const model::Job& job, const Target& target, const std::vector<Axis>& axes,
                               std::string_view phase) {
  const auto moments_of = [&](const Forecast& forecast) {
    std::vector<model::StagePeak> moments;
    std::ranges::copy_if(forecast.stage_peaks, std::back_inserter(moments),
                         [&](const model::StagePeak& moment) { return moment.phase == phase; });
    return moments;
  };
  const Forecast now = start_forecast(job);
  const auto before = moments_of(now);
  std::vector<bool> found(axes.size(), before.empty());
  for (std::size_t axis = 0; axis < axes.size() && !before.empty(); ++axis) {
    found[axis] = std::ranges::any_of(axes[axis].options, [&](const model::Change& change) {
      Forecast forecast = now;
      axes[axis].technique->predict(job, target, change, forecast);
      // What is worked out after the moments.
      const bool is_everywhere = forecast.cache_scale != now.cache_scale || forecast.recomputed != now.recomputed ||
                                 forecast.offloaded != now.offloaded || forecast.weight_share != now.weight_share ||
                                 forecast.parameter_share != now.parameter_share;
      return is_everywhere || moments_of(forecast) != before;
    });
  }
  return found;
}

bool is_at_most_on(const std::vector<bool>& axes, const Candidate& weaker, const Candidate& stronger) {
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    if (axes[axis] && weaker.levels[axis] > stronger.levels[axis]) return false;
  }
  return true;
}

Explained explain(const model::Job& job, const Target& target, const std::vector<Axis>& axes,
                  const Candidate& candidate, const StreamPlayer* player) {
  Explained explained;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (candidate.levels[i] == 0) continue;
    const model::Change& change = axes[i].options[candidate.levels[i] - 1];
    explained.plan.changes.push_back(change);
    if (!explained.plan.name.empty()) explained.plan.name += ", ";
    explained.plan.name += axes[i].technique->describe(change);
  }
  Forecast forecast = forecast_levels(job, target, axes, candidate.levels);
  auto played = player != nullptr ? play(job, target, axes, candidate, *player) : std::nullopt;
  if (played) {
    tell_how_far_off(job, target, axes, candidate, *player, *played);
  } else {
    played = add_up(job, forecast);
    const Bytes own = add_up(job, start_forecast(job)).uses;
    keep_within_bounds(job, forecast, only_lets_go(axes, candidate.levels), own, *played);
  }
  explained.outlook = *std::move(played);
  explained.effect = forecast.effect;
  explained.time_factor = time_factor_of(job, target, forecast);
  explained.consequences = std::move(forecast.consequences);
  return explained;
}

std::optional<std::vector<Life>> foretell_lives(const model::Job& job, const Target& target,
                                                const std::vector<Axis>& axes, const Candidate& candidate,
                                                const StreamPlayer& player) {
  if (const auto whole = foretell_whole_loss(job, target, axes, candidate.levels)) {
    if (auto lives = player.find_lives(whole->forecast, whole->begun)) return lives;
  }
  const Foretold foretold = foretell(job, target, axes, candidate.levels);
  return player.find_lives(foretold.forecast, foretold.begun);
}

std::optional<Outlook> play(const model::Job& job, const Target& target, const std::vector<Axis>& axes,
                            const Candidate& candidate, const StreamPlayer& player) {
  return play_with(UnknownEnd::kGuessed, job, target, axes, candidate, player);
}

}  // namespace vramfit::plan
