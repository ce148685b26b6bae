#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "doctor/causes/causes.h"
#include "doctor/printed_shape.h"
#include "doctor/remedies.h"

namespace vramfit::doctor {

namespace {

// Sizes of vocabularies in wide use: their models' config.json, `vocab_size`.
constexpr std::array<std::int64_t, 22> kVocabularies = {30522,  32000,  32064,  32128,  32768,  49152,  50257,  50265,
                                                        50304,  51200,  65024,  100352, 102400, 119547, 128000, 128256,
                                                        129280, 151936, 152064, 250002, 256000, 262144};

constexpr std::int64_t kMostVocabulary = kVocabularies.back();

// tokens x vocabulary x width that prints as this request, for a round number of tokens; empty: none.
std::string find_product(const Size& tensor) {
  if (!tensor || tensor->value < model::Bytes::mib(256)) return "";
  for (const std::int64_t vocabulary : kVocabularies) {
    for (const std::int64_t width : {4, 2}) {
      for (std::int64_t tokens = 1024; tokens <= 1 << 20; tokens *= 2) {
        if (tensor->contains(model::Bytes(tokens * vocabulary * width))) {
          return fmt::format("{} tokens x {} words x {} bytes = {} prints so", tokens, vocabulary, width,
                             show(model::Bytes(tokens * vocabulary * width)));
        }
      }
    }
  }
  return "";
}

void find_logits_vocab_blowup_in_run(const Scene& scene, Draft& draft) {
  for (const model::Logits& logits : scene.runtime().logits) {
    model::Bytes peak;
    for (const model::DeviceResult& device : scene.run()->devices) {
      if (device.index == logits.device) peak = device.peaks.allocated;
    }
    const double part = share(logits.at_peak, peak);
    if (part < 0.2 || logits.classes < 8000) continue;
    draft.weigh(scene.run_failed_for_memory() ? std::min(0.93, 0.7 + 0.3 * part) : 0.5);
    if (!scene.run_failed_for_memory()) draft.severity(model::Severity::kWarning);
    draft.because(fmt::format(
        "the run: {} blocks of {} rows x {} classes hold {} at the peak ({} of it); {} of them have 4 bytes an element",
        logits.blocks_at_peak, logits.rows, logits.classes, show(logits.at_peak), percent(part), logits.of_4_bytes));
    break;
  }
}

void find_logits_vocab_blowup(const Scene& scene, Draft& draft) {
  if (scene.has_run()) find_logits_vocab_blowup_in_run(scene, draft);
  if (scene.oom != nullptr) {
    const StackEntry* frame =
        scene.stack.near_end({"lm_head", "logits.float", "logits = logits", "shift_logits", "cross_entropy(",
                              "log_softmax(", "forcausallmloss", "upcast", "logits.to(torch.float32", "fixed_cross",
                              "logits = self.", "output_layer(", "loss_fct(", "lm_logits"},
                             5);
    const StackEntry* text = scene.stack.in_file({"modeling_", "transformers/", "gpt", "llama", "qwen", "bert", "t5"});
    const StackEntry* words = scene.stack.near_end({"vocab", "lm_head", "causallm", "lm_logits", "shift_logits"}, 6);
    // What makes words one after another, in code older than causal language models.
    const StackEntry* generator =
        scene.stack.near_end({"seq2seq", "decoderrnn", "predicted_softmax", "translat", "generator("}, 6);
    const double asked = share(scene.terms.tried, scene.terms.total);
    const bool large = asked >= 0.015 || value_of(scene.terms.tried) >= model::Bytes::mib(256);
    const std::string product = find_product(scene.terms.tensor);
    const model::Remarkable* told = find_remark(scene, model::SentenceKind::kToldLogits);
    if (told != nullptr && asked >= 0.05) {
      draft.weigh(0.7).because(told->at, "who wrote this names the logits of the whole vocabulary");
      draft.because(scene.oom_line(), fmt::format("and {} were asked for at once", show(scene.terms.tried)));
    }
    if (frame != nullptr && large && (text != nullptr || words != nullptr || !product.empty())) {
      draft.weigh(0.78).because(*frame, "scores for every token and every word of the vocabulary are made here");
    } else if (frame != nullptr && large && generator != nullptr) {
      draft.weigh(0.6).because(*frame, "scores for every position and every word are made here");
    } else if (frame != nullptr && words != nullptr) {
      draft.weigh(0.45).because(*frame, "scores over the vocabulary are made here");
    } else if (!product.empty() && scene.stack.empty()) {
      draft.weigh(0.2);
    }
    constexpr std::int64_t kLeastVocabulary = 8000;
    const auto shape = find_printed_shape(scene);
    if (shape && shape->sizes.back() >= kLeastVocabulary && shape->sizes.back() <= 4 * kMostVocabulary) {
      draft.weigh(frame != nullptr ? 0.8 : 0.68).because(shape->at, "what was asked for: " + shape->describe());
    }
    if (!draft.is_empty() && !product.empty()) {
      draft.because(scene.oom_line(), fmt::format("{} asked for: {}", show(scene.terms.tried), product));
      if (frame != nullptr) draft.adjust(0.08);
    }
    if (scene.at.evaluation && scene.oom != nullptr) draft.bound(0.65);  // training made them too: VF104, VF205
  }
  if (draft.is_empty()) return;
  draft.fix({"Compute the loss in chunks of tokens, or fused with the last layer",
             "from liger_kernel.transformers import AutoLigerKernelForCausalLM  # or torch.utils.checkpoint on chunks",
             std::nullopt, "little", Applicability::kMayBeWrong});
  draft.fix({"Make scores only where they are used", "outputs = model(input_ids, logits_to_keep=1)  # generation",
             std::nullopt, "none: faster", Applicability::kMayBeWrong});
  offer_smaller_batch(scene, draft);
}

}  // namespace

const Cause kLogitsVocabBlowup{
    "VF108",
    "logits_vocab_blowup",
    "Tokens times vocabulary: the scores before the loss, and their fp32 copy",
    "a frame of the last layer or the loss, a request that is tokens x vocabulary x 4 (or 2) bytes",
    "A language model with a large vocabulary makes tokens x vocabulary scores; the loss copies them to fp32 and keeps "
    "their softmax for the backward pass. With 128 thousand words, 8 thousand tokens take 4 GiB for each copy.",
    "A fused or chunked loss, scores only where they are needed, fewer tokens in a micro-batch.",
    find_logits_vocab_blowup};

}  // namespace vramfit::doctor
