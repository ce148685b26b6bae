#include <fmt/format.h>

#include <algorithm>

#include "doctor/causes/causes.h"
#include "doctor/remedies.h"

namespace vramfit::doctor {

namespace {

void find_private_pool_cache(const Scene& scene, Draft& draft) {
  const Terms& terms = scene.terms;
  if (scene.oom != nullptr && terms.private_pools) {
    const double part = share(terms.private_pools, terms.total);
    const bool enough = may_reach(terms.private_pools, terms.tensor);
    if (enough && part >= 0.05) draft.weigh(std::min(0.85, 0.6 + part));
    if (!enough && part >= 0.1) draft.weigh(0.4);
    if (!draft.is_empty()) {
      draft.because(
          scene.oom_line(),
          fmt::format("{} lie unused in private pools; PyTorch prints them as allocated, so really live are {} - "
                      "{} = {}",
                      show(terms.private_pools), show(terms.allocated), show(terms.private_pools), show(terms.live)));
    }
  }
  for (const SnapshotFacts& facts : scene.snapshots) {
    if (!facts.failed_size || facts.idle_in_private < *facts.failed_size) continue;
    draft.weigh(0.8).because(model::SourceLine{facts.file, 0, ""},
                             fmt::format("{} are idle in private pools for a request of {}",
                                         show(facts.idle_in_private), show(*facts.failed_size)));
  }
  if (draft.is_empty()) return;
  draft.fix({"Capture fewer graphs, or let them share one pool", "torch.cuda.graph(g, pool=first.pool())", std::nullopt,
             "none", Applicability::kMayBeWrong});
  draft.fix({"torch.compile: no CUDA graphs", "torch.compile(model)  # not mode=\"reduce-overhead\"", std::nullopt,
             "slower small steps", Applicability::kMayBeWrong});
}

}  // namespace

const Cause kPrivatePoolCache{"VF305",
                              "private_pool_cache",
                              "Pools of CUDA graphs hold memory that nothing else may use",
                              "the words \"allocated in private pools\" with at least the request in them",
                              "A captured CUDA graph keeps its own pool as long as it lives, free blocks included. "
                              "Each new shape that is captured "
                              "adds a pool. The message counts this memory as allocated.",
                              "Share one pool, capture fewer shapes, delete graphs that are no longer used.",
                              find_private_pool_cache};

}  // namespace vramfit::doctor
