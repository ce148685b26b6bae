// What one training step asks of a card, counted in the recording.
#include <algorithm>
#include <map>
#include <string>

#include "facts/job_builder.h"

namespace vramfit::facts {
namespace {

// A tensor is written once and read about twice: by the next operator and in backward.
constexpr double kTouchesPerByte = 3;

constexpr std::uint8_t kHost = 255;  // steps belong to no card

bool is_multiply_add(const vf_record& record) {
  return record.kind == VF_RECORD_MATMUL || record.kind == VF_RECORD_CONVOLUTION;
}

void count(const vf_record& record, model::StepWork& work) {
  if (is_multiply_add(record)) {
    const auto number = static_cast<std::size_t>(std::clamp<std::int64_t>(record.size, 0, model::kNumberCount - 1));
    work.macs[number] += static_cast<double>(record.a);
    work.matmul_bytes += static_cast<double>(record.b);
  } else if (record.kind == VF_RECORD_BLOCK_ALLOC) {
    work.other_bytes += static_cast<double>(record.size) * kTouchesPerByte;
  } else if (record.kind == VF_RECORD_LAUNCHES) {
    work.launches += static_cast<double>(record.a);
    if (record.stage == VF_STAGE_OPTIMIZER) work.optimizer_launches += static_cast<double>(record.a);
  }
}

}  // namespace

// The last whole step: the first ones create optimizer state and try algorithms.
model::StepWork count_step_work(const RunFacts& facts, int device) {
  model::StepWork last, open;
  bool whole = false;
  for (const model::Recording& recording : facts.recordings) {
    model::StepWork current;
    for (const vf_record& record : recording.records) {
      if (record.phase != VF_PHASE_TRAIN || (record.device != device && record.device != kHost)) continue;
      count(record, current);
      if (record.kind != VF_RECORD_STEP) continue;
      if (total_macs(current) > 0 || current.other_bytes > 0) {
        last = current;
        whole = true;
      }
      current = {};
    }
    if (total_macs(current) > total_macs(open)) open = current;
  }
  return whole ? last : open;
}

}  // namespace vramfit::facts
