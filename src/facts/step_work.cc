#include "facts/step_work.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "facts/recordings.h"
#include "model/recording.h"

namespace vramfit::facts {
namespace {

// A tensor is written once and read about twice: by the next operator and in backward.
constexpr double kTouchesPerByte = 3;

// cudaMemcpyKind
constexpr int kToCard = 1, kToHost = 2, kWithinCard = 3;
// The share of a step's launches that must be known; with fewer, allocations tell more.
constexpr double kEnoughTold = 0.5;

bool is_multiply_add(const vf_record& record) {
  return record.kind == VF_RECORD_MATMUL || record.kind == VF_RECORD_CONVOLUTION;
}

using model::OperatorWork;

// A step as far as it was seen: sums, and the kernels that they are of.
class StepCount {
 public:
  void add(const vf_record& record);
  // The work, without operators where a product's shape, or what most launches touch, is not known.
  model::StepWork work() const;
  bool is_empty() const { return total_macs(sums_) <= 0 && sums_.other_bytes <= 0; }

 private:
  using Key = std::tuple<OperatorWork::Kind, model::Number, std::uint64_t, std::int64_t, double, double>;

  void add_product(const vf_record& record);
  void add_passes(double bytes, double elements, double launches);

  model::StepWork sums_;
  std::map<Key, OperatorWork> operators_;
  double launches_told_ = 0, bytes_told_ = 0;
  bool has_shapes_ = true;
};

// Records and the model have one number for a type.
static_assert(
    VF_DTYPE_F32 == static_cast<int>(model::Number::kF32) && VF_DTYPE_F64 == static_cast<int>(model::Number::kF64) &&
    VF_DTYPE_F16 == static_cast<int>(model::Number::kF16) && VF_DTYPE_BF16 == static_cast<int>(model::Number::kBf16) &&
    VF_DTYPE_TF32 == static_cast<int>(model::Number::kTf32) && VF_DTYPE_F8 == static_cast<int>(model::Number::kF8) &&
    VF_DTYPE_I8 == static_cast<int>(model::Number::kI8) && VF_DTYPE_OTHER == static_cast<int>(model::Number::kOther) &&
    VF_DTYPE_OTHER + 1 == static_cast<int>(model::kNumberCount));

void StepCount::add_product(const vf_record& record) {
  const auto number = static_cast<std::size_t>(std::clamp<std::int64_t>(record.size, 0, model::kNumberCount - 1));
  const auto macs = static_cast<double>(record.a), bytes = static_cast<double>(record.b);
  sums_.macs[number] += macs;
  sums_.matmul_bytes += bytes;
  if (record.address == 0) {
    has_shapes_ = has_shapes_ && record.a == 0;
    return;
  }
  const auto kind = record.kind == VF_RECORD_MATMUL ? OperatorWork::Kind::kProduct : OperatorWork::Kind::kConvolution;
  OperatorWork& known = operators_[{kind, static_cast<model::Number>(number), record.address, record.a,
                                    static_cast<double>(record.b), 0}];
  if (known.rows > 0) {
    ++known.count;
    return;
  }
  known.kind = kind;
  known.number = static_cast<model::Number>(number);
  known.rows = static_cast<double>(vf_rows_of(record.address));
  known.columns = static_cast<double>(vf_columns_of(record.address));
  known.batch = static_cast<double>(vf_batch_of(record.address));
  known.inner = macs / (known.rows * known.columns * known.batch);
  known.bytes = bytes;
}

void StepCount::add_passes(double bytes, double elements, double launches) {
  const double each = bytes / launches, elements_each = elements / launches;
  OperatorWork& known = operators_[{OperatorWork::Kind::kMemory, model::Number::kOther, 0, 0, each, elements_each}];
  known.count = known.bytes > 0 ? known.count + launches : launches;
  known.bytes = each;
  known.elements = elements_each;
  bytes_told_ += bytes;
}

void StepCount::add(const vf_record& record) {
  const auto size = static_cast<double>(record.size);
  if (is_multiply_add(record)) {
    add_product(record);
  } else if (record.kind == VF_RECORD_BLOCK_ALLOC) {
    sums_.other_bytes += size * kTouchesPerByte;
  } else if (record.kind == VF_RECORD_COPY && record.a == kWithinCard && record.size > 0) {
    add_passes(2 * size, 0, 1);
  } else if (record.kind == VF_RECORD_COPY && (record.a == kToCard || record.a == kToHost)) {
    sums_.host_bytes += size;
  } else if (record.kind == VF_RECORD_LAUNCHES && record.a > 0) {
    const auto launches = static_cast<double>(record.a);
    sums_.launches += launches;
    if (record.stage == VF_STAGE_OPTIMIZER) sums_.optimizer_launches += launches;
    if (record.b <= 0) return;
    launches_told_ += launches;
    add_passes(static_cast<double>(record.b), size, launches);
  }
}

model::StepWork StepCount::work() const {
  model::StepWork work = sums_;
  if (!has_shapes_ || launches_told_ < kEnoughTold * sums_.launches || launches_told_ == 0) return work;
  auto operators = std::make_shared<std::vector<OperatorWork>>();
  for (const auto& entry : operators_) operators->push_back(entry.second);
  work.other_bytes = bytes_told_;
  work.operators = std::move(operators);
  return work;
}

bool is_of_training(const vf_record& record) { return record.phase == VF_PHASE_TRAIN; }
bool is_of_evaluation(const vf_record& record) {
  return record.phase == VF_PHASE_VALIDATE || record.phase == VF_PHASE_TEST;
}

// A card's steps in one recording: of a job that trains its training's, of one that only evaluates a batch each.
struct StepsOfCard {
  StepCount current;
  model::StepWork last;
  bool has_whole = false;

  void add(const vf_record& record) {
    current.add(record);
    if (record.kind != VF_RECORD_STEP) return;
    if (!current.is_empty()) {
      last = current.work();
      has_whole = true;
    }
    current = {};
  }
};

}  // namespace

std::map<int, model::StepWork> count_step_work(std::span<const model::Recording> recordings) {
  std::map<int, model::StepWork> whole, open;
  const bool trains = std::ranges::any_of(recordings, [](const model::Recording& recording) {
    return std::ranges::any_of(recording.records, is_of_training);
  });
  const auto is_of_step = trains ? is_of_training : is_of_evaluation;
  for (const model::Recording& recording : recordings) {
    std::map<int, StepsOfCard> cards;
    for (const vf_record& record : recording.records) {
      if (is_of_step(record) && record.device != kHostDevice) cards[record.device];
    }
    for (const vf_record& record : recording.records) {
      if (!is_of_step(record)) continue;
      for (auto& [device, steps] : cards) {
        if (record.device == device || record.device == kHostDevice) steps.add(record);
      }
    }
    for (auto& [device, steps] : cards) {
      if (steps.has_whole) whole[device] = steps.last;
      model::StepWork rest = steps.current.work();
      if (total_macs(rest) > total_macs(open[device])) open[device] = std::move(rest);
    }
  }
  for (auto& [device, work] : whole) open[device] = std::move(work);
  return open;
}

}  // namespace vramfit::facts
