#include "ingest/network_files.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/file.h"
#include "ingest/json_fields.h"
#include "ingest/toml_text.h"

namespace vramfit::ingest {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::fail;
using base::Result;
using model::MeasuredNetwork;
using model::TransformerShape;
using nlohmann::json;

namespace {

using Names = std::initializer_list<const char*>;

// Larger than any network, and small enough that products of three are no overflow in a double.
constexpr std::int64_t kMost = std::int64_t{1} << 40;

std::optional<std::int64_t> number(const json& config, Names names) {
  for (const char* name : names) {
    const auto found = config.find(name);
    if (found == config.end() || !found->is_number_integer()) continue;
    const auto value = found->get<std::int64_t>();
    if (value > 0 && value < kMost) return value;
  }
  return std::nullopt;
}

bool flag(const json& config, const char* name, bool otherwise) {
  const auto found = config.find(name);
  return found != config.end() && found->is_boolean() ? found->get<bool>() : otherwise;
}

bool is_positive(const json& config, const char* name) {
  const auto found = config.find(name);
  return found != config.end() && found->is_number() && found->get<double>() > 0;
}

// BERT and its many kin have fields that decoders have not.
bool is_like_bert(const json& config) {
  return (config.contains("hidden_dropout_prob") || config.contains("attention_probs_dropout_prob")) &&
         config.contains("layer_norm_eps");
}

// Whether the MLP of such models is up and down, without a gate.
bool has_plain_mlp(const std::string& kind) {
  constexpr std::string_view kPlain[] = {
      "gpt2",      "gpt_neo",     "gpt_neox",    "gptj",     "opt",       "bloom",  "falcon", "phi",        "bert",
      "roberta",   "xlm-roberta", "distilbert",  "electra",  "vit",       "deit",   "clip",   "starcoder2", "mpt",
      "camembert", "codegen",     "gpt_bigcode", "nemotron", "persimmon", "biogpt", "xglm"};
  return std::ranges::find(kPlain, kind) != std::end(kPlain);
}

bool only_encodes(const std::string& kind) {
  constexpr std::string_view kEncoders[] = {"bert",      "roberta", "xlm-roberta", "distilbert", "electra",
                                            "camembert", "vit",     "deit",        "deberta-v2", "modernbert"};
  return std::ranges::find(kEncoders, kind) != std::end(kEncoders);
}

// Known beside those of has_plain_mlp and only_encodes: decoders of RMSNorm and a gated MLP, whose tensors were seen in
// runs or whose builds are told to be the same.
bool is_known(const std::string& kind) {
  constexpr std::string_view kDecoders[] = {
      "llama",   "mistral",  "mixtral",   "ministral", "ministral3", "qwen2",   "qwen3",   "qwen2_moe",  "qwen3_moe",
      "gemma",   "gemma2",   "gemma3",    "phi3",      "phimoe",     "cohere",  "cohere2", "olmo",       "olmo2",
      "olmo3",   "olmoe",    "granite",   "smollm3",   "stablelm",   "glm",     "glm4",    "glm4_moe",   "exaone4",
      "gpt_oss", "nanochat", "internlm2", "internlm3", "seed_oss",   "apertus", "arcee",   "granitemoe", "dots1"};
  // "gemma3_text": the part for text of a model that also sees.
  const std::string_view plain =
      std::string_view(kind).substr(0, kind.ends_with("_text") ? kind.size() - 5 : kind.size());
  return std::ranges::find(kDecoders, plain) != std::end(kDecoders) || has_plain_mlp(kind) || only_encodes(kind);
}

// transformers takes a fused kernel where a model says that it may (_supports_sdpa); these don't say so.
bool composes_attention(const std::string& kind) {
  constexpr std::string_view kComposed[] = {"bloom",   "mpt",     "codegen",    "gptj",          "gpt_neo",
                                            "gpt_oss", "deberta", "deberta-v2", "megatron-bert", "rembert",
                                            "xglm",    "mpnet",   "roformer",   "vaultgemma"};
  return std::ranges::find(kComposed, kind) != std::end(kComposed);
}

model::Scores scores_of(const json& config, const std::string& kind) {
  if (is_positive(config, "attn_logit_softcapping")) return model::Scores::kCapped;
  if (composes_attention(kind) || flag(config, "alibi", false)) return model::Scores::kComposed;
  const bool has_one_key = flag(config, "multi_query", false) && !flag(config, "new_decoder_architecture", false);
  return has_one_key ? model::Scores::kOneKey : model::Scores::kFused;
}

// Models of images and text keep the part that generates in a table of its own.
const json& text_part(const json& config) {
  for (const char* name : {"text_config", "llm_config", "language_config"}) {
    const auto found = config.find(name);
    if (found != config.end() && found->is_object()) return *found;
  }
  return config;
}

// The other parts of a model that also sees or hears.
std::vector<std::string> other_parts(const json& all, const json& text) {
  std::vector<std::string> parts;
  for (auto field = all.begin(); &all != &text && field != all.end(); ++field) {
    if (field->is_object() && field.key().ends_with("_config") && &*field != &text &&
        field.key() != "quantization_config") {
      parts.push_back(field.key());
    }
  }
  return parts;
}

// T5 and its kin are both unless they say otherwise: their class has is_encoder_decoder as its default, so that most
// files leave it out. Their own fields are the width of a head and what the decoder begins with.
std::string sign_of_t5(const json& config) {
  if (config.contains("is_encoder_decoder")) return "";
  for (const char* field : {"d_kv", "decoder_start_token_id"}) {
    if (number(config, {field})) return field;
  }
  const auto type = config.find("model_type");
  if (type == config.end() || !type->is_string()) return "";
  const auto& word = type->get_ref<const std::string&>();
  return word.ends_with("t5") || word == "switch_transformers" ? fmt::format("model_type {}", word) : "";
}

// Two encoders whose outputs are compared, as CLIP has them: its text is not generated.
bool is_compared(const json& config) {
  const auto text = config.find("text_config");
  return config.contains("vision_config") && text != config.end() && text->is_object() &&
         (config.contains("logit_scale_init_value") || text->contains("projection_dim") ||
          text->contains("projection_size"));
}

// The build of a network that is no stack of plain attention and MLP, by the fields that only such networks have;
// empty: nothing tells.
std::string other_build(const json& config) {
  if (flag(config, "is_encoder_decoder", false)) return "an encoder and a decoder (is_encoder_decoder)";
  // Fields that such networks alone have; is_encoder_decoder may be left to the class.
  for (const char* field : {"num_decoder_layers", "decoder_layers", "encoder_layers", "decoder_ffn_dim"}) {
    if (number(config, {field})) return fmt::format("an encoder and a decoder ({})", field);
  }
  if (const std::string sign = sign_of_t5(config); !sign.empty()) {
    return fmt::format("an encoder and a decoder ({})", sign);
  }
  if (number(config, {"kv_lora_rank"})) return "compressed keys and values (kv_lora_rank)";
  for (const char* field : {"state_size", "ssm_state_size", "mamba_d_state", "d_state", "linear_conv_kernel_dim",
                            "linear_num_value_heads", "rwkv_version", "attention_hidden_size"}) {
    if (number(config, {field})) return fmt::format("layers with a state in place of attention ({})", field);
  }
  for (const char* field : {"num_feat_extract_layers", "num_mel_bins"}) {
    if (number(config, {field})) return fmt::format("sound to listen to ({})", field);
  }
  if (number(config, {"patch_size"}) && !number(config, {"vocab_size"})) return "images to look at (patch_size)";
  return "";
}

void read_experts(const json& config, TransformerShape& shape) {
  shape.experts = number(config, {"num_local_experts", "num_experts", "n_routed_experts"}).value_or(1);
  shape.experts_used = number(config, {"num_experts_per_tok", "moe_k", "top_k"}).value_or(1);
  if (shape.experts == 1) return;
  const std::int64_t width = number(config, {"moe_intermediate_size"}).value_or(shape.mlp);
  shape.shared_mlp = number(config, {"shared_expert_intermediate_size"})
                         .value_or(number(config, {"n_shared_experts"}).value_or(0) * width);
  shape.mlp = width;
}

// A value for each weight, and for each group of them a scale in 16 bits and where the range begins in as many bits.
double grouped_bits(double bits, double group) { return group > 0 ? bits + (16 + bits) / group : bits; }

// The bits of Hugging Face's quantizers, by what their files say. None: the method is not known here.
std::optional<model::Quantization> read_quantization(const json& config) {
  model::Quantization kept{.method = text_of(config, "quant_method")};
  const auto bits = static_cast<double>(number(config, {"bits", "w_bit"}).value_or(4));
  const auto group = static_cast<double>(number(config, {"group_size", "q_group_size"}).value_or(0));
  if (kept.method.empty() && (config.contains("load_in_4bit") || config.contains("load_in_8bit"))) {
    kept.method = "bitsandbytes";
  }
  if (kept.method == "bitsandbytes") {
    constexpr double kScales = 0.5, kDoubleScales = 0.127;  // Dettmers et al. 2023, QLoRA: of blocks of 64
    const bool is_four = flag(config, "load_in_4bit", false);
    const double scales = flag(config, "bnb_4bit_use_double_quant", false) ? kDoubleScales : kScales;
    kept.linear_bits = kept.expert_bits = is_four ? 4 + scales : 8;
  } else if (kept.method == "gptq" || kept.method == "awq") {
    kept.linear_bits = kept.expert_bits = grouped_bits(bits, group);
  } else if (kept.method == "fp8" || kept.method == "fbgemm_fp8") {
    kept.linear_bits = kept.expert_bits = 8;
  } else if (kept.method == "mxfp4") {
    kept.expert_bits = 4.25;  // a scale of 8 bits for 32 weights; attention is not quantized
  } else {
    return std::nullopt;
  }
  return kept;
}

std::string missing_of(const TransformerShape& shape) {
  if (shape.layers == 0) return "num_hidden_layers";
  if (shape.hidden == 0) return "hidden_size";
  if (shape.heads == 0) return "num_attention_heads";
  if (shape.vocabulary == 0 && shape.generates) return "vocab_size";
  return "";
}

}  // namespace

Result<TransformerShape> parse_model_config(std::string_view text, std::string_view name) {
  const json all = json::parse(text, nullptr, false);
  if (!all.is_object())
    return fail(ErrorCode::kCorrupt, "this is no JSON object", std::string(name), "the config.json of a model");
  if (is_compared(all)) {
    return fail(ErrorCode::kUsage,
                "it has two encoders, of pictures and of text, that are compared (vision_config, text_config), and "
                "only stacks of attention and MLP over tokens are estimated",
                std::string(name), "a run tells: vramfit run --gpu CARD -- python train.py");
  }
  const json& config = text_part(all);
  if (const std::string build = other_build(config); !build.empty()) {
    return fail(ErrorCode::kUsage,
                fmt::format("it has {}, and only stacks of attention and MLP over tokens are estimated", build),
                std::string(name), "a run tells: vramfit run --gpu CARD -- python train.py");
  }
  TransformerShape shape;
  shape.not_counted = other_parts(all, config);
  shape.kind = text_of(config, "model_type");
  if (shape.kind.empty()) shape.kind = text_of(all, "model_type");
  const bool like_bert = is_like_bert(config);
  shape.generates = !only_encodes(shape.kind) && (!like_bert || flag(config, "is_decoder", false));
  shape.known = is_known(shape.kind) || like_bert;
  shape.layers = number(config, {"num_hidden_layers", "n_layer", "num_layers", "n_layers"}).value_or(0);
  shape.hidden = number(config, {"hidden_size", "n_embd", "d_model", "dim"}).value_or(0);
  shape.heads = number(config, {"num_attention_heads", "n_head", "n_heads", "num_heads"}).value_or(0);
  shape.kv_heads = number(config, {"num_key_value_heads", "num_kv_heads"}).value_or(shape.heads);
  if (flag(config, "multi_query", false)) shape.kv_heads = 1;
  shape.vocabulary = number(config, {"vocab_size"}).value_or(0);
  if (const std::string missing = missing_of(shape); !missing.empty()) {
    return fail(ErrorCode::kCorrupt,
                fmt::format("the configuration{} has no {}", &config == &all ? "" : " of its part for text", missing),
                std::string(name),
                "a transformer's config.json. One that leaves out what is usual is written whole by python -c \"from "
                "transformers import AutoConfig; AutoConfig.from_pretrained('MODEL').to_json_file('whole.json', "
                "use_diff=False)\"");
  }
  shape.head_dim = number(config, {"head_dim", "d_kv"}).value_or(shape.hidden / shape.heads);
  const bool plain = has_plain_mlp(shape.kind) || like_bert;
  shape.scores = scores_of(config, shape.kind);
  shape.capped_logits = is_positive(config, "final_logit_softcapping");
  shape.mlp_matrices = plain ? 2 : 3;
  shape.mlp = number(config, {"intermediate_size", "n_inner", "d_ff", "ffn_dim", "ffn_hidden_size", "hidden_dim"})
                  .value_or(4 * shape.hidden);
  read_experts(config, shape);
  shape.longest = number(config, {"max_position_embeddings", "n_positions", "n_ctx", "max_seq_len"}).value_or(0);
  if (plain && shape.kind != "gpt_neox" && shape.kind != "falcon" && shape.kind != "bloom" && shape.kind != "phi" &&
      shape.kind != "starcoder2" && shape.kind != "gptj") {
    shape.learned_positions = shape.longest;
  }
  const auto quantized = all.find("quantization_config");
  if (quantized != all.end() && quantized->is_object()) {
    shape.quantization = read_quantization(*quantized);
    if (!shape.quantization) {
      return fail(
          ErrorCode::kUsage,
          fmt::format("its weights are quantized by \"{}\" (quantization_config), whose bits are not known here",
                      text_of(*quantized, "quant_method")),
          std::string(name), "a run tells: vramfit run --gpu CARD -- python infer.py");
    }
  }
  shape.tied_embeddings = flag(config, "tie_word_embeddings", plain || shape.kind.starts_with("gemma"));
  return shape;
}

Result<TransformerShape> read_model_config(const fs::path& path) {
  std::error_code ignored;
  const fs::path file = fs::is_directory(path, ignored) ? path / "config.json" : path;
  const auto text = base::read_file(file);
  if (!text) return std::unexpected(text.error());
  return parse_model_config(*text, file.string());
}

Result<std::vector<MeasuredNetwork>> parse_networks(std::string_view text, std::string_view name) {
  auto root = read_toml(text);
  if (!root) return fail(ErrorCode::kCorrupt, root.error().what, fmt::format("{}:{}", name, root.error().line));
  std::vector<MeasuredNetwork> networks;
  const toml::array* list = (*root)["network"].as_array();
  if (list == nullptr) return networks;
  for (const toml::node& node : *list) {
    const toml::table* table = node.as_table();
    if (table == nullptr) return fail(ErrorCode::kCorrupt, "`network` must be a list of tables", std::string(name));
    const auto count = [table](const char* field) { return (*table)[field].value_or(std::int64_t{0}); };
    networks.push_back({.name = (*table)["name"].value_or(std::string()),
                        .library = (*table)["library"].value_or(std::string()),
                        .size = count("size"),
                        .least_size = count("least_size"),
                        .parameters = count("parameters"),
                        .buffers = base::Bytes(count("buffer_bytes")),
                        .activations_fp32 = base::Bytes(count("activation_bytes_fp32")),
                        .peak_fp32 = base::Bytes(count("peak_bytes_fp32")),
                        .inference_fp32 = base::Bytes(count("inference_bytes_fp32")),
                        .activations_bf16 = base::Bytes(count("activation_bytes_bf16")),
                        .peak_bf16 = base::Bytes(count("peak_bytes_bf16")),
                        .inference_bf16 = base::Bytes(count("inference_bytes_bf16"))});
    const MeasuredNetwork& last = networks.back();
    if (last.name.empty() || last.size <= 0 || last.parameters <= 0 || last.peak_fp32.count() <= 0) {
      return fail(ErrorCode::kCorrupt, "a network without its name, size, parameters or bytes",
                  fmt::format("{}:{}", name, node.source().begin.line));
    }
  }
  return networks;
}

Result<std::vector<MeasuredNetwork>> read_networks(const fs::path& path) {
  const auto text = base::read_file(path);
  if (!text) return std::unexpected(text.error());
  return parse_networks(*text, path.string());
}

}  // namespace vramfit::ingest
