#include "app/floor.h"

#include <fmt/format.h>

#include <algorithm>

namespace vramfit::app {

using base::Bytes;
using base::Result;

namespace {

RunRequest with_total(RunRequest request, Bytes total) {
  for (CardChoice& choice : request.cards) choice.total = total;
  request.quiet_child = true;
  return request;
}

bool ran(const model::RunResult& result) {
  return result.verdict == model::Verdict::kFits ||
         (result.verdict == model::Verdict::kBorderline && result.exit_code == 0);
}

// The device peak of the fullest card, and what it would need if not a byte were cached.
struct Demand {
  Bytes peak, least;
};

Demand demand_of(const model::RunResult& result) {
  Demand demand;
  for (const model::DeviceResult& device : result.devices) {
    demand.peak = std::max(demand.peak, device.peaks.device);
    const Bytes overhead = device.peaks.device - device.peaks.reserved;
    demand.least = std::max(demand.least, device.peaks.allocated + overhead);
  }
  return demand;
}

}  // namespace

Result<std::vector<std::optional<model::Needs>>> find_floor(Runner& runner, const RunRequest& request,
                                                            const FloorOptions& options, base::ProgressSink& progress) {
  constexpr Bytes kPlenty = Bytes::gib(1024);
  progress.update("floor: a run on a card with plenty of memory");
  const auto free_run = runner.run(with_total(request, kPlenty), progress);
  if (!free_run) return std::unexpected(free_run.error());
  if (!ran(free_run->result)) {
    return base::fail(
        base::ErrorCode::kUnsupported,
        "the job does not run even on a card with 1 TiB, so there is no smallest card: " + free_run->result.reason);
  }
  const Demand demand = demand_of(free_run->result);
  int runs = 1;
  Bytes fails = std::max(Bytes(0), demand.least - options.resolution);
  Bytes works = base::round_up(demand.peak, Bytes::mib(2));
  while (works - fails > options.resolution && runs < options.most_runs) {
    const Bytes middle = base::round_up(Bytes((works.count() + fails.count()) / 2), Bytes::mib(2));
    if (middle >= works) break;
    progress.update(fmt::format("floor: between {} and {}", to_string(fails), to_string(works)));
    const auto outcome = runner.run(with_total(request, middle), progress);
    if (!outcome) return std::unexpected(outcome.error());
    if (outcome->result.interrupted) return base::fail(base::ErrorCode::kInterrupted, "interrupted");
    ++runs;
    (ran(outcome->result) ? works : fails) = middle;
  }
  std::vector<std::optional<model::Needs>> needs;
  for (const model::DeviceResult& device : free_run->result.devices) {
    const bool used = device.peaks.device > device.occupied;
    if (used) {
      needs.push_back(model::Needs{works, base::round_up(demand.peak, Bytes::mib(2)), works - fails, runs});
    } else {
      needs.push_back(std::nullopt);
    }
  }
  return needs;
}

}  // namespace vramfit::app
