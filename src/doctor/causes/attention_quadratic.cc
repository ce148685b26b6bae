#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "doctor/causes/causes.h"
#include "doctor/remedies.h"

namespace vramfit::doctor {

namespace {

// batch x heads x N x N elements of 2 or 4 bytes that print as this request, with N a multiple of 128 and the product
// of batch and heads a usual one; empty: none does. An example, not a proof: several may fit.
std::string find_shape(const Size& tensor) {
  if (!tensor) return "";
  for (const std::int64_t heads : {8, 12, 16, 24, 32, 40, 64, 20, 96, 128, 256, 384, 512}) {
    for (std::int64_t length = 512; length <= 65536; length *= 2) {
      for (const std::int64_t width : {2, 4}) {
        const model::Bytes bytes(heads * length * length * width);
        if (tensor->contains(bytes)) {
          return fmt::format("{} (batch x heads) x {} x {} x {} bytes = {} would print so", heads, length, length,
                             width, show(bytes));
        }
      }
    }
  }
  return "";
}

void find_attention_quadratic_in_run(const Scene& scene, Draft& draft) {
  for (const model::AttentionScores& scores : scene.runtime().attention) {
    const model::Bytes peak =
        scene.run()->devices.empty()
            ? model::Bytes(0)
            : scene.run()->devices[static_cast<std::size_t>(std::max(0, scene.run()->peak_device))].peaks.allocated;
    const model::Bytes sum(scores.bytes.count() * std::max<std::int64_t>(1, scores.calls));
    const double part = share(sum, peak);
    if (part < 0.15 && share(scores.bytes, peak) < 0.1) continue;
    draft.weigh(scene.run_failed_for_memory() ? std::min(0.93, 0.72 + 0.3 * part) : 0.5);
    if (!scene.run_failed_for_memory()) draft.severity(model::Severity::kWarning);
    draft.because(fmt::format("the run: {} at {} writes scores {} = {}, {} times in a forward pass, {} of the peak",
                              scores.operation, scores.line, scores.shape, show(scores.bytes), scores.calls,
                              percent(std::min(1.0, part))));
    break;
  }
}

// The function that has fused kernels ran out itself: none of them took these inputs, and it writes the scores out.
void offer_fused_kernels(Draft& draft) {
  draft.fix({"Make a fused kernel take these inputs: it names why it does not",
             "with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.EFFICIENT_ATTENTION): ...  # half "
             "precision, a usual head size, no need_weights",
             std::nullopt, "none: faster", Applicability::kMayBeWrong});
}

void find_attention_quadratic(const Scene& scene, Draft& draft) {
  bool is_fused_function = false;
  if (scene.has_run()) find_attention_quadratic_in_run(scene, draft);
  if (scene.oom != nullptr && !scene.at.backward) {
    const StackEntry* scores = scene.stack.near_end(
        {"softmax(", "baddbmm", "q @ k", "matmul(q", "bmm(q", "attention_scores", "attn_weights", "attention_probs",
         "_scaled_dot_product", "scaled_dot_product_attention", "einsum", "get_attention_scores", "attention_mask +",
         "sim = ", "attn = ", "dots = ", "unfused_attention", "matmul_result"},
        4);
    const StackEntry* where = scene.stack.near_end({"attention", "attn", "transformer"}, 5);
    if (scores != nullptr && (where != nullptr || mentions(scores->frame.code, {"attn", "attention", "q", "scores"}))) {
      const double asked = share(scene.terms.tried, scene.terms.total);
      const bool is_score = mentions(scores->frame.code, {"softmax", "baddbmm", "matmul", "bmm", "@", "einsum",
                                                          "scores", "attn", "scaled_dot", "matmul_result"});
      const double most = is_score ? 0.82 : 0.6;
      draft.weigh(asked >= 0.05 ? most : asked >= 0.01 ? most - 0.2 : 0.3);
      if (asked > 1 && is_score) draft.adjust(0.06);  // it tells whose the one huge tensor is (VF109)
      is_fused_function = mentions(scores->frame.code, {"scaled_dot_product_attention"});
      draft.because(*scores, is_fused_function
                                 ? "none of its fused kernels took these inputs, so that it writes the scores out"
                                 : "the scores of every position with every other are written out here");
      const std::string shape = find_shape(scene.terms.tensor);
      if (scene.oom_has_numbers) {
        draft.because(scene.oom_line(), fmt::format("one request of {}{}{}", show(scene.terms.tried),
                                                    shape.empty() ? "" : "; for example ", shape));
      }
    }
  }
  if (draft.is_empty()) return;
  if (is_fused_function) {
    offer_fused_kernels(draft);
  } else {
    draft.fix({"Use fused attention, which never writes the scores",
               "torch.nn.functional.scaled_dot_product_attention(q, k, v)  # transformers: "
               "attn_implementation=\"sdpa\"",
               std::nullopt, "none: faster", Applicability::kMayBeWrong});
  }
  draft.fix({"Shorter sequences, or windows of them: half the length is a quarter of the scores",
             "tokenizer(..., truncation=True, max_length=LIMIT)", std::nullopt, "none", Applicability::kFillIn});
  offer_smaller_batch(scene, draft);
}

}  // namespace

const Cause kAttentionQuadratic{
    "VF107",
    "attention_quadratic",
    "Attention writes out its N x N scores",
    "a frame of softmax or of a product of queries and keys, and a large request",
    "Plain attention keeps a matrix of batch x heads x N x N, often several of them, for the backward pass. It grows "
    "with "
    "the square of the length: twice the tokens, four times the memory.",
    "Fused attention (scaled_dot_product_attention, FlashAttention), shorter sequences, windows, attention slicing.",
    find_attention_quadratic};

}  // namespace vramfit::doctor
