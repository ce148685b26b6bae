#include "app/floor.h"

#include <fmt/format.h>

#include <algorithm>

namespace vramfit::app {

using base::Bytes;
using base::Result;

namespace {

constexpr Bytes kPlenty = Bytes::gib(1024);

bool ran_to_its_end(const model::RunResult& result) {
  return result.verdict == model::Verdict::kFits ||
         (result.verdict == model::Verdict::kBorderline && result.exit_code == 0);
}

// Cards of one run that need alike: ranks of a job mostly do.
struct Group {
  std::vector<std::size_t> cards;  // of the request
  Bytes peak;                      // on the device
  Bytes least;                     // what it would be if not a byte were cached
};

Group demand_of(const model::DeviceResult& device) {
  const Bytes overhead = device.peaks.device - device.peaks.reserved;
  return {{static_cast<std::size_t>(device.index)}, device.peaks.device, device.peaks.allocated + overhead};
}

bool are_alike(const Group& a, const Group& b, Bytes within) {
  return std::max(a.peak, b.peak) - std::min(a.peak, b.peak) <= within &&
         std::max(a.least, b.least) - std::min(a.least, b.least) <= within;
}

std::vector<Group> group_cards(const model::RunResult& result, std::size_t cards, Bytes within) {
  std::vector<Group> groups;
  for (const model::DeviceResult& device : result.devices) {
    if (device.peaks.device <= device.occupied || static_cast<std::size_t>(device.index) >= cards) continue;
    const Group own = demand_of(device);
    const auto same = std::ranges::find_if(groups, [&](const Group& group) { return are_alike(group, own, within); });
    if (same == groups.end()) {
      groups.push_back(own);
      continue;
    }
    same->cards.push_back(own.cards.front());
    same->peak = std::max(same->peak, own.peak);
    same->least = std::min(same->least, own.least);
  }
  return groups;
}

// The cards of one group get this much, all others plenty.
job::RunRequest with_total(job::RunRequest request, const Group& group, Bytes total) {
  for (std::size_t i = 0; i < request.cards.size(); ++i) {
    request.cards[i].total = std::ranges::find(group.cards, i) != group.cards.end() ? total : kPlenty;
  }
  request.quiet_child = true;
  return request;
}

Result<model::Needs> bisect(job::Runner& runner, const job::RunRequest& request, const Group& group, Bytes resolution,
                            int most_runs, base::ProgressSink& progress) {
  int runs = 0;
  Bytes fails = std::max(Bytes(0), group.least - resolution);
  Bytes works = base::round_up(group.peak, Bytes::mib(2));
  while (works - fails > resolution && runs < most_runs) {
    const Bytes middle = base::round_up(Bytes((works.count() + fails.count()) / 2), Bytes::mib(2));
    if (middle >= works) break;
    progress.update(fmt::format("floor: between {} and {}", to_string(fails), to_string(works)));
    const auto outcome = runner.run(with_total(request, group, middle), progress);
    if (!outcome) return std::unexpected(outcome.error());
    if (outcome->result.interrupted) return base::fail(base::ErrorCode::kInterrupted, "interrupted");
    ++runs;
    (ran_to_its_end(outcome->result) ? works : fails) = middle;
  }
  return model::Needs{works, base::round_up(group.peak, Bytes::mib(2)), works - fails, runs};
}

}  // namespace

Result<std::vector<std::optional<model::Needs>>> find_floor(job::Runner& runner, const job::RunRequest& request,
                                                            const FloorOptions& options, base::ProgressSink& progress) {
  progress.update("floor: a run on a card with plenty of memory");
  const auto free_run = runner.run(with_total(request, {}, kPlenty), progress);
  if (!free_run) return std::unexpected(free_run.error());
  if (!ran_to_its_end(free_run->result)) {
    return base::fail(
        base::ErrorCode::kUnsupported,
        "the job does not run even on a card with 1 TiB, so there is no smallest card: " + free_run->result.reason);
  }
  std::vector<std::optional<model::Needs>> needs(request.cards.size());
  const auto groups = group_cards(free_run->result, request.cards.size(), options.resolution);
  for (const Group& group : groups) {
    const int most_runs = std::max(1, (options.most_runs - 1) / static_cast<int>(groups.size()));
    auto found = bisect(runner, request, group, options.resolution, most_runs, progress);
    if (!found) return std::unexpected(found.error());
    ++found->runs;  // the one with plenty
    for (const std::size_t card : group.cards) needs[card] = *found;
  }
  return needs;
}

}  // namespace vramfit::app
