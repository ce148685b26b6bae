// A step in which two modules are called in turns, as for each letter of a text: for the tests of this folder.
//
//   forward    cell: kept | cell: handed on (1 MiB) | head: 1 MiB | cell ...        backward: from the last call back
#ifndef VRAMFIT_PLAN_STREAM_TESTING_CALLED_OFTEN_H
#define VRAMFIT_PLAN_STREAM_TESTING_CALLED_OFTEN_H

#include <vramfit/recording.h>

#include "model/allocation_stream.h"

namespace vramfit::plan {

inline model::AllocationStream called_often(model::StreamTime calls, std::int64_t kept_mib) {
  constexpr std::int64_t kMib = 1 << 20;
  model::AllocationStream stream;
  stream.modules = {{"cell", -1, base::Bytes::mib(1), 2}, {"head", -1, base::Bytes(), 1}};
  const model::StreamTime turn = 3 * calls;
  model::StreamTime born = 0;
  const auto add = [&](model::StreamTime call, model::StreamTime place, int module, std::int64_t mib) {
    const model::StreamTime died = turn + 3 * (calls - 1 - call) + place;  // of one call: head, what is kept, the rest
    stream.blocks.push_back(
        {born++, died, module, mib * kMib, VF_PHASE_TRAIN, VF_STAGE_FORWARD, model::BlockOwner::kActivations});
  };
  for (model::StreamTime call = 0; call < calls; ++call) {
    add(call, 2, 0, kept_mib);
    add(call, 3, 0, 1);
    add(call, 1, 1, 1);
  }
  stream.passes = {{0, turn, 2 * turn + 1}};
  return stream;
}

}  // namespace vramfit::plan

#endif
