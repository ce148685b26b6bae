#include "ingest/network_files.h"

#include <gtest/gtest.h>

namespace vramfit::ingest {
namespace {

using model::TransformerShape;

// Configurations as their makers publish them, cut to what is read.
constexpr std::string_view kLlama = R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
  "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256,
  "max_position_embeddings": 131072, "tie_word_embeddings": false, "torch_dtype": "bfloat16"})";
constexpr std::string_view kGpt2 = R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_ctx": 1024,
  "n_positions": 1024, "vocab_size": 50257})";
constexpr std::string_view kMixtral = R"({"model_type": "mixtral", "hidden_size": 4096, "num_hidden_layers": 32,
  "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 32000,
  "num_local_experts": 8, "num_experts_per_tok": 2})";

TEST(ModelConfig, a_decoder_with_fewer_heads_of_keys) {
  const auto shape = parse_model_config(kLlama, "config.json");
  ASSERT_TRUE(shape) << to_string(shape.error());
  EXPECT_EQ(*shape, (TransformerShape{.kind = "llama",
                                      .layers = 32,
                                      .hidden = 4096,
                                      .heads = 32,
                                      .kv_heads = 8,
                                      .head_dim = 128,
                                      .mlp = 14336,
                                      .vocabulary = 128256,
                                      .longest = 131072}));
}

TEST(ModelConfig, older_names_and_what_they_leave_out) {
  const auto shape = parse_model_config(kGpt2, "config.json");
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->mlp, 4 * 768);
  EXPECT_EQ(shape->mlp_matrices, 2);
  EXPECT_EQ(shape->kv_heads, 12);
  EXPECT_EQ(shape->learned_positions, 1024);
  EXPECT_TRUE(shape->tied_embeddings);
}

TEST(ModelConfig, experts_are_counted_and_those_of_one_token) {
  const auto shape = parse_model_config(kMixtral, "config.json");
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->experts, 8);
  EXPECT_EQ(shape->experts_used, 2);
  EXPECT_EQ(shape->mlp, 14336);
}

TEST(ModelConfig, of_images_and_text_the_part_that_generates_is_taken) {
  const std::string both =
      R"({"model_type": "llava", "vision_config": {"hidden_size": 1}, "text_config": )" + std::string(kLlama) + "}";
  const auto shape = parse_model_config(both, "config.json");
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->hidden, 4096);
  EXPECT_EQ(shape->not_counted, std::vector<std::string>{"vision_config"});
}

TEST(ModelConfig, of_other_builds_the_field_that_tells_is_named) {
  // T5, DeepSeek-V2, Mamba-2 and ViT, cut to what is read.
  const std::pair<const char*, const char*> builds[] = {
      {R"({"model_type": "t5", "is_encoder_decoder": true, "d_model": 512, "num_layers": 6, "num_heads": 8,
           "vocab_size": 32128})",
       "is_encoder_decoder"},
      {R"({"model_type": "t5", "d_model": 512, "num_layers": 6, "num_decoder_layers": 6, "num_heads": 8,
           "vocab_size": 32128})",
       "num_decoder_layers"},
      {R"({"model_type": "t5", "architectures": ["T5ForConditionalGeneration"], "d_ff": 2048, "d_kv": 64,
           "d_model": 512, "decoder_start_token_id": 0, "num_layers": 6, "num_heads": 8, "vocab_size": 32128})",
       "d_kv"},
      {R"({"model_type": "mt5", "d_model": 512, "num_layers": 6, "num_heads": 8, "vocab_size": 32128})",
       "model_type mt5"},
      {R"({"model_type": "deepseek_v2", "hidden_size": 2048, "num_hidden_layers": 27, "num_attention_heads": 16,
           "kv_lora_rank": 512, "vocab_size": 102400})",
       "kv_lora_rank"},
      {R"({"model_type": "mamba2", "hidden_size": 4096, "num_hidden_layers": 64, "num_heads": 128, "state_size": 128,
           "vocab_size": 32768})",
       "state_size"},
      {R"({"model_type": "vit", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
           "image_size": 224, "patch_size": 16})",
       "patch_size"},
      {R"({"model_type": "clip", "projection_dim": 256, "logit_scale_init_value": 2.66, "vision_config": {},
           "text_config": {"hidden_size": 512, "num_hidden_layers": 6, "vocab_size": 49408}})",
       "vision_config"},
      {R"({"model_type": "hubert", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
           "num_feat_extract_layers": 7, "vocab_size": 32})",
       "num_feat_extract_layers"}};
  for (const auto& [config, field] : builds) {
    const auto shape = parse_model_config(config, "config.json");
    ASSERT_FALSE(shape) << field;
    EXPECT_NE(shape.error().what.find(field), std::string::npos) << shape.error().what;
    EXPECT_NE(shape.error().remedy.find("vramfit run"), std::string::npos);
  }
}

TEST(ModelConfig, a_part_that_leaves_out_what_is_usual_is_told_how_to_be_written_whole) {
  const auto shape = parse_model_config(
      R"({"model_type": "llava", "text_config": {"model_type": "llama", "vocab_size": 32064}, "vision_config": {}})",
      "config.json");
  ASSERT_FALSE(shape);
  EXPECT_NE(shape.error().what.find("part for text"), std::string::npos) << shape.error().what;
  EXPECT_NE(shape.error().remedy.find("use_diff=False"), std::string::npos);
}

TEST(ModelConfig, scores_that_no_fused_kernel_takes_are_told_by_fields_and_builds) {
  const auto read = [](const std::string& more) {
    return *parse_model_config(R"({"hidden_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 16,
                                   "vocab_size": 1000, )" +
                                   more + "}",
                               "config.json");
  };
  EXPECT_EQ(read(R"("model_type": "llama")").scores, model::Scores::kFused);
  EXPECT_EQ(read(R"("model_type": "bloom")").scores, model::Scores::kComposed);
  EXPECT_EQ(read(R"("model_type": "falcon", "alibi": true)").scores, model::Scores::kComposed);
  EXPECT_EQ(read(R"("model_type": "falcon", "multi_query": true)").scores, model::Scores::kOneKey);
  EXPECT_EQ(read(R"("model_type": "x", "attn_logit_softcapping": 50.0)").scores, model::Scores::kCapped);
  EXPECT_EQ(read(R"("model_type": "gemma3", "attn_logit_softcapping": null)").scores, model::Scores::kFused);
  EXPECT_TRUE(read(R"("model_type": "x", "final_logit_softcapping": 30.0)").capped_logits);
}

TEST(ModelConfig, a_model_type_that_nobody_knows_is_read_by_its_fields_and_told) {
  const std::string config = R"("hidden_size": 768, "num_hidden_layers": 4, "num_attention_heads": 12,
                                 "intermediate_size": 3072, "vocab_size": 1000)";
  EXPECT_FALSE(parse_model_config(R"({"model_type": "somethingnew", )" + config + "}", "c")->known);
  EXPECT_TRUE(parse_model_config(R"({"model_type": "gemma3_text", )" + config + "}", "c")->known);
  const auto like_bert = parse_model_config(
      R"({"model_type": "ernie", "hidden_dropout_prob": 0.1, "layer_norm_eps": 1e-12, )" + config + "}", "c");
  EXPECT_TRUE(like_bert->known);
  EXPECT_FALSE(like_bert->generates);
  EXPECT_EQ(like_bert->mlp_matrices, 2);
}

TEST(ModelConfig, an_encoder_has_no_cache) {
  const auto shape = parse_model_config(R"({"model_type": "bert", "hidden_size": 768, "num_hidden_layers": 12,
    "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 30522})",
                                        "config.json");
  ASSERT_TRUE(shape);
  EXPECT_FALSE(shape->generates);
}

TEST(ModelConfig, nonsense_is_refused_with_what_is_missing) {
  for (const char* text : {"", "{", "[]", "3", "\"x\"", "{}", R"({"num_hidden_layers": "many"})",
                           R"({"num_hidden_layers": 1e99, "hidden_size": 1})", R"({"num_hidden_layers": 0})"}) {
    const auto shape = parse_model_config(text, "there/config.json");
    ASSERT_FALSE(shape) << text;
    EXPECT_EQ(shape.error().where, "there/config.json");
  }
  EXPECT_NE(parse_model_config(R"({"num_hidden_layers": 2})", "c").error().what.find("hidden_size"), std::string::npos);
}

TEST(Networks, the_table_that_ships_is_read) {
  const auto networks = read_networks(VRAMFIT_SOURCE_DIR "/src/estimate/networks.toml");
  ASSERT_TRUE(networks) << to_string(networks.error());
  EXPECT_GE(networks->size(), 80u);
  for (const model::MeasuredNetwork& network : *networks) {
    EXPECT_GE(network.peak_fp32, network.activations_fp32) << network.name;
    EXPECT_GT(network.inference_fp32.count(), 0) << network.name;
    EXPECT_LT(network.inference_fp32, network.peak_fp32) << network.name;
  }
}

TEST(Networks, a_damaged_table_is_refused_with_its_line) {
  EXPECT_FALSE(parse_networks("[[network]]\nname = \"x\"\n", "n.toml"));
  EXPECT_EQ(parse_networks("[[network]]\nname = \"x\"\n", "n.toml").error().where, "n.toml:1");
  EXPECT_FALSE(parse_networks("[[network]", "n.toml"));
  EXPECT_FALSE(parse_networks("network = [1]", "n.toml"));
  EXPECT_TRUE(parse_networks("schema = 1", "n.toml"));
}

}  // namespace
}  // namespace vramfit::ingest
