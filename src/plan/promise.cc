#include "plan/promise.h"

#include <algorithm>
#include <array>

namespace vramfit::plan {
namespace {

using model::Change;
using model::Sameness;

Promise exact(const Change&) { return {}; }

// The same terms, added up in another order.
Promise promise_of_sums(const Change&) { return {Sameness::kRounding, kRoundingShare, false, "", false, false}; }

Promise promise_of_micro_batch(const Change& change) {
  Promise promise{Sameness::kRounding, kRoundingShare, false, "", true, false};
  if (!accumulates(change)) promise.meant = "batches of another size";
  return promise;
}

// Sums over a batch are made of those of its parts; batch norms see each part by itself.
Promise promise_of_split(const Change&) { return {Sameness::kRounding, kRoundingShare, false, "", true, false}; }

Promise promise_of_autocast(const Change& change) {
  const double share = rounding_share_of(model::find_text(change, "dtype").value_or("bfloat16"));
  return {Sameness::kPrecision, share > 0 ? share : kRoundingShare, false, "", false, false};
}

// The training is not touched: what is compared is what an evaluation puts out.
Promise promise_of_half_evaluation(const Change& change) {
  Promise promise{Sameness::kPrecision, kRoundingShare, false, "", false, false};
  promise.outputs = rounding_share_of(model::find_text(change, "dtype").value_or("bfloat16"));
  return promise;
}

// Layers of finite reach give the same numbers in tiles; other sizes may have other orders of sums.
Promise promise_of_tiles(const Change&) {
  Promise promise{Sameness::kRounding, kRoundingShare, false, "", false, false};
  promise.outputs = kRoundingShare;
  return promise;
}

// Samples are evaluated by themselves; other sizes of a batch may have other orders of sums.
Promise promise_of_split_evaluation(const Change& change) { return promise_of_tiles(change); }

Promise promise_of_int8_weights(const Change&) {
  Promise promise{Sameness::kPrecision, kRoundingShare, false, "", false, false};
  promise.outputs = kInt8Share;
  return promise;
}

// Another optimizer is known by the two runs, which name theirs; options of the same one only order its sums.
Promise promise_of_optimizer(const Change& change) {
  if (is_eight_bit(change)) return {Sameness::kPrecision, kRoundingShare, false, "", false, true};
  return {Sameness::kRounding, kRoundingShare, false, "", false, true};
}

Promise promise_of_inputs(const Change&) {
  return {Sameness::kRounding, kRoundingShare, false, "inputs of another size", false, false};
}

Promise promise_of_int4_weights(const Change&) {
  Promise promise{Sameness::kPrecision, kRoundingShare, false, "", false, false};
  promise.outputs = kInt4Share;
  return promise;
}

// The teacher's outputs round, and with them the loss.
Promise promise_of_half_teacher(const Change& change) { return promise_of_autocast(change); }

Promise promise_of_network(const Change&) {
  return {Sameness::kRounding, kRoundingShare, false, "another network", false, false};
}

// Plain SGD and Adagrad do nothing to a row without a gradient; SparseAdam leaves its moments as they are, too.
// Gradients of some rows are not compared with those of all.
Promise promise_of_sparse(const Change& change) {
  Promise promise{Sameness::kRounding, kRoundingShare, false, "", false, true};
  if (model::find_text(change, "optimizer")) promise.meant = "rows of embeddings are updated when they are used alone";
  return promise;
}

// The sums stay what they are; a script that looks at a gradient before its backward pass finds none.
Promise promise_of_zero_grad(const Change&) { return {Sameness::kEqual, kRoundingShare, false, "", false, false}; }

Promise promise_of_batch_size(const Change&) {
  return {Sameness::kRounding, kRoundingShare, false, "batches of another size", true, false};
}

// The same update of each parameter, at another moment: a step finds no gradient to compare.
Promise promise_of_released(const Change&) { return {Sameness::kEqual, kRoundingShare, false, "", false, true}; }

// Weights themselves are rounded, so that small updates of them are lost.
Promise promise_of_half_weights(const Change&) {
  Promise promise{Sameness::kPrecision, kBf16Share, false, "", false, false};
  promise.rounds_weights = true;
  return promise;
}

Promise promise_of_lora(const Change&) {
  return {Sameness::kRounding, kRoundingShare, false, "adapters beside weights that stand still", false, false};
}

// The same updates; where the script looks for the optimizer's state, it is the CPU's.
Promise promise_of_offloaded_state(const Change&) {
  return {Sameness::kEqual, kRoundingShare, false, "", false, false};
}

// The same weights and kernels, with copies between them: an evaluation's outputs are compared to show it.
Promise promise_of_waiting_weights(const Change&) {
  Promise promise{Sameness::kEqual, kRoundingShare, false, "", false, false};
  promise.outputs = kRoundingShare;
  return promise;
}

struct Row {
  std::string_view technique;
  Promise (*promise)(const Change&);
};

constexpr auto kPromises = std::to_array<Row>({{"allocator", exact},
                                               {"autocast", promise_of_autocast},
                                               {"batch_size", promise_of_batch_size},
                                               {"checkpoint", exact},
                                               {"chunked_loss", promise_of_sums},
                                               {"empty_cache", exact},
                                               {"gather_on_cpu", exact},
                                               {"half_evaluation", promise_of_half_evaluation},
                                               {"half_weights", promise_of_half_weights},
                                               {"int8_weights", promise_of_int8_weights},
                                               {"loader_options", exact},
                                               {"lora", promise_of_lora},
                                               {"micro_batch", promise_of_micro_batch},
                                               {"no_grad_validation", exact},
                                               {"offload_activations", exact},
                                               {"offload_optimizer", promise_of_offloaded_state},
                                               {"offload_weights", promise_of_waiting_weights},
                                               {"optimizer", promise_of_optimizer},
                                               {"release_gradients", promise_of_released},
                                               {"resize_input", promise_of_inputs},
                                               {"tiles", promise_of_tiles},
                                               {"zero_grad_set_to_none", promise_of_zero_grad},
                                               {"smaller_model", promise_of_network},
                                               {"prune", promise_of_network},
                                               {"host_transforms", promise_of_sums},
                                               {"memory_budget", promise_of_sums},
                                               {"sparse_embeddings", promise_of_sparse},
                                               {"split_evaluation", promise_of_split_evaluation},
                                               {"split_forward", promise_of_split},
                                               {"int4_weights", promise_of_int4_weights},
                                               {"half_teacher", promise_of_half_teacher},
                                               {"attention", promise_of_sums}});

// Whether all that it may change is what torch.compile rounds. Values are computed with compiling switched off, with
// the plan and without, so that they would be equal and tell nothing.
bool changes_compiled_code_alone(const model::Plan& plan) {
  const auto is_budget = [](const Change& change) { return change.technique == "memory_budget"; };
  return std::ranges::any_of(plan.changes, is_budget) && std::ranges::all_of(plan.changes, [&](const Change& change) {
           return is_budget(change) || find_promise(change).exact;
         });
}

}  // namespace

bool accumulates(const Change& change) {
  return change.technique == "micro_batch" && model::find_integer(change, "accumulate").value_or(1) > 1;
}

bool is_eight_bit(const Change& change) {
  const std::string name = model::find_text(change, "name").value_or("");
  return change.technique == "optimizer" && name.find("Adam") != std::string::npos && name.ends_with("8bit");
}

double rounding_share_of(std::string_view type) {
  if (type == "float16") return kFp16Share;
  return type == "bfloat16" ? kBf16Share : 0;
}

Promise find_promise(const Change& change) {
  const auto row = std::ranges::find(kPromises, change.technique, &Row::technique);
  return row == kPromises.end() ? Promise{Sameness::kRounding, kRoundingShare, false, "", false, false}
                                : row->promise(change);
}

Promise find_promise(const model::Plan& plan) {
  Promise whole;
  const bool splits = std::ranges::any_of(plan.changes, accumulates);
  for (const Change& change : plan.changes) {
    // Another loader's micro-batches, beside those of the training, are of an evaluation.
    if (splits && change.technique == "micro_batch" && !accumulates(change)) continue;
    const Promise one = find_promise(change);
    whole.at_most = std::max(whole.at_most, one.at_most);
    whole.share = std::max(whole.share, one.share);
    whole.outputs = std::max(whole.outputs, one.outputs);
    whole.exact = whole.exact && one.exact;
    whole.mixes_samples = whole.mixes_samples || one.mixes_samples;
    whole.rescales_gradients = whole.rescales_gradients || one.rescales_gradients;
    whole.rounds_weights = whole.rounds_weights || one.rounds_weights;
    if (whole.meant.empty()) whole.meant = one.meant;
  }
  return whole;
}

std::string find_unseen(const model::Plan& plan) {
  if (std::ranges::any_of(plan.changes, is_eight_bit)) {
    return "the kernels of bitsandbytes compute no values without a card";
  }
  return changes_compiled_code_alone(plan) ? "what torch.compile makes computes no values without a card" : "";
}

}  // namespace vramfit::plan
