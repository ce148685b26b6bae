// Where the workspace of a cuDNN plan comes from. The seam between the backend API and whoever knows sizes.
#ifndef VRAMFIT_VIRTUAL_GPU_CUDNN_WORKSPACE_H
#define VRAMFIT_VIRTUAL_GPU_CUDNN_WORKSPACE_H

#include <memory>
#include <string>
#include <vector>

#include "virtual_gpu/cudnn/descriptor.h"

namespace vramfit::cudnn {

struct Offer {
  std::vector<Choice> choices;  // in the order heuristics prefer them; empty: the graph is not supported
  std::string source;           // for the recording: "zero", "cuDNN 9.20.0 asked without a device"
};

constexpr int32_t kFallbackMode = 2;  // CUDNN_HEUR_MODE_FALLBACK

class WorkspaceProvider {
 public:
  virtual ~WorkspaceProvider() = default;
  // heuristic_mode is cudnnBackendHeurMode_t. Called from any thread.
  virtual Offer offer(const Node& graph, int32_t heuristic_mode) = 0;
};

// One engine without a workspace for every graph. Says so in a note.
std::unique_ptr<WorkspaceProvider> make_zero_provider();

// Reads what a real cuDNN offered beforehand; falls back to `fallback` where nothing similar was recorded. Says in a
// note how near the recorded convolution is.
std::unique_ptr<WorkspaceProvider> make_recorded_provider(std::unique_ptr<WorkspaceProvider> fallback);

// Asks a real cuDNN in a process of its own; falls back to `fallback`, with a note why, when there is none.
std::unique_ptr<WorkspaceProvider> make_oracle_provider(std::unique_ptr<WorkspaceProvider> fallback);

// What `vramfit check --learn` asks for and what it has learned stand over `fallback`, which is returned where there is
// neither.
std::unique_ptr<WorkspaceProvider> make_learning_provider(std::unique_ptr<WorkspaceProvider> fallback);

// The session's, by vf_ledger::cudnn_workspace_policy.
WorkspaceProvider& workspace_provider();

}  // namespace vramfit::cudnn

#endif
