#include "virtual_gpu/cudnn/workspace.h"

#include "virtual_gpu/ledger/ledger.h"

namespace vramfit::cudnn {
namespace {

constexpr int64_t kAskOracle = 1;  // vf_ledger::cudnn_workspace_policy

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
    const bool ask = shared != nullptr && shared->cudnn_workspace_policy == kAskOracle;
    auto zero = make_zero_provider();
    return (ask ? make_oracle_provider(std::move(zero)) : std::move(zero)).release();
  }();
  return *provider;
}

}  // namespace vramfit::cudnn
