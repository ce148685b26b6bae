#include "plan/search/front.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

namespace vramfit::plan {
namespace {

struct Point {
  const Candidate* candidate = nullptr;
  Tier tier = Tier::kEqual;
  double time = 1;
  Bytes needs;
};

bool takes_no_more(const Point& one, const Point& other) { return one.tier <= other.tier && one.time <= other.time; }

// `points` are in the order of tiers, then of time. The first has to save memory against the job as it is.
std::vector<Point> keep_unbeaten(const std::vector<Point>& points, const Point& as_is, double least_gain) {
  std::vector<Point> kept;
  for (const Point& point : points) {
    const auto beats = [&](const Point& other) {
      return takes_no_more(other, point) && point.needs > scaled(other.needs, 1 - least_gain);
    };
    if (!beats(as_is) && std::ranges::none_of(kept, beats)) kept.push_back(point);
  }
  return kept;
}

// The first and the last point of a tier, and of the others some at equal distances.
std::vector<Point> thin_out_tier(const std::vector<Point>& points, std::size_t most) {
  if (points.size() <= most || most < 2) return points;
  std::vector<Point> kept;
  for (std::size_t i = 0; i < most; ++i) kept.push_back(points[i * (points.size() - 1) / (most - 1)]);
  return kept;
}

void sort_points(std::vector<Point>& points) {
  std::ranges::sort(points, {}, [](const Point& point) {
    return std::tuple(point.tier, point.time, point.needs, point.candidate->changes);
  });
}

}  // namespace

std::vector<Explained> find_front(const model::Job& job, const Target& target, const std::vector<Axis>& axes,
                                  std::span<const Candidate> candidates, const FrontOptions& options) {
  std::vector<Point> points;
  for (const Candidate& candidate : candidates) {
    points.push_back({&candidate, tier_of(candidate.effect), candidate.time_factor, candidate.needs});
  }
  sort_points(points);
  const Point as_is{nullptr, Tier::kEqual, 1, add_up(job, start_forecast(job)).needs};
  std::map<Tier, std::vector<Point>> by_tier;
  for (const Point& point : keep_unbeaten(points, as_is, options.least_gain)) by_tier[point.tier].push_back(point);

  // What is left is played: that may turn an order around.
  const StreamPlayer player(job);
  std::vector<Explained> explained;
  std::vector<Point> played;
  std::map<const Candidate*, std::size_t> places;
  for (const auto& [tier, of_tier] : by_tier) {
    for (Point point : thin_out_tier(of_tier, options.most_of_a_tier)) {
      places[point.candidate] = explained.size();
      explained.push_back(explain(job, target, axes, *point.candidate, &player));
      point.needs = explained.back().outlook.needs;
      played.push_back(point);
    }
  }
  sort_points(played);
  Point as_played = as_is;
  const Forecast now = start_forecast(job);
  if (const auto outlook = player.play(now, now)) as_played.needs = outlook->needs;
  std::vector<Explained> front;
  for (const Point& point : keep_unbeaten(played, as_played, options.least_gain)) {
    front.push_back(std::move(explained[places.at(point.candidate)]));
  }
  return front;
}

}  // namespace vramfit::plan
