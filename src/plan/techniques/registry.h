// All techniques, in the order in which they are listed to people. A new one: its file, a line here, a line in the .cc.
#ifndef VRAMFIT_PLAN_TECHNIQUES_REGISTRY_H
#define VRAMFIT_PLAN_TECHNIQUES_REGISTRY_H

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/technique.h"

namespace vramfit::plan {

const Technique& micro_batch();
const Technique& autocast();
const Technique& chunked_loss();
const Technique& split_forward();
const Technique& checkpoint();
const Technique& offload_activations();
const Technique& offload_optimizer();
const Technique& optimizer();
const Technique& release_gradients();
const Technique& validation_batch();
const Technique& split_evaluation();
const Technique& no_grad_validation();
const Technique& half_evaluation();
const Technique& tiles();
const Technique& int8_weights();
const Technique& offload_weights();
const Technique& gather_on_cpu();
const Technique& allocator();
const Technique& empty_cache();
const Technique& effective_batch();
const Technique& resize_input();
const Technique& zero_grad_set_to_none();
const Technique& smaller_model();
const Technique& int4_weights();
const Technique& half_teacher();
const Technique& lora();
const Technique& half_weights();
const Technique& prune();
const Technique& sparse_embeddings();
const Technique& host_transforms();
const Technique& attention();
const Technique& memory_budget();

// Batches of so many samples, smaller or larger, for each optimizer step.
model::Change batch_of(const model::LoaderFacts& loader, std::int64_t size);

std::span<const Technique* const> all_techniques();
std::vector<std::string> technique_ids();
const Technique* find_technique(std::string_view id);

}  // namespace vramfit::plan

#endif
