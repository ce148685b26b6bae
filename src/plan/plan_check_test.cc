#include "plan/plan_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace vramfit::plan {
namespace {

using model::Change;

base::Result<void> check(Change change) { return check_plan({"", {std::move(change)}}, "plan.json"); }

TEST(PlanCheck, what_the_techniques_write_is_right) {
  for (const Change& change : std::vector<Change>{
           {"micro_batch",
            {{"micro_batch", std::int64_t{2}},
             {"accumulate", std::int64_t{4}},
             {"loaders", std::vector<std::int64_t>{0}}}},
           {"autocast", {{"dtype", std::string("bfloat16")}, {"scaler", false}}},
           {"autocast", {}},
           {"checkpoint", {{"modules", std::vector<std::string>{"backbone.stage1"}}}},
           {"offload_activations", {}},
           {"offload_activations",
            {{"modules", std::vector<std::string>{"layers.0"}}, {"at_least", std::int64_t{4096}}}},
           {"optimizer", {{"name", std::string("AdamW")}, {"options", model::Options{{"foreach", false}}}}},
           {"resize_input", {{"scale", 0.75}}},
           {"no_grad_validation", {}},
           {"zero_grad_set_to_none", {}},
           {"half_evaluation", {{"dtype", std::string("float16")}, {"weights", true}}},
           {"tiles", {{"per_side", std::int64_t{4}}}},
           {"int8_weights", {}},
           {"offload_weights", {}},
           {"int4_weights", {}},
           {"half_teacher", {{"dtype", std::string("float16")}}},
           {"smaller_model", {{"from", std::string("resnet152")}, {"to", std::string("resnet50")}}},
           {"offload_optimizer", {}},
           {"offload_optimizer", {{"at_once", std::int64_t{1 << 20}}}},
           {"release_gradients", {}},
           {"chunked_loss", {{"chunk_bytes", std::int64_t{1 << 25}}, {"linear", std::int64_t{50304}}}},
           {"split_forward", {{"parts", std::int64_t{2}}}},
           {"split_evaluation", {{"parts", std::int64_t{4}}}},
           {"gather_on_cpu", {}},
           {"allocator", {{"conf", std::string("expandable_segments:True")}}},
           {"empty_cache", {{"before", std::vector<std::string>{"validate"}}}},
           {"lora", {}},
           {"lora", {{"rank", std::int64_t{16}}, {"alpha", 32.0}, {"weights", std::string("bfloat16")}}},
           {"lora", {{"weights", std::string("int4")}}},
           {"half_weights", {}},
           {"prune", {{"share", 0.25}, {"sample", std::vector<std::int64_t>{3, 224, 224}}}},
           {"host_transforms", {}},
           {"memory_budget", {{"budget", 0.5}}},
           {"sparse_embeddings", {}},
           {"sparse_embeddings", {{"optimizer", std::string("SparseAdam")}}},
           {"attention", {}},
           {"loader_options", {{"num_workers", std::int64_t{0}}}}}) {
    EXPECT_TRUE(check(change)) << change.technique;
  }
}

TEST(PlanCheck, a_senseless_setting_is_refused_with_its_place) {
  for (const Change& change : std::vector<Change>{
           {"micro_batch", {{"micro_batch", std::int64_t{0}}}},
           {"micro_batch", {{"micro_batch", 2.5}}},
           {"micro_batch", {}},
           {"micro_batch", {{"micro_batch", std::int64_t{2}}, {"accumulate", std::int64_t{0}}}},
           {"micro_batch", {{"micro_batch", std::int64_t{2}}, {"loaders", std::vector<std::int64_t>{-1}}}},
           {"micro_batch", {{"micro_batch", std::int64_t{2}}, {"acumulate", std::int64_t{2}}}},
           {"autocast", {{"dtype", std::string("float8")}}},
           {"half_teacher", {{"dtype", std::string("float32")}}},
           {"smaller_model", {{"from", std::string("resnet152")}}},
           {"autocast", {{"scaler", std::string("yes")}}},
           {"checkpoint", {{"modules", std::vector<std::string>{}}}},
           {"checkpoint", {{"modules", std::string("layer1")}}},
           {"offload_activations", {{"modules", std::vector<std::string>{}}}},
           {"offload_activations", {{"at_least", std::int64_t{-1}}}},
           {"optimizer", {}},
           {"optimizer", {{"name", std::int64_t{3}}}},
           {"resize_input", {{"scale", -0.5}}},
           {"resize_input", {{"scale", std::int64_t{0}}}},
           {"resize_input", {{"scale", 1.5}}},
           {"allocator", {{"conf", true}}},
           {"empty_cache", {{"before", std::vector<std::string>{"lunch"}}}},
           {"loader_options", {{"num_workers", std::int64_t{-2}}}},
           {"no_grad_validation", {{"really", true}}},
           {"half_evaluation", {{"weights", std::int64_t{1}}}},
           {"int8_weights", {{"bits", std::int64_t{4}}}},
           {"tiles", {}},
           {"tiles", {{"per_side", std::int64_t{1}}}},
           {"micro_batch", {{"micro_batch", std::numeric_limits<std::int64_t>::max()}}},
           {"micro_batch", {{"micro_batch", std::numeric_limits<std::int64_t>::min()}}},
           {"micro_batch", {{"micro_batch", std::int64_t{2}}, {"accumulate", std::int64_t{1} << 40}}},
           {"micro_batch", {{"micro_batch", std::int64_t{2}}, {"loaders", std::vector<std::int64_t>{0, 0}}}},
           {"batch_size", {{"batch_size", std::int64_t{2}}, {"loaders", std::vector<std::int64_t>{1'000'000}}}},
           {"resize_input", {{"scale", std::nan("")}}},
           {"resize_input", {{"scale", std::numeric_limits<double>::infinity()}}},
           {"resize_input", {{"scale", 0.0}}},
           {"checkpoint", {{"modules", std::vector<std::string>{"layer1", "layer1"}}}},
           {"checkpoint", {{"modules", std::vector<std::string>{""}}}},
           {"checkpoint", {{"modules", std::vector<std::string>{"layer1"}}, {"keep", std::string("everything")}}},
           {"checkpoint", {{"modules", std::vector<std::string>(20'000, "layer1")}}},
           {"checkpoint", {{"modules", std::vector<std::string>{std::string("layer\0", 6)}}}},
           {"allocator", {{"conf", std::string("a:1\nb:2")}}},
           {"allocator", {{"conf", std::string(1 << 20, 'a')}}},
           {"optimizer", {{"options", model::Options{}}}},
           {"optimizer", {{"options", model::Options{{"lr", std::nan("")}}}}},
           {"optimizer", {{"options", std::vector<std::string>{}}}},
           {"tiles", {{"per_side", std::int64_t{100'000}}}},
           {"loader_options", {{"num_workers", std::int64_t{1} << 40}}},
           {"lora", {{"rank", std::int64_t{0}}}},
           {"lora", {{"alpha", 0.0}}},
           {"lora", {{"weights", std::string("int2")}}},
           {"half_weights", {{"dtype", std::string("bfloat16")}}},
           {"prune", {{"share", 0.25}}},
           {"prune", {{"share", 1.0}, {"sample", std::vector<std::int64_t>{3, 224, 224}}}},
           {"prune", {{"share", 0.5}, {"sample", std::vector<std::int64_t>{3, 0, 224}}}},
           {"sparse_embeddings", {{"optimizer", std::string("Adam")}}},
           {"attention", {{"kernel", std::string("flash")}}},
           {"magic", {}}}) {
    const auto checked = check(change);
    ASSERT_FALSE(checked) << change.technique;
    EXPECT_EQ(checked.error().code, base::ErrorCode::kUsage);
    EXPECT_EQ(checked.error().where, "plan.json: techniques[0]");
    EXPECT_NE(checked.error().what.find(change.technique), std::string::npos) << checked.error().what;
  }
}

std::string remedy_for(Change change) {
  const auto checked = check(std::move(change));
  return checked ? "" : checked.error().remedy;
}

TEST(PlanCheck, what_was_meant_is_named) {
  EXPECT_EQ(remedy_for({"checkpoints", {}}).find("did you mean \"checkpoint\"?"), 0U);
  EXPECT_EQ(remedy_for({"micro_batch", {{"micro_batch", std::int64_t{2}}, {"acumulate", std::int64_t{2}}}})
                .find("did you mean \"accumulate\"?"),
            0U);
  EXPECT_EQ(remedy_for({"autocast", {{"dtype", std::string("bfloat1")}}}).find("did you mean \"bfloat16\"?"), 0U);
  EXPECT_EQ(remedy_for({"empty_cache", {{"before", std::vector<std::string>{"train", "validat"}}}})
                .find("did you mean \"validate\"?"),
            0U);
  EXPECT_EQ(remedy_for({"int8_weights", {{"bits", std::int64_t{4}}}}), "it has none");
}

TEST(PlanCheck, a_word_that_is_quoted_can_do_nothing_to_a_terminal) {
  const auto checked = check({"\x1b[31m" + std::string(1000, 'x'), {}});
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().what.find('\x1b'), std::string::npos);
  EXPECT_LT(checked.error().what.size(), 200U);
}

TEST(PlanCheck, a_technique_stands_once_or_once_for_each_loader) {
  const Change training = {"micro_batch", {{"micro_batch", std::int64_t{2}}, {"accumulate", std::int64_t{4}}}};
  Change evaluation = {"micro_batch", {{"micro_batch", std::int64_t{1}}, {"loaders", std::vector<std::int64_t>{1}}}};
  EXPECT_TRUE(check_plan({"", {training, evaluation}}, "plan.json"));
  evaluation.settings["loaders"] = std::vector<std::int64_t>{1, 0};
  EXPECT_FALSE(check_plan({"", {training, evaluation}}, "plan.json"));
  EXPECT_FALSE(check_plan({"", {{"autocast", {}}, {"autocast", {}}}}, "plan.json"));
}

TEST(PlanCheck, a_plan_without_a_change_is_refused) { EXPECT_FALSE(check_plan({"", {}}, "plan.json")); }

}  // namespace
}  // namespace vramfit::plan
