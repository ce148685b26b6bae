#include "plan/measured_shares.h"

namespace vramfit::plan {

const model::StagePeak* find_same_moment(const std::vector<model::StagePeak>& moments, const model::StagePeak& moment) {
  for (const model::StagePeak& other : moments) {
    if (other.phase == moment.phase && other.stage == moment.stage) return &other;
  }
  return nullptr;
}

double share_of(base::Bytes with, base::Bytes without) {
  return without > base::Bytes(0) ? static_cast<double>(with.count()) / static_cast<double>(without.count()) : 1;
}

}  // namespace vramfit::plan
