// The provider that asks virtual_gpu/cudnn_oracle.
//
// VRAMFIT_CUDNN_LIBRARY is the folder of a real libcudnn_graph.so.9; VRAMFIT_CUDNN_CACHE a file that keeps answers. The
// program is bin/vramfit-cudnn-oracle two folders above this library, as staged and installed.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <unordered_map>

#include "cuda_facts.h"
#include "virtual_gpu/cudnn/workspace.h"
#include "virtual_gpu/cudnn_oracle/client.h"
#include "virtual_gpu/ledger/ledger.h"

namespace vramfit::cudnn {
namespace {

namespace fs = std::filesystem;
namespace oracle = cudnn_oracle;

constexpr int32_t kMostPlans = 8;  // PyTorch seldom looks past the first few

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

fs::path own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&make_oracle_provider), &info) == 0) return {};
  return fs::path(info.dli_fname).parent_path();
}

// CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, keys as cuDNN 9.20 reads them.
std::string device_json(const vf_card& card) {
  char text[1536];
  std::snprintf(text, sizeof text,
                "{\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64],\"regsPerBlock\":65536,"
                "\"multiProcessorCount\":%d,\"warpSize\":32,\"maxSharedMemoryPerBlock\":49152,"
                "\"maxSharedMemoryPerBlockOptin\":%d,\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":%d,"
                "\"maxCtasPerSM\":%d,\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":%d,\"pciDeviceId\":0,"
                "\"isTccDriver\":0,\"supportCoopLaunch\":1,\"totalGlobalMem\":%lld,\"smClockRateKHz\":%d,"
                "\"memClockRateKHz\":%d,\"l2CacheSize\":%lld,\"cudaDeviceId\":0,\"deviceVer\":%d,\"driverVer\":%d,"
                "\"deviceName\":\"%s\"}",
                card.sm_count, card.shared_bytes_per_block_optin, card.registers_per_sm, card.max_blocks_per_sm,
                card.max_threads_per_sm, static_cast<long long>(card.total_bytes), card.sm_clock_khz,
                card.memory_clock_khz, static_cast<long long>(card.l2_bytes),
                card.compute_major * 100 + card.compute_minor * 10, ledger::driver_version(), card.name);
  return text;
}

// Flattens a graph into the question, children before parents. Returns the node's index.
uint32_t append(oracle::Question& question, std::unordered_map<const Node*, uint32_t>& seen, const Node& node) {
  if (const auto found = seen.find(&node); found != seen.end()) return found->second;
  oracle::Descriptor descriptor{.type = node.type, .attributes = {}};
  for (const auto& [name, attribute] : node.attributes) {
    if (attribute.type == kTypeHandle || name == kGraphHandle) continue;
    oracle::Attribute copy{.name = name, .type = attribute.type, .count = attribute.count, .bytes = {}, .children = {}};
    for (const NodePointer& child : attribute.children) copy.children.push_back(append(question, seen, *child));
    copy.bytes.assign(reinterpret_cast<const char*>(attribute.bytes.data()), attribute.bytes.size());
    descriptor.attributes.push_back(std::move(copy));
  }
  question.descriptors.push_back(std::move(descriptor));
  const auto index = static_cast<uint32_t>(question.descriptors.size() - 1);
  seen.emplace(&node, index);
  return index;
}

class OracleProvider final : public WorkspaceProvider {
 public:
  explicit OracleProvider(std::unique_ptr<WorkspaceProvider> fallback)
      : fallback_(std::move(fallback)),
        client_(own_folder() / "../../bin/vramfit-cudnn-oracle", variable("VRAMFIT_CUDNN_LIBRARY"),
                own_folder() / cuda::kCublasltSoname, variable("VRAMFIT_CUDNN_CACHE")) {}

  Offer offer(const Node& graph, int32_t heuristic_mode) override {
    const vf_card* card = ledger::card(ledger::current_card());
    if (card == nullptr) return fallback_->offer(graph, heuristic_mode);
    oracle::Question question;
    question.device_json = device_json(*card);
    std::unordered_map<const Node*, uint32_t> seen;
    question.graph = append(question, seen, graph);
    question.heuristic_mode = heuristic_mode;
    question.most = kMostPlans;
    const auto answer = client_.ask(question);
    if (!answer || answer->status != 0 || answer->plans.empty()) {
      const std::string& why = answer ? answer->message : answer.error();
      ledger::note_warning(("cuDNN was not asked for workspaces: " + (why.empty() ? "no plan" : why)).c_str());
      return fallback_->offer(graph, heuristic_mode);
    }
    Offer offer;
    for (const oracle::Plan& plan : answer->plans) {
      offer.choices.push_back({plan.engine, plan.workspace_bytes, plan.numerical_notes});
    }
    // Under cudnn.benchmark a real card times the plans and takes the fastest; here the heuristics' first is taken too.
    ledger::note_assumed(("workspaces as cuDNN " + std::to_string(answer->cudnn_version) +
                          " offers them for this card; its heuristics' first choice is taken")
                             .c_str());
    offer.source = "cuDNN " + std::to_string(answer->cudnn_version) + " asked without a device";
    return offer;
  }

 private:
  std::unique_ptr<WorkspaceProvider> fallback_;
  oracle::Client client_;
};

}  // namespace

std::unique_ptr<WorkspaceProvider> make_oracle_provider(std::unique_ptr<WorkspaceProvider> fallback) {
  return std::make_unique<OracleProvider>(std::move(fallback));
}

}  // namespace vramfit::cudnn
