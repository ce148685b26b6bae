#include "report/own_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "model/owner_names.h"

namespace vramfit::report {

namespace {

using base::Bytes;
using model::RunResult;

std::string describe(const model::FrameworkMemory& memory) {
  return fmt::format(
      "{} {} used {} of card {} at its peak{}; what it does not use of its pool is no need of the job's", memory.name,
      memory.version, to_string(memory.peak), memory.device,
      memory.pool ? fmt::format(", of a pool of {} that it took for itself", to_string(*memory.pool)) : "");
}

// What the rows of these owners sum up to on a card, at its peak.
Bytes sum_of_owners(const RunResult& result, int device, std::initializer_list<std::string_view> owners) {
  Bytes sum;
  for (const model::OwnerRow& row : result.owners_at_peak) {
    if (row.device == device && std::ranges::find(owners, row.owner) != owners.end()) sum += row.bytes;
  }
  return sum;
}

std::vector<std::string> describe(const model::ServerMemory& memory, const RunResult& result) {
  std::vector<std::string> sentences;
  const auto add = [&](const char* what, const std::optional<Bytes>& bytes, const std::string& beside) {
    if (bytes) sentences.push_back(fmt::format("{}: {}{}", what, to_string(*bytes), beside));
  };
  const auto here = [&](std::initializer_list<std::string_view> owners) {
    return result.peak_device == memory.device
               ? fmt::format("; at the peak here {}", to_string(sum_of_owners(result, memory.device, owners)))
               : std::string();
  };
  add("weights", memory.weights, here({model::owner::kWeights, model::owner::kBuffers, model::owner::kQuantization}));
  add("activations at their peak, while it profiled", memory.activations, "");
  add("outside of PyTorch's allocator, while it profiled", memory.outside,
      here({model::owner::kContext, model::owner::kLibraries}));
  add("CUDA graphs", memory.graphs, "");
  add("KV cache", memory.kv_cache,
      (memory.kv_tokens ? fmt::format(", {} tokens", *memory.kv_tokens) : "") + here({model::owner::kCache}));
  return sentences;
}

}  // namespace

std::vector<TitledSentences> own_counts(const RunResult& result) {
  std::vector<TitledSentences> all;
  if (!result.frameworks.empty()) {
    TitledSentences& used = all.emplace_back("By the framework's own count");
    for (const model::FrameworkMemory& memory : result.frameworks) used.sentences.push_back(describe(memory));
  }
  for (const model::ServerMemory& memory : result.servers) {
    all.push_back({fmt::format("Card {} as {} {} divides it", memory.device, memory.name, memory.version),
                   describe(memory, result)});
  }
  return all;
}

}  // namespace vramfit::report
