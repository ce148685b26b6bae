#include <fmt/format.h>

#include <algorithm>

#include "doctor/causes/causes.h"
#include "doctor/remedies.h"
#include "model/owner_names.h"

namespace vramfit::doctor {

namespace {

void find_cudnn_workspace_in_run(const Scene& scene, Draft& draft) {
  if (!scene.has_run()) return;
  model::Bytes workspaces, all;
  for (const model::OwnerRow& row : scene.run()->owners_at_peak) {
    if (row.device != scene.run()->peak_device) continue;
    all += row.bytes;
    if (row.owner == model::owner::kWorkspaces) workspaces += row.bytes;
  }
  if (share(workspaces, all) < 0.1) return;
  // Matrix products have workspaces too, of a few MiB: on a card that is not full they are no trouble.
  if (!scene.run_failed_for_memory() && workspaces < model::Bytes::mib(64)) return;
  draft.weigh(scene.run_failed_for_memory() ? std::min(0.9, 0.5 + share(workspaces, all)) : 0.4);
  if (!scene.run_failed_for_memory()) draft.severity(model::Severity::kWarning);
  draft.because(
      fmt::format("the run: {} of the {} at the peak are workspaces of libraries", show(workspaces), show(all)));
}

void find_cudnn_workspace(const Scene& scene, Draft& draft) {
  find_cudnn_workspace_in_run(scene, draft);
  const bool convolution =
      scene.stack.near_end({"conv2d(", "conv3d(", "conv1d(", "_conv_forward", "conv_transpose"}, 2) != nullptr;
  if (scene.oom != nullptr && convolution) {
    const bool benchmark = scene.in_force.cudnn_benchmark;
    const bool large = share(scene.terms.tried, scene.terms.total) >= 0.05;
    draft.weigh(benchmark ? (large ? 0.66 : 0.4) : (large ? 0.3 : 0.18));
    draft.because(*scene.stack.innermost(),
                  "it failed in a convolution, which asks for a workspace besides its result");
    if (benchmark && scene.in_force.seen_benchmark) {
      draft.because(*scene.in_force.seen_benchmark, "cudnn.benchmark tries algorithms with large workspaces");
    }
  }
  if (draft.is_empty()) return;
  draft.fix({"Do not try algorithms with large workspaces", "torch.backends.cudnn.benchmark = False", std::nullopt,
             "perhaps slower convolutions", Applicability::kMayBeWrong});
  draft.fix({"Limit what cuDNN may ask for", "export CUDNN_CONV_WSCAP_DBG=1024  # MiB", std::nullopt,
             "perhaps slower convolutions", Applicability::kMayBeWrong});
}

}  // namespace

const Cause kCudnnWorkspace{
    "VF113",
    "cudnn_workspace",
    "A convolution's workspace does not fit",
    "a frame of a convolution, a request that is no tensor's size, benchmark mode on, only in the first steps",
    "cuDNN's fastest algorithms need scratch memory, sometimes gigabytes. With benchmark mode all of them are tried "
    "for "
    "every new shape of input.",
    "benchmark = False, fixed input shapes, a limit on workspaces.",
    find_cudnn_workspace};

}  // namespace vramfit::doctor
