#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "doctor/causes/causes.h"
#include "doctor/remedies.h"

namespace vramfit::doctor {

namespace {

constexpr double kUsualShare = 0.9;  // vLLM's --gpu-memory-utilization where none is given

// What a server said of itself; null: none did.
const model::ForeignDump* find_words(const Scene& scene) {
  const auto found =
      std::find_if(scene.texts.foreign.begin(), scene.texts.foreign.end(), [](const model::ForeignDump& dump) {
        const bool server = mentions(dump.program, {"vllm", "sglang", "tgi", "lmdeploy"}) && says_failure(dump);
        return server || (dump.program == "llama.cpp" && dump.kind == model::ForeignKind::kKvCache);
      });
  return found == scene.texts.foreign.end() ? nullptr : &*found;
}

// The last value of a setting that a log shows; 0: none.
double setting(const Scene& scene, std::string_view name) {
  double value = 0;
  for (const model::SettingSeen& seen : scene.texts.settings) {
    if (seen.name == name) value = std::strtod(seen.value.c_str(), nullptr);
  }
  return value;
}

bool is_on(const Scene& scene, std::string_view name) {
  return std::any_of(scene.texts.settings.begin(), scene.texts.settings.end(),
                     [&](const model::SettingSeen& seen) { return seen.name == name && says_yes(seen.value); });
}

// The share that is free by "Free memory on device (7.35/23.99 GiB) on startup is less than desired GPU memory
// utilization (0.9, 21.59 GiB)".
double free_share(const model::ForeignDump& dump) {
  const std::size_t device = lowered(dump.message).find("on device");
  const std::size_t open = dump.message.find('(', device == std::string::npos ? dump.message.size() : device);
  double free = 0, total = 0;
  if (open == std::string::npos || std::sscanf(dump.message.c_str() + open, "(%lf/%lf", &free, &total) != 2) return 0;
  return total > 0 ? free / total : 0;
}

double number_of(const model::ForeignDump* words, const std::string& name) {
  if (words == nullptr) return 0;
  const auto found = words->numbers.find(name);
  return found == words->numbers.end() ? 0 : found->second;
}

// Too little is left for the cache: it wants more of the card, or a shorter longest request.
void offer_room_for_cache(const Scene& scene, const model::ForeignDump& words, Draft& draft) {
  double fits = number_of(&words, "possible_max_seq_len");
  if (fits == 0) fits = number_of(&words, "kv_cache_tokens");
  draft.fix({"Limit the longest request to what the cache holds",
             fits > 0 ? fmt::format("--max-model-len {:.0f}", fits) : std::string("--max-model-len 8192"), std::nullopt,
             "longer requests are refused", fits > 0 ? Applicability::kAsIs : Applicability::kFillIn});
  const double now = std::max(setting(scene, "gpu_memory_utilization"), 0.0);
  const char* const more = "Give the server a larger share of the card, if nobody else needs it";
  if (now >= 0.95) {
    draft.withhold(more, fmt::format("it has {} of the card already", percent(now)));
  } else {
    draft.fix(
        {more, "--gpu-memory-utilization 0.95", std::nullopt, "less room for others", Applicability::kMayBeWrong});
  }
  draft.fix({"Spread the model over more cards", "--tensor-parallel-size 2", std::nullopt, "one more card",
             Applicability::kFillIn});
  draft.fix({"A cache of 8 bits a number", "--kv-cache-dtype fp8", std::nullopt, "a little less exact",
             Applicability::kMayBeWrong});
}

void offer_vllm(const Scene& scene, const model::ForeignDump* words, Draft& draft) {
  if (words != nullptr && words->kind == model::ForeignKind::kKvCache)
    return offer_room_for_cache(scene, *words, draft);
  double seen = setting(scene, "gpu_memory_utilization");
  for (const model::ForeignDump& dump : scene.texts.foreign) {
    if (const double told = number_of(&dump, "gpu_memory_utilization"); told > 0) seen = told;
  }
  const double now = seen > 0 ? seen : kUsualShare;
  const double free = words != nullptr ? free_share(*words) : 0;
  if (free > 0 && free < now) {
    draft.because(words->at, fmt::format("others hold {} of the card before the server starts", percent(1 - free)));
    draft.fix({"End what else is on the card", "nvidia-smi", std::nullopt, "none", Applicability::kFillIn});
  }
  const double less = free > 0 && free < now ? std::max(0.05, free - 0.02) : now - 0.05;
  draft.fix({"Give the server a smaller share of the card, or room for its CUDA graphs",
             fmt::format("--gpu-memory-utilization {:.2f}", less), std::nullopt, "fewer requests at once",
             Applicability::kMayBeWrong});
  draft.fix({"Fewer and shorter requests at once", "--max-model-len 8192 --max-num-seqs 64", std::nullopt,
             "longer requests are refused", Applicability::kFillIn});
  if (is_on(scene, "enforce_eager")) {
    draft.withhold("Leave out CUDA graphs", "enforce_eager is on already");
  } else {
    draft.fix(
        {"Leave out CUDA graphs", "--enforce-eager", std::nullopt, "slower decoding", Applicability::kMayBeWrong});
  }
}

void offer_sglang(const Scene& scene, const model::ForeignDump* words, Draft& draft) {
  const double seen = setting(scene, "mem_fraction_static");
  if (words != nullptr && words->kind == model::ForeignKind::kKvCache) {
    draft.fix({"Give weights and cache a larger share of the card",
               fmt::format("--mem-fraction-static {:.2f}", seen > 0 ? std::min(seen + 0.05, 0.95) : 0.9), std::nullopt,
               "less room for activations and graphs", Applicability::kMayBeWrong});
    draft.fix(
        {"Spread the model over more cards", "--tp-size 2", std::nullopt, "one more card", Applicability::kFillIn});
    return;
  }
  draft.fix({"Give weights and cache a smaller share of the card",
             fmt::format("--mem-fraction-static {:.2f}", seen > 0 ? seen - 0.05 : 0.8), std::nullopt,
             "fewer requests at once", Applicability::kMayBeWrong});
  draft.fix({"Capture fewer CUDA graphs", "--cuda-graph-max-bs 16  # or --disable-cuda-graph", std::nullopt,
             "slower decoding of large batches", Applicability::kMayBeWrong});
  draft.fix({"Prefill in smaller chunks", "--chunked-prefill-size 2048", std::nullopt, "slower prefill",
             Applicability::kMayBeWrong});
}

void offer_llama(Draft& draft) {
  draft.title("The context's cache and buffers are more than the card has left beside the layers");
  draft.fix({"A shorter context", "-c 4096  # llama.cpp; in Ollama: PARAMETER num_ctx 4096", std::nullopt,
             "shorter conversations", Applicability::kFillIn});
  draft.fix({"Put fewer layers on the card", "-ngl LAYERS  # in Ollama: PARAMETER num_gpu LAYERS", std::nullopt,
             "layers on the CPU are slow", Applicability::kFillIn});
  draft.fix({"A cache of 8 bits a number, and fused attention", "-fa on --cache-type-k q8_0 --cache-type-v q8_0",
             std::nullopt, "a little less exact", Applicability::kMayBeWrong});
}

void offer_other(const model::ForeignDump* words, Draft& draft) {
  if (const double tokens = number_of(words, "prefill_tokens"); tokens > 0) {
    draft.fix({"Take in fewer tokens at once", fmt::format("--max-batch-prefill-tokens {:.0f}", tokens / 2),
               std::nullopt, "longer prompts are refused", Applicability::kMayBeWrong});
  }
  draft.fix({"Give the cache a smaller share of the card",
             "lmdeploy: --cache-max-entry-count 0.5; text-generation-inference: --cuda-memory-fraction 0.8",
             std::nullopt, "fewer requests at once", Applicability::kFillIn});
  draft.fix({"Limit the longest request", "lmdeploy: --session-len; text-generation-inference: --max-total-tokens",
             std::nullopt, "longer requests are refused", Applicability::kFillIn});
}

void offer(const Scene& scene, const model::ForeignDump* words, Draft& draft) {
  const std::string program = words != nullptr ? words->program : "";
  const std::string speaker = scene.oom != nullptr ? lowered(scene.oom->speaker.process) : "";
  if (program == "llama.cpp") return offer_llama(draft);
  if (program == "sglang" || scene.stack.in_file({"sglang"}) != nullptr || speaker.contains("sglang"))
    return offer_sglang(scene, words, draft);
  const bool is_other = scene.stack.in_file({"lmdeploy", "text_generation_server", "tensorrt_llm"}) != nullptr;
  if (program != "vllm" && (is_other || mentions(program, {"lmdeploy", "tgi"}))) return offer_other(words, draft);
  offer_vllm(scene, words, draft);
}

// "the server laid the card out: weights 20.64 GiB, kv cache 21.20 GiB"
std::string tell(const model::ForeignDump& layout) {
  std::string parts;
  for (const model::NamedBytes& one : layout.sizes) {
    std::string name = one.name;
    std::ranges::replace(name, '_', ' ');
    parts += fmt::format("{}{} {}", parts.empty() ? ": " : ", ", name, show(one.bytes));
  }
  return "the server laid the card out" + parts;
}

// llama.cpp prints what it lays out before it asks for it.
void look_at_cache(const Scene& scene, Draft& draft) {
  const model::ForeignDump* cache = find_cache_above_weights(scene);
  if (cache == nullptr) return;
  draft.weigh(0.72).because(cache->at,
                            fmt::format("of all that is laid out the context's cache is the largest: {} of it here",
                                        show(cache->sizes.front().bytes)));
  draft.fix({"Fewer requests at once: each has a cache of its own as long as the context",
             "-np 1  # llama.cpp; in Ollama: OLLAMA_NUM_PARALLEL=1", std::nullopt, "requests wait for each other",
             Applicability::kMayBeWrong});
  offer_llama(draft);
}

// "128k context doesn't fit 96 GB", of a program that serves language models.
void look_at_told_context(const Scene& scene, Draft& draft) {
  const model::Remarkable* told = find_remark(scene, model::SentenceKind::kToldContext);
  if (told == nullptr || scene.oom_has_numbers) return;
  const auto speaks_of = [&](Words words) {
    return std::ranges::any_of(scene.texts.files,
                               [&](const model::TextFile& file) { return mentions(lowered(file.sample), words); });
  };
  const bool is_llama = speaks_of({"ollama", "llama.cpp", "llama-server", "gguf", "koboldcpp", "lm studio", "num_ctx"});
  if (!is_llama && !speaks_of({"vllm", "sglang", "exllama", "lmdeploy", "text-generation-inference"})) return;
  draft.weigh(0.55).because(told->at, "it is the context that does not fit, says who wrote this");
  if (is_llama) offer_llama(draft);
}

void find_serving_overcommit(const Scene& scene, Draft& draft) {
  const model::ForeignDump* words = find_words(scene);
  look_at_cache(scene, draft);
  if (draft.is_empty()) look_at_told_context(scene, draft);
  if (words != nullptr) {
    draft.weigh(words->program == "llama.cpp" ? 0.72 : 0.86).because(words->at, "the server's own words");
  }
  const StackEntry* warm = scene.stack.in_function(
      {"profile_run", "determine_num_available_blocks", "determine_available_memory", "_dummy_run", "warm_up", "warmup",
       "capture_model", "initialize_cache", "init_cuda_graphs", "_allocate_kv_cache", "init_memory_pool"});
  if (scene.at.serving && scene.has_failure()) {
    draft.weigh(scene.oom != nullptr ? 0.75 : 0.5);
    if (warm != nullptr) draft.weigh(0.85);
    const StackEntry* frame = warm != nullptr ? warm : scene.stack.innermost();
    if (frame != nullptr) draft.because(*frame, "it failed inside the server's own set-up or step");
    if (const model::ForeignDump* layout = find_server_layout(scene.texts)) draft.because(layout->at, tell(*layout));
  }
  if (scene.oom != nullptr && mentions(scene.oom->speaker.process, {"vllmworker", "enginecore", "vllm", "sglang"})) {
    draft.weigh(0.72).because(scene.oom_line(), "a server's worker says so");
  }
  if (const model::Remarkable* told = find_remark(scene, model::SentenceKind::kToldServerShare);
      told != nullptr && scene.oom == nullptr) {
    draft.weigh(0.55).because(told->at, "who wrote this turned the server's share of the card up and down");
  }
  if (draft.is_empty()) return;
  if (scene.oom != nullptr && scene.terms.private_pools) {
    draft.because(scene.oom_line(), fmt::format("{} lie in pools of CUDA graphs", show(scene.terms.private_pools)));
  }
  if (!draft.has_fixes()) offer(scene, words, draft);
}

}  // namespace

const Cause kServingOvercommit{
    "VF103",
    "serving_overcommit",
    "The server's budget for cache and graphs is larger than what the card has left",
    "a server's own text, or its frames of profiling, warm-up, cache or graph capture",
    "Servers of language models fill the card on purpose: weights, then a key-value cache up to a fixed share, then "
    "CUDA graphs on top. The share was set too high for this card, or the longest request leaves no cache at all.",
    "Lower the share, the longest request or the number of sequences; leave out CUDA graphs; use more cards.",
    find_serving_overcommit};

}  // namespace vramfit::doctor
