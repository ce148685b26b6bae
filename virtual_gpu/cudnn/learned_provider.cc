// The providers behind `vramfit check --learn`: one that marks each convolution by the size of its workspace, so that a
// recording of a real card can be read beside the run, and one that answers what was read so.
//
// VRAMFIT_CUDNN_MARK asks for the first. VRAMFIT_CUDNN_LEARNED names the second's file (learned_file.h).
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "virtual_gpu/cudnn/layer_key.h"
#include "virtual_gpu/cudnn/learned_file.h"
#include "virtual_gpu/cudnn/workspace.h"
#include "virtual_gpu/ledger/ledger.h"

namespace vramfit::cudnn {
namespace {

class MarkingProvider final : public WorkspaceProvider {
 public:
  explicit MarkingProvider(std::unique_ptr<WorkspaceProvider> fallback) : fallback_(std::move(fallback)) {}

  Offer offer(const Node& graph, int32_t heuristic_mode) override {
    const auto key = layer_key(graph);
    if (!key || heuristic_mode == kFallbackMode) return fallback_->offer(graph, heuristic_mode);
    return {{Choice{.engine = 0, .workspace_bytes = marker_of(*key), .numerical_notes = {}}}, "marked"};
  }

 private:
  std::unique_ptr<WorkspaceProvider> fallback_;
};

std::unordered_map<std::string, LearnedWorkspace> read_learned(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return parse_learned(text);
}

class LearnedProvider final : public WorkspaceProvider {
 public:
  LearnedProvider(const char* path, std::unique_ptr<WorkspaceProvider> fallback)
      : learned_(read_learned(path)), fallback_(std::move(fallback)) {}

  Offer offer(const Node& graph, int32_t heuristic_mode) override {
    const auto key = layer_key(graph);
    const auto found = key && heuristic_mode != kFallbackMode ? learned_.find(*key) : learned_.end();
    if (found == learned_.end()) return fallback_->offer(graph, heuristic_mode);
    ledger::note_assumed("workspaces of this very convolution as learned from a recording of such a card");
    const auto& [taken, largest] = found->second;
    Offer offer{{Choice{.engine = 0, .workspace_bytes = taken, .numerical_notes = {}}}, "learned"};
    // PyTorch takes the largest workspace of all plans that benchmark mode tries, and then the first plan's.
    if (largest > taken) {
      offer.choices.push_back({.engine = 1, .workspace_bytes = largest, .numerical_notes = {}});
    }
    return offer;
  }

 private:
  std::unordered_map<std::string, LearnedWorkspace> learned_;
  std::unique_ptr<WorkspaceProvider> fallback_;
};

}  // namespace

std::unique_ptr<WorkspaceProvider> make_learning_provider(std::unique_ptr<WorkspaceProvider> fallback) {
  if (std::getenv("VRAMFIT_CUDNN_MARK") != nullptr) return std::make_unique<MarkingProvider>(std::move(fallback));
  const char* learned = std::getenv("VRAMFIT_CUDNN_LEARNED");
  if (learned != nullptr) return std::make_unique<LearnedProvider>(learned, std::move(fallback));
  return fallback;
}

}  // namespace vramfit::cudnn
