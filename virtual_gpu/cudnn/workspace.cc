#include "virtual_gpu/cudnn/workspace.h"

#include "virtual_gpu/ledger/ledger.h"

namespace vramfit::cudnn {
namespace {

enum Policy : int64_t { kZero = 0, kAskOracle = 1, kRecorded = 2 };  // vf_ledger::cudnn_workspace_policy

class ZeroProvider final : public WorkspaceProvider {
 public:
  Offer offer(const Node&, int32_t) override {
    ledger::note_assumed("cuDNN plans need no workspace; real ones take 0 to a few hundred MiB of reserved memory");
    return {{Choice{}}, "zero"};
  }
};

}  // namespace

std::unique_ptr<WorkspaceProvider> make_zero_provider() { return std::make_unique<ZeroProvider>(); }

WorkspaceProvider& workspace_provider() {
  // Never destroyed: plans are built until the process ends.
  static WorkspaceProvider* provider = [] {
    const vf_ledger* shared = ledger::observe();
    const int64_t policy = shared == nullptr ? kZero : shared->cudnn_workspace_policy;
    auto made = make_zero_provider();
    if (policy != kZero) made = make_recorded_provider(std::move(made));
    if (policy == kAskOracle) made = make_oracle_provider(std::move(made));
    return make_learning_provider(std::move(made)).release();
  }();
  return *provider;
}

}  // namespace vramfit::cudnn
