#include "plan/techniques/registry.h"

#include <algorithm>
#include <array>

namespace vramfit::plan {

std::span<const Technique* const> all_techniques() {
  static const std::array kAll = {&micro_batch(),
                                  &chunked_loss(),
                                  &split_forward(),
                                  &autocast(),
                                  &checkpoint(),
                                  &memory_budget(),
                                  &offload_activations(),
                                  &offload_optimizer(),
                                  &optimizer(),
                                  &release_gradients(),
                                  &zero_grad_set_to_none(),
                                  &validation_batch(),
                                  &split_evaluation(),
                                  &allocator(),
                                  &no_grad_validation(),
                                  &half_evaluation(),
                                  &tiles(),
                                  &offload_weights(),
                                  &int8_weights(),
                                  &gather_on_cpu(),
                                  &empty_cache(),
                                  &effective_batch(),
                                  &resize_input(),
                                  &smaller_model(),
                                  &int4_weights(),
                                  &half_teacher(),
                                  &lora(),
                                  &half_weights(),
                                  &attention(),
                                  &prune(),
                                  &sparse_embeddings(),
                                  &host_transforms()};
  return kAll;
}

std::vector<std::string> technique_ids() {
  std::vector<std::string> ids;
  for (const Technique* technique : all_techniques()) ids.emplace_back(technique->id());
  return ids;
}

const Technique* find_technique(std::string_view id) {
  const auto all = all_techniques();
  const auto found = std::ranges::find(all, id, [](const Technique* technique) { return technique->id(); });
  return found == all.end() ? nullptr : *found;
}

}  // namespace vramfit::plan
