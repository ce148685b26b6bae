// A stream of two modules and one training step, for the tests of this folder.
//
//   weights 100 | a: 60 kept, 40 handed on | b: 60 kept, 20 handed on | backward: gradients of 10 and 20
#ifndef VRAMFIT_PLAN_STREAM_TESTING_EXAMPLE_STREAM_H
#define VRAMFIT_PLAN_STREAM_TESTING_EXAMPLE_STREAM_H

#include <vramfit/recording.h>

#include "model/allocation_stream.h"

namespace vramfit::plan {

inline model::AllocationStream example_stream() {
  using model::BlockOwner;
  constexpr std::int64_t kMib = 1 << 20;
  model::AllocationStream stream;
  stream.modules = {{"a", -1, base::Bytes::mib(40)}, {"b", -1, base::Bytes::mib(20)}};
  const auto add = [&](model::StreamTime born, model::StreamTime died, int module, std::int64_t mib, std::uint8_t stage,
                       BlockOwner owner) {
    stream.blocks.push_back({born, died, module, mib * kMib, VF_PHASE_TRAIN, stage, owner});
  };
  add(0, model::kStreamEnd, -1, 100, VF_STAGE_OTHER, BlockOwner::kWeights);
  add(1, 9, 0, 60, VF_STAGE_FORWARD, BlockOwner::kActivations);
  add(2, 10, 0, 40, VF_STAGE_FORWARD, BlockOwner::kActivations);
  add(3, 6, 1, 60, VF_STAGE_FORWARD, BlockOwner::kActivations);
  add(4, 7, 1, 20, VF_STAGE_FORWARD, BlockOwner::kActivations);
  add(5, 12, -1, 10, VF_STAGE_BACKWARD, BlockOwner::kGradients);
  add(8, 13, -1, 20, VF_STAGE_BACKWARD, BlockOwner::kGradients);
  stream.passes = {{1, 5, 11}};
  return stream;
}

}  // namespace vramfit::plan

#endif
