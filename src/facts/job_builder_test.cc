#include "facts/job_builder.h"

#include <gtest/gtest.h>

#include "facts/block_levels.h"
#include "facts/recordings.h"
#include "facts/testing/recording_script.h"

namespace vramfit::facts {
namespace {

using base::Bytes;

//   load      weight 100 (tagged)
//   forward   input 10 | stage1 300 | stage2 50     peak of forward: 460
//   backward  gradient 100 (tagged) on top          peak of backward: 560
//   optimizer 80 of temporaries after the activations are gone
RecordingScript two_steps() {
  RecordingScript script;
  script.at(VF_PHASE_LOAD, VF_STAGE_OTHER);
  script.tag(script.alloc(100), VF_OWNER_WEIGHT);
  for (int step = 0; step < 2; ++step) {
    script.at(VF_PHASE_TRAIN, VF_STAGE_INPUT);
    const auto input = script.alloc(10);
    script.tag(input, VF_OWNER_INPUT);
    script.at(VF_PHASE_TRAIN, VF_STAGE_FORWARD, "stage1.conv");
    const auto first = script.alloc(300);
    script.matmul(1000, 64, VF_DTYPE_F32);
    script.at(VF_PHASE_TRAIN, VF_STAGE_FORWARD, "stage2.conv");
    const auto second = script.alloc(50);
    script.matmul(3000, 64, VF_DTYPE_F32);
    script.at(VF_PHASE_TRAIN, VF_STAGE_BACKWARD);
    const auto gradient = script.alloc(100);
    script.tag(gradient, VF_OWNER_GRADIENT);
    script.matmul(8000, 128, VF_DTYPE_F32);
    script.launches(40);
    script.free(first, 300);
    script.free(second, 50);
    script.free(input, 10);
    script.at(VF_PHASE_TRAIN, VF_STAGE_OPTIMIZER);
    const auto temporary = script.alloc(80);
    script.free(temporary, 80);
    script.launches(2);
    script.step();
    script.free(gradient, 100);
  }
  return script;
}

const model::StagePeak* find_stage_peak(const std::vector<model::StagePeak>& moments, std::string_view stage) {
  for (const model::StagePeak& moment : moments) {
    if (moment.phase == "train" && moment.stage == stage) return &moment;
  }
  return nullptr;
}

TEST(Moments, each_stage_has_its_own_fullest_one_with_its_owners) {
  RecordingScript script = two_steps();
  const auto moments = find_stage_peaks(*gather(script.take()), 0);
  const model::StagePeak* forward = find_stage_peak(moments, "forward");
  ASSERT_NE(forward, nullptr);
  EXPECT_EQ(forward->holdings.weights, Bytes(100 * kMib));
  EXPECT_EQ(forward->holdings.inputs, Bytes(10 * kMib));
  EXPECT_EQ(forward->holdings.activations, Bytes(350 * kMib));
  EXPECT_EQ(sum(find_stage_peak(moments, "backward")->holdings), Bytes(560 * kMib));
  EXPECT_EQ(find_stage_peak(moments, "backward")->holdings.gradients, Bytes(100 * kMib));
  EXPECT_EQ(find_stage_peak(moments, "optimizer")->holdings.temporaries, Bytes(80 * kMib));
}

TEST(StepWork, is_that_of_the_last_whole_step) {
  RecordingScript script = two_steps();
  script.at(VF_PHASE_TRAIN, VF_STAGE_FORWARD);
  script.matmul(1, 1, VF_DTYPE_F32);  // the run was cut within the third
  const model::StepWork work = gather(script.take())->work_on(0);
  EXPECT_EQ(work.macs[0], 12000);
  EXPECT_EQ(work.matmul_bytes, 256);
  EXPECT_EQ(work.launches, 42);
  EXPECT_EQ(work.optimizer_launches, 2);
}

TEST(StepWork, of_a_run_that_died_in_its_first_step_is_what_it_got_to) {
  RecordingScript script;
  script.at(VF_PHASE_TRAIN, VF_STAGE_FORWARD);
  script.matmul(500, 8, VF_DTYPE_BF16);
  EXPECT_EQ(gather(script.take())->work_on(0).macs[static_cast<std::size_t>(model::Number::kBf16)], 500);
}

TEST(StepWork, counts_kernels_that_are_alike_as_one_operator) {
  RecordingScript script;
  script.at(VF_PHASE_TRAIN, VF_STAGE_FORWARD);
  script.product(64, 128, 32, 1000, VF_DTYPE_F16);
  script.product(64, 128, 32, 1000, VF_DTYPE_F16);
  script.passes(3, 3000);
  script.step();
  const model::StepWork work = gather(script.take())->work_on(0);
  ASSERT_NE(work.operators, nullptr);
  ASSERT_EQ(work.operators->size(), 2u);
  const model::OperatorWork& product = work.operators->front();
  EXPECT_EQ(product.kind, model::OperatorWork::Kind::kProduct);
  EXPECT_EQ(product.number, model::Number::kF16);
  EXPECT_EQ(std::tuple(product.rows, product.columns, product.inner, product.count), std::tuple(64, 128, 32, 2));
  EXPECT_EQ(work.operators->back().bytes, 1000);
  EXPECT_EQ(work.operators->back().count, 3);
  EXPECT_EQ(work.other_bytes, 3000);
}

TEST(StepWork, keeps_passes_that_go_one_by_one_apart_from_those_of_vectors) {
  RecordingScript script;
  script.at(VF_PHASE_TRAIN, VF_STAGE_FORWARD);
  script.product(64, 128, 32, 1000, VF_DTYPE_F32);
  script.passes(1, 1000);
  script.passes(1, 1000, 250);
  script.step();
  const model::StepWork work = gather(script.take())->work_on(0);
  ASSERT_NE(work.operators, nullptr);
  ASSERT_EQ(work.operators->size(), 3u);
  EXPECT_EQ((*work.operators)[1].elements, 0);
  EXPECT_EQ((*work.operators)[2].elements, 250);
}

TEST(StepWork, counts_copies_between_the_card_and_the_host) {
  RecordingScript script;
  script.at(VF_PHASE_TRAIN, VF_STAGE_FORWARD);
  script.product(64, 128, 32, 1000, VF_DTYPE_F32);
  script.passes(1, 3000);
  script.copy(500, 1);
  script.copy(700, 2);
  script.copy(900, 3);
  script.step();
  const model::StepWork work = gather(script.take())->work_on(0);
  EXPECT_EQ(work.host_bytes, 1200);
  ASSERT_NE(work.operators, nullptr);
  EXPECT_EQ(work.other_bytes, 3000 + 2 * 900) << "read and written on the card";
}

TEST(StepWork, is_that_of_a_batch_where_nothing_trains) {
  RecordingScript script;
  script.at(VF_PHASE_TEST, VF_STAGE_FORWARD);
  script.product(64, 128, 32, 1000, VF_DTYPE_F32);
  script.copy(500, 1);
  script.step();
  EXPECT_EQ(gather(script.take())->work_on(0).host_bytes, 500);
  RecordingScript trains;
  trains.at(VF_PHASE_TEST, VF_STAGE_FORWARD);
  trains.copy(500, 1);
  trains.step();
  trains.at(VF_PHASE_TRAIN, VF_STAGE_FORWARD);
  trains.product(64, 128, 32, 1000, VF_DTYPE_F32);
  trains.copy(300, 1);
  trains.step();
  EXPECT_EQ(gather(trains.take())->work_on(0).host_bytes, 300);
}

TEST(StepWork, has_no_operators_where_most_launches_tell_nothing) {
  RecordingScript script;
  script.at(VF_PHASE_TRAIN, VF_STAGE_FORWARD);
  script.product(64, 128, 32, 1000, VF_DTYPE_F32);
  script.passes(1, 3000);
  script.launches(100);
  script.step();
  EXPECT_EQ(gather(script.take())->work_on(0).operators, nullptr);
}

model::Job build(RecordingScript& script) {
  model::RunResult result;
  result.devices.push_back({});
  result.devices[0].peaks = {Bytes::mib(560), Bytes::mib(600), Bytes::mib(900)};
  result.phases.push_back({"train", 0, {Bytes::mib(560), Bytes::mib(600), Bytes::mib(900)}, 2});
  const auto facts = gather(script.take());
  return build_job(*facts, result);
}

TEST(JobBuilder, joins_notes_and_records) {
  RecordingScript script = two_steps();
  script.note(
      R"({"kind":"loader","ordinal":0,"batch_size":8,"batches":100,"phase":"train","shapes":[[8,3,64,64],[8]]})");
  script.note(R"({"kind":"root_module","class_name":"Loss","parameters":0,"parameter_bytes":0})");
  script.note(R"({"kind":"root_module","class_name":"Net","parameters":25,"parameter_bytes":104857600,
      "has_batch_norm":true})");
  script.note(R"({"kind":"module_memory","name":"stage2","class_name":"Stage","saved_bytes":52428800,"calls":1})");
  script.note(R"({"kind":"module_memory","name":"stage1","class_name":"Stage","saved_bytes":314572800,"calls":1})");
  script.note(
      R"({"kind":"optimizer","class_name":"AdamW","options":{"foreach":null,"fused":false},"largest_bytes":5,"state_bytes":7,"factored_bytes":3,"moved_bytes":6})");
  script.note(
      R"({"kind":"linear_layers","trained":9,"frozen":1,"adapted":5,"layers":2,"width":4,"whole":1,"halved":6,"loaded":true})");
  script.note(
      R"({"kind":"linear_layers","trained":2,"frozen":0,"adapted":2,"layers":1,"width":3,"whole":0,"halved":0})");
  script.note(R"({"kind":"convolution_layers","trained":9,"layers":3,"sample":[3,64,64],"torch_pruning":true})");
  script.note(R"({"kind":"card_transform","name":"Compose","phase":"train"})");
  script.note(R"({"kind":"convolution_layers","trained":2,"layers":1,"sample":[],"torch_pruning":true})");
  script.note(
      R"({"kind":"sparse_embeddings","bytes":4096,"touched_bytes":64,"layers":2,"optimizer":"SGD","same":true,"why_not":""})");
  script.note(R"({"kind":"precision","autocast":null,"scaler":false,"checkpointing":false,"compiled":false})");
  script.note(R"({"kind":"compiled","memory_budget":1.0})");
  const model::Job job = build(script);
  EXPECT_EQ(job.compiler, model::CompilerFacts{1.0});
  EXPECT_EQ(job.convolution_layers, (model::ConvolutionLayers{9, 3, {3, 64, 64}, true}));
  EXPECT_EQ(job.sparse_embeddings, (model::SparseEmbeddings{Bytes(4096), Bytes(64), 2, "SGD", true, ""}));
  EXPECT_EQ(job.card_transforms, (std::vector<model::CardTransform>{{"Compose", "train"}}));
  EXPECT_EQ(job.root_class, "Net");
  EXPECT_TRUE(job.has_batch_norm);
  ASSERT_EQ(job.loaders.size(), 1U);
  EXPECT_EQ(job.loaders[0].batch_size, 8);
  EXPECT_EQ(job.loaders[0].shapes, (std::vector<std::vector<std::int64_t>>{{8, 3, 64, 64}, {8}}));
  ASSERT_EQ(job.levels.size(), 1U);
  EXPECT_EQ(job.levels[0].blocks[0].name, "stage1") << "in the order in which they ran, not of the notes";
  EXPECT_EQ(job.levels[0].blocks[1].forward_macs, 3000);
  EXPECT_EQ(job.optimizer->class_name, "AdamW");
  EXPECT_EQ(job.optimizer->factored, Bytes(3));
  EXPECT_EQ(job.moved, Bytes(6));
  EXPECT_EQ(job.linear_layers, (model::LinearLayers{9, 1, 5, 2, 4, 1, 6, true})) << "of the network with most to train";
  EXPECT_FALSE(job.optimizer->foreach.has_value());
  EXPECT_FALSE(job.precision.autocast.has_value());
  EXPECT_EQ(job.overhead, Bytes::mib(300));
}

TEST(JobBuilder, knows_where_gradients_are_kept) {
  RecordingScript script = two_steps();
  EXPECT_FALSE(build(script).kept_gradients.has_value());
  script = two_steps();
  script.note(R"({"kind":"gradients_kept","line":"train.py:31 in train","after_forward":true})");
  EXPECT_EQ(build(script).kept_gradients, (model::KeptGradients{"train.py:31 in train", true}));
}

TEST(JobBuilder, knows_what_would_be_refused) {
  RecordingScript script = two_steps();
  script.note(R"({"kind":"plan_obstacle","id":"release_gradients","text":"clipped","loader":null})");
  script.note(R"({"kind":"plan_obstacle","id":"micro_batch","text":"counts","loader":1})");
  EXPECT_EQ(build(script).obstacles, (std::vector<model::Obstacle>{{"release_gradients", "clipped", std::nullopt},
                                                                   {"micro_batch", "counts", 1}}));
}

TEST(JobBuilder, knows_the_largest_network_and_teacher_and_what_the_hooks_advise) {
  RecordingScript script = two_steps();
  EXPECT_FALSE(build(script).network.has_value());
  script = two_steps();
  script.note(
      R"({"kind":"network_made","library":"timm","name":"resnet18","weights":11000000,"smaller":[],"loaded":false})");
  script.note(
      R"({"kind":"network_made","library":"timm","name":"resnet50","weights":25000000,"smaller":["resnet34"],"loaded":true})");
  script.note(R"({"kind":"teacher","class_name":"Small","bytes":100,"is_float":false})");
  script.note(R"({"kind":"teacher","class_name":"Big","bytes":900,"is_float":true})");
  script.note(R"({"kind":"advice","text":"masks take 3 MiB"})");
  const model::Job job = build(script);
  EXPECT_EQ(job.network, (model::NetworkFacts{"timm", "resnet50", {"resnet34"}, 25000000, true}));
  EXPECT_EQ(job.teacher, (model::TeacherFacts{"Big", Bytes(900), true}));
  EXPECT_EQ(job.advice, std::vector<std::string>{"masks take 3 MiB"});
}

TEST(JobBuilder, knows_what_attention_keeps_where_it_keeps_most) {
  RecordingScript script = two_steps();
  EXPECT_FALSE(build(script).attention.has_value());
  script = two_steps();
  const std::string kinds = R"("of_sdpa":5,"of_multihead":0,"eager":"Bert","why_not":"caps")";
  script.note((R"({"kind":"attention_kept","scores":900,"calls":2,"spared":100,)" + kinds + "}").c_str());
  script.note((R"({"kind":"attention_kept","scores":10,"calls":1,"spared":0,)" + kinds + "}").c_str());
  EXPECT_EQ(build(script).attention,
            (model::AttentionFacts{Bytes(900), 2, Bytes(5), Bytes(0), Bytes(100), "Bert", "caps"}));
}

// Whether a batch norm trains only the hooks know: neither its class tells, nor which model is the largest.
TEST(JobBuilder, batch_norms_are_those_that_a_model_was_said_to_train) {
  RecordingScript frozen = two_steps();
  frozen.note(
      R"({"kind":"root_module","class_name":"Net","parameters":25,"parameter_bytes":9,"has_batch_norm":false})");
  frozen.note(R"({"kind":"module_memory","name":"norm","class_name":"BatchNorm2d","saved_bytes":52428800,"calls":1})");
  EXPECT_FALSE(build(frozen).has_batch_norm);
  RecordingScript later = two_steps();
  later.note(R"({"kind":"root_module","class_name":"Net","parameters":25,"parameter_bytes":9,"has_batch_norm":false})");
  later.note(R"({"kind":"root_module","class_name":"Net","parameters":25,"parameter_bytes":9,"has_batch_norm":true})");
  EXPECT_TRUE(build(later).has_batch_norm) << "an evaluation came first";
}

TEST(JobBuilder, notes_of_the_wrong_type_do_no_harm) {
  RecordingScript script = two_steps();
  script.note(R"({"kind":"loader","ordinal":"zero","batch_size":null,"shapes":{"a":1}})");
  script.note(R"({"kind":"module_memory","name":7,"saved_bytes":"many"})");
  script.note(R"({"kind":"root_module","parameters":[1,null]})");
  script.note(R"({"kind":"precision","autocast":true})");
  const model::Job job = build(script);
  EXPECT_EQ(job.parameter_bytes, Bytes(100 * kMib)) << "from the weights that were tagged";
  EXPECT_TRUE(job.levels.empty());
}

TEST(JobBuilder, an_evaluation_with_gradients_on_is_known_by_its_note) {
  RecordingScript frugal = two_steps();
  EXPECT_FALSE(build(frugal).validates_with_gradients);
  RecordingScript script = two_steps();
  script.note(R"({"kind":"evaluation","phase":"validate","gradients":true,"samples":8})");
  EXPECT_TRUE(build(script).validates_with_gradients);
  EXPECT_EQ(build(script).evaluated_at_once, 8);
}

TEST(JobBuilder, of_what_evaluations_gather_the_largest_counts) {
  RecordingScript script = two_steps();
  script.note(R"({"kind":"growth","text":"a leak","peaks":[]})");
  script.note(R"({"kind":"growth","phase":"validate","bytes_per_batch":1000,"batches":10})");
  script.note(R"({"kind":"growth","phase":"test","bytes_per_batch":5000,"batches":4,"variable":"kept",
      "line":"train.py:9 in test","movable":true})");
  const auto gathered = build(script).gathered;
  ASSERT_TRUE(gathered);
  EXPECT_EQ(*gathered, (model::GatheredFacts{"test", "kept", "train.py:9 in test", Bytes(5000), 4, true}));
  EXPECT_EQ(sum(*gathered), Bytes(20000));
}

TEST(JobBuilder, what_was_gathered_is_told_apart_from_what_a_batch_holds) {
  RecordingScript script = two_steps();
  script.note(R"({"kind":"growth","phase":"validate","bytes_per_batch":20971520,"batches":5})");
  script.at(VF_PHASE_VALIDATE, VF_STAGE_FORWARD, "stage1.conv");
  script.alloc(130);  // five times 20 MiB and the forward's own 30
  script.at(VF_PHASE_VALIDATE, VF_STAGE_OTHER);
  script.alloc(100);  // they are concatenated
  const model::Job job = build(script);
  for (const model::StagePeak& moment : job.stage_peaks) {
    if (moment.phase != "validate") continue;
    EXPECT_EQ(moment.holdings.gathered, Bytes::mib(moment.stage == "forward" ? 100 : 180)) << moment.stage;
    EXPECT_EQ(moment.holdings.activations, Bytes::mib(30)) << moment.stage;
  }
}

TEST(JobBuilder, what_is_left_of_training_while_an_evaluation_runs_is_found) {
  RecordingScript script;
  script.at(VF_PHASE_LOAD, VF_STAGE_OTHER);
  script.tag(script.alloc(100), VF_OWNER_WEIGHT);
  script.at(VF_PHASE_TRAIN, VF_STAGE_FORWARD, "net");
  script.alloc(30);  // kept by the script
  const auto freed = script.alloc(40);
  script.tag(script.alloc(50), VF_OWNER_GRADIENT);
  script.free(freed, 40);
  script.step();
  EXPECT_FALSE(build(script).kept_from_training) << "there was no evaluation";
  RecordingScript evaluated;
  evaluated.at(VF_PHASE_TRAIN, VF_STAGE_FORWARD, "net");
  evaluated.alloc(30);
  evaluated.tag(evaluated.alloc(50), VF_OWNER_GRADIENT);
  evaluated.at(VF_PHASE_VALIDATE, VF_STAGE_FORWARD, "net");
  evaluated.alloc(10);
  EXPECT_EQ(build(evaluated).kept_from_training, (model::KeptTrainingTensors{"validate", "", Bytes::mib(30)}));
}

TEST(JobBuilder, the_facts_about_memory_are_of_the_fullest_card) {
  RecordingScript script;
  script.on(0);
  script.at(VF_PHASE_TRAIN, VF_STAGE_FORWARD, "a");
  script.alloc(10);
  script.matmul(7, 8, VF_DTYPE_F32);
  script.on(1);
  script.alloc(30);
  script.matmul(5, 8, VF_DTYPE_F32);
  script.step();
  model::RunResult result;
  result.devices.resize(2);
  result.devices[1].index = 1;
  result.devices[1].peaks = {Bytes::mib(30), Bytes::mib(30), Bytes::mib(330)};
  result.peak_device = 1;
  const auto facts = gather(script.take());
  const model::Job job = build_job(*facts, result);
  EXPECT_EQ(job.device, 1);
  EXPECT_EQ(find_stage_peak(job.stage_peaks, "forward")->holdings.activations, Bytes::mib(30));
  EXPECT_EQ(job.work.macs[0], 5);
  EXPECT_EQ(job.overhead, Bytes::mib(300));
}

model::ModuleBlock module(std::string name, std::int64_t saved_mib) {
  model::ModuleBlock block;
  block.name = std::move(name);
  block.saved = Bytes::mib(saved_mib);
  return block;
}

std::vector<std::string> names(const model::BlockLevel& level) {
  std::vector<std::string> result;
  for (const model::ModuleBlock& block : level.blocks) result.push_back(block.name);
  return result;
}

TEST(BlockLevels, go_from_coarse_to_fine_and_stay_disjoint) {
  const auto levels = build_levels({module("backbone.0", 40), module("backbone.1", 50), module("backbone", 100),
                                    module("head.conv", 10), module("head", 50)});
  ASSERT_EQ(levels.size(), 2U);
  EXPECT_EQ(names(levels[0]), (std::vector<std::string>{"backbone", "head"}));
  EXPECT_EQ(names(levels[1]), (std::vector<std::string>{"backbone.0", "backbone.1", "head"}))
      << "head is not split: its part holds a fifth of it";
}

TEST(BlockLevels, a_container_that_never_ran_is_no_block) {
  const auto levels = build_levels({module("layers.0", 40), module("layers.1", 40), module("layers.10", 40)});
  ASSERT_EQ(levels.size(), 1U);
  EXPECT_EQ(names(levels[0]), (std::vector<std::string>{"layers.0", "layers.1", "layers.10"}));
}

}  // namespace
}  // namespace vramfit::facts
