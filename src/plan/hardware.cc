#include "plan/hardware.h"

#include <algorithm>
#include <tuple>

#include "devices/overhead.h"
#include "devices/time_model.h"
#include "model/number_text.h"

namespace vramfit::plan {
namespace {

using model::HardwareRow;

constexpr int kLibraries = 2;  // cuBLAS, cuDNN
constexpr int kCounts[] = {1, 2, 4, 8};
constexpr std::size_t kMostRows = 4;
constexpr double kFaster = 0.8;   // a dearer row takes at most so much of the time of those before it
constexpr double kSafety = 0.03;  // of the card, beside the forecast
// A ring all-reduce passes each gradient twice. Between cards of one machine without NVLink: PCIe 4.0 x16, of which
// about 20 GB/s are seen by nccl-tests; with it, a tenth of the card's own bandwidth at least.
constexpr double kPciBytesPerSecond = 20e9;
// Gradients are exchanged bucket by bucket while backward goes on, which is two thirds of a step; the last bucket, of a
// tenth or so (25 MiB by default), has nothing left to hide behind.
constexpr double kBackwardShare = 2.0 / 3, kLastBucket = 0.1;
// PyTorch's DistributedDataParallel keeps gradients a second time in its buckets (gradient_as_bucket_view=False).
constexpr double kBucketShare = 1;

bool is_for_sale(const model::Card& card) {
  return card.price_factor > 0 && !card.is_integrated && card.category != "laptop";
}

double seconds_of_exchange(const model::Job& job, int cards) {
  return 2.0 * (cards - 1) / cards * static_cast<double>(bytes_of_gradients(job).count()) / kPciBytesPerSecond;
}

Bytes overhead_of(const model::Card& card, int cuda_major) {
  devices::OverheadOptions options;
  options.cuda_major = cuda_major;
  const devices::Overhead overhead = devices::find_overhead(card, options);
  return devices::total_of(overhead, kLibraries) + overhead.uncertainty;
}

// The memory that each of several cards holds.
Bytes share_of(const model::Job& job, const Demand& demand, int cards) {
  if (cards == 1) return demand.single;
  Forecast forecast = *demand.forecast;
  scale_batch(forecast, model::phase::kTrain, 1.0 / cards);
  return add_up(job, forecast).needs - job.overhead + scaled(bytes_of_gradients(job), kBucketShare);
}

bool is_divisible(const model::Job& job, int cards) {
  const model::LoaderFacts* loader = model::find_loader(job, model::phase::kTrain);
  return loader != nullptr && loader->batch_size >= cards;
}

double time_on(const model::Job& job, const Target& target, const Demand& demand, const model::Card& card, int cards) {
  const double now = devices::estimate_step_seconds(target.card, job.work);
  if (now <= 0) return demand.time_factor;
  model::StepWork work = job.work;
  if (cards > 1) scale_work(work, 1.0 / cards);
  double seconds = devices::estimate_step_seconds(card, work) * demand.time_factor;
  if (cards > 1) {
    const double exchange = seconds_of_exchange(job, cards);
    seconds += std::max(exchange - kBackwardShare * seconds, kLastBucket * exchange);
  }
  return seconds / now;
}

}  // namespace

std::vector<HardwareRow> find_hardware(const model::Job& job, const Target& target, const Demand& demand,
                                       std::span<const model::Card> catalogue, int cuda_major) {
  std::vector<HardwareRow> rows;
  for (const model::Card& card : catalogue) {
    if (!is_for_sale(card) || (demand.needs_bf16 && card.capability < kFirstWithBf16)) continue;
    for (const int count : kCounts) {
      if (count > 1 && (demand.forecast == nullptr || !is_divisible(job, count))) break;
      const Bytes nccl = count > 1 ? devices::estimate_nccl_channels(card) : Bytes(0);
      const Bytes needs = share_of(job, demand, count) + overhead_of(card, cuda_major) + nccl;
      if (static_cast<double>(needs.count()) > static_cast<double>(card.memory.count()) * (1 - kSafety)) continue;
      const devices::Interval time = devices::interval_between_cards(time_on(job, target, demand, card, count));
      rows.push_back({card.key, card.name, count, demand.has_plan, needs, card.memory, card.price_factor * count,
                      time.value, time.low, time.high, false});
      break;  // more of the same card is dearer, and not asked for
    }
  }
  std::ranges::stable_sort(rows, [](const HardwareRow& a, const HardwareRow& b) {
    return std::tuple(a.price, a.time_factor) < std::tuple(b.price, b.time_factor);
  });
  std::vector<HardwareRow> best;
  for (HardwareRow& row : rows) {
    if (best.size() == kMostRows) break;
    if (!best.empty() && row.time_factor > best.back().time_factor * kFaster) continue;
    best.push_back(std::move(row));
  }
  return best;
}

Bytes bytes_of_gradients(const model::Job& job) {
  Bytes most;
  for (const model::StagePeak& moment : job.stage_peaks) most = std::max(most, moment.holdings.gradients);
  return most;
}

model::Floor find_floor(const model::Job& job) {
  model::Floor floor;
  floor.context = job.overhead;
  for (const model::StagePeak& moment : job.stage_peaks) {
    floor.weights = std::max(floor.weights, moment.holdings.weights + moment.holdings.buffers);
  }
  floor.gradients = bytes_of_gradients(job);
  floor.moved = job.moved;
  floor.weights = std::max(floor.weights - job.moved, job.parameter_bytes);
  if (job.optimizer) {
    floor.optimizer = job.optimizer->state;
    floor.name = job.optimizer->class_name;
    for (const model::StagePeak& moment : job.stage_peaks) {  // of several optimizers: both of a GAN
      floor.optimizer = std::max(floor.optimizer, moment.holdings.optimizer);
    }
  }
  return floor;
}

Demand demand_of(const model::Job& job, const Forecast& forecast) {
  Demand demand;
  demand.single = add_up(job, forecast).needs - job.overhead;
  demand.forecast = &forecast;
  return demand;
}

Demand demand_of(const model::Job&, const model::PlanRow& proven) {
  Demand demand;
  const model::Peaks& peaks = *proven.proven;
  demand.single = peaks.allocated + scaled(peaks.reserved - peaks.allocated, kStuckCache);
  demand.time_factor = proven.time_factor;
  demand.has_plan = true;
  demand.needs_bf16 = std::ranges::any_of(
      proven.plan.changes, [](const model::Change& change) { return model::find_text(change, "dtype") == "bfloat16"; });
  return demand;
}

}  // namespace vramfit::plan
