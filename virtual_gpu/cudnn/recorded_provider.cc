// The provider that reads the recorded table: share/vramfit/cudnn_workspaces.bin, two folders above this library.
#include <dlfcn.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "virtual_gpu/cudnn/recorded.h"
#include "virtual_gpu/cudnn/workspace.h"
#include "virtual_gpu/ledger/ledger.h"

namespace vramfit::cudnn {
namespace {

namespace fs = std::filesystem;

std::string read_table() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&make_recorded_provider), &info) == 0) return {};
  std::ifstream file(fs::path(info.dli_fname).parent_path() / "../../share/vramfit/cudnn_workspaces.bin",
                     std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

const char* text_of(Match match) {
  return match == Match::kExact ? " for this very convolution on a card of this kind"
                                : " for this convolution at another batch size, scaled by it";
}

class RecordedProvider final : public WorkspaceProvider {
 public:
  explicit RecordedProvider(std::unique_ptr<WorkspaceProvider> fallback)
      : fallback_(std::move(fallback)), bytes_(read_table()), table_(RecordedTable::open(bytes_)) {
    if (!table_) {
      ledger::note_warning("the table of recorded cuDNN workspaces is missing or damaged");
      return;
    }
    const uint32_t version = table_->cudnn_version();
    source_ = "workspaces recorded with cuDNN " + std::to_string(version / 10000) + "." +
              std::to_string(version / 100 % 100) + "." + std::to_string(version % 100);
  }

  Offer offer(const Node& graph, int32_t heuristic_mode) override {
    const vf_card* card = ledger::card(ledger::current_card());
    auto problem = table_ && card != nullptr ? problem_of(graph) : std::nullopt;
    if (!problem) return fallback_->offer(graph, heuristic_mode);
    problem->capability = card->compute_major * 10 + card->compute_minor;
    // What PyTorch asks for once no other plan would do. All 287 answers that we have seen had one without a workspace.
    if (heuristic_mode == kFallbackMode) return {{Choice{}}, source_};
    auto found = table_->find(*problem);
    if (!found || found->choices.empty()) return fallback_->offer(graph, heuristic_mode);
    ledger::note_assumed((source_ + text_of(found->match)).c_str());
    return {std::move(found->choices), source_};
  }

 private:
  std::unique_ptr<WorkspaceProvider> fallback_;
  std::string bytes_;
  std::optional<RecordedTable> table_;
  std::string source_;
};

}  // namespace

std::unique_ptr<WorkspaceProvider> make_recorded_provider(std::unique_ptr<WorkspaceProvider> fallback) {
  return std::make_unique<RecordedProvider>(std::move(fallback));
}

}  // namespace vramfit::cudnn
