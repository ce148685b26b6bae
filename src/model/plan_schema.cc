#include "model/plan_schema.h"

#include <algorithm>

#include "model/number_names.h"

namespace vramfit::model {
namespace {

using enum SettingForm;

// Far above what anybody has, far below what a number of Python's or PyTorch's can't hold.
constexpr double kMostSamples = 1 << 30;
constexpr double kMostParts = 1 << 20;
constexpr double kMostLoaders = 9999;
constexpr double kMostTiles = 64;      // a side: 4096 forwards for an image
constexpr double kMostWorkers = 4096;  // processes
constexpr double kMostClasses = 1LL << 40;
constexpr double kMostRank = 1 << 16;
constexpr double kMostPruned = 0.9;
constexpr double kMostBytes = 1LL << 50;

constexpr std::string_view kHalfTypes[] = {"float16", "bfloat16"};
constexpr std::string_view kTypesOfFrozenWeights[] = {"float16", "bfloat16", "int4"};

constexpr SettingSchema kLoaders = {.name = "loaders",
                                    .form = kWholes,
                                    .meaning =
                                        "data loaders, numbered from 0 in the order in which the script first "
                                        "iterates them",
                                    .most = kMostLoaders,
                                    .left_out = "[0]"};
constexpr SettingSchema kModules = {.name = "modules", .form = kTexts, .meaning = "names as in `named_modules()`"};

constexpr SettingSchema needed_modules() {
  SettingSchema modules = kModules;
  modules.needed = true;
  return modules;
}

constexpr SettingSchema kMicroBatch[] = {
    {.name = "micro_batch", .form = kWhole, .meaning = "samples", .needed = true, .least = 1, .most = kMostSamples},
    {.name = "accumulate",
     .form = kWhole,
     .meaning = "micro-batches for an optimizer step",
     .least = 1,
     .most = kMostParts,
     .left_out = "1"},
    kLoaders};
constexpr SettingSchema kBatchSize[] = {
    {.name = "batch_size", .form = kWhole, .meaning = "samples", .needed = true, .least = 1, .most = kMostSamples},
    kLoaders};
constexpr SettingSchema kAutocast[] = {
    {.name = "dtype", .form = kText, .meaning = "computed in", .words = kHalfTypes, .left_out = "\"bfloat16\""},
    {.name = "scaler", .form = kFlag, .meaning = "the loss is scaled; left out: in float16"}};
constexpr std::string_view kKept[] = {"products"};
constexpr SettingSchema kCheckpoint[] = {
    needed_modules(),
    {.name = "keep",
     .form = kText,
     .meaning = "what is not worked out again: results of products of matrices and of convolutions; left out: nothing",
     .words = kKept,
     .since = 2}};
constexpr SettingSchema kOffload[] = {kModules,
                                      {.name = "at_least",
                                       .form = kWhole,
                                       .meaning = "bytes of a tensor that goes",
                                       .most = kMostBytes,
                                       .left_out = "1048576"}};
constexpr SettingSchema kOffloadOptimizer[] = {{.name = "at_once",
                                                .form = kWhole,
                                                .meaning = "bytes of parameters whose state is on the card at once",
                                                .most = kMostBytes,
                                                .left_out = "67108864",
                                                .since = 2}};
constexpr SettingSchema kOptimizer[] = {
    {.name = "name",
     .form = kText,
     .meaning = "a class of `torch.optim`, or of another package with its dots; left out: the script's own"},
    {.name = "options", .form = kOptions, .meaning = "arguments that it is given", .left_out = "{}"}};
constexpr SettingSchema kResize[] = {{.name = "scale",
                                      .form = kNumber,
                                      .meaning = "of each side, or of a sequence's length",
                                      .needed = true,
                                      .most = 1,
                                      .above_least = true}};
constexpr SettingSchema kChunkedLoss[] = {
    {.name = "chunk_bytes",
     .form = kWhole,
     .meaning = "of the logits of a chunk, in float32; left out: 32 MiB, with `linear` 128 MiB",
     .least = 1,
     .most = kMostBytes,
     .since = 2},
    {.name = "linear",
     .form = kWhole,
     .meaning = "classes of the linear layer that is worked out in the chunks too",
     .least = 1,
     .most = kMostClasses,
     .since = 2}};
constexpr SettingSchema kAllocator[] = {
    {.name = "conf", .form = kText, .meaning = "what `PYTORCH_CUDA_ALLOC_CONF` takes", .needed = true}};
constexpr SettingSchema kEmptyCache[] = {
    {.name = "before", .form = kTexts, .meaning = "phases", .words = kPhaseNames, .left_out = "[\"validate\"]"}};
constexpr SettingSchema kLoaderOptions[] = {
    {.name = "pin_memory", .form = kFlag, .meaning = "batches wait in pinned memory"},
    {.name = "num_workers", .form = kWhole, .meaning = "processes that read data", .most = kMostWorkers}};
constexpr SettingSchema kHalfEvaluation[] = {
    {.name = "dtype", .form = kText, .meaning = "computed in", .words = kHalfTypes, .left_out = "\"bfloat16\""},
    {.name = "weights", .form = kFlag, .meaning = "held in it too", .left_out = "false"}};
constexpr SettingSchema kTiles[] = {{.name = "per_side",
                                     .form = kWhole,
                                     .meaning = "tiles along each side",
                                     .needed = true,
                                     .least = 2,
                                     .most = kMostTiles}};

constexpr SettingSchema kHalfTeacher[] = {{.name = "dtype",
                                           .form = kText,
                                           .meaning = "held and computed in",
                                           .words = kHalfTypes,
                                           .left_out = "\"bfloat16\"",
                                           .since = 2}};
constexpr SettingSchema kSmallerModel[] = {
    {.name = "from", .form = kText, .meaning = "the network's name, or its config's", .needed = true, .since = 2},
    {.name = "to", .form = kText, .meaning = "of the same family", .needed = true, .since = 2}};
constexpr std::string_view kSparseOptimizers[] = {"SparseAdam"};
constexpr SettingSchema kSparseEmbeddings[] = {
    {.name = "optimizer",
     .form = kText,
     .meaning = "of these weights, in the place of the script's Adam or AdamW; left out: the script's own",
     .words = kSparseOptimizers,
     .since = 2}};
constexpr SettingSchema kPrune[] = {{.name = "share",
                                     .form = kNumber,
                                     .meaning = "of each layer's channels that go",
                                     .needed = true,
                                     .most = kMostPruned,
                                     .above_least = true,
                                     .since = 2},
                                    {.name = "sample",
                                     .form = kWholes,
                                     .meaning = "the shape of one sample of the network's input",
                                     .needed = true,
                                     .least = 1,
                                     .most = kMostSamples,
                                     .since = 2,
                                     .repeats = true}};
constexpr SettingSchema kLora[] = {{.name = "rank",
                                    .form = kWhole,
                                    .meaning = "of the adapters",
                                    .least = 1,
                                    .most = kMostRank,
                                    .left_out = "8",
                                    .since = 2},
                                   {.name = "alpha",
                                    .form = kNumber,
                                    .meaning = "their sum is scaled by this over the rank; left out: the rank",
                                    .most = kMostRank,
                                    .above_least = true,
                                    .since = 2},
                                   {.name = "weights",
                                    .form = kText,
                                    .meaning = "those that stand still are held in it; left out: as they are",
                                    .words = kTypesOfFrozenWeights,
                                    .since = 2}};

constexpr TechniqueSchema kTechniques[] = {
    {.id = "micro_batch",
     .meaning = "batches in parts, with one optimizer step for the parts of each",
     .settings = kMicroBatch,
     .for_loaders = true},
    {.id = "batch_size", .meaning = "batches of another size", .settings = kBatchSize, .for_loaders = true},
    {.id = "autocast", .meaning = "forward and loss in mixed precision", .settings = kAutocast},
    {.id = "checkpoint", .meaning = "modules that run again in backward", .settings = kCheckpoint},
    {.id = "offload_activations", .meaning = "what is saved for backward waits in host memory", .settings = kOffload},
    {.id = "offload_optimizer",
     .meaning = "the optimizer's state waits in host memory",
     .settings = kOffloadOptimizer,
     .since = 2},
    {.id = "optimizer",
     .meaning = "another optimizer, or other options of it",
     .settings = kOptimizer,
     .needs_one = true},
    {.id = "resize_input", .meaning = "smaller images, shorter sequences", .settings = kResize},
    {.id = "no_grad_validation", .meaning = "no graph in evaluations"},
    {.id = "chunked_loss",
     .meaning = "cross entropy over many classes in chunks of its rows",
     .settings = kChunkedLoss,
     .since = 2},
    {.id = "gather_on_cpu", .meaning = "an evaluation gathers on the CPU"},
    {.id = "allocator", .meaning = "settings of PyTorch's allocator", .settings = kAllocator},
    {.id = "empty_cache", .meaning = "the allocator's cache is emptied when a phase begins", .settings = kEmptyCache},
    {.id = "loader_options", .meaning = "other options of data loaders", .settings = kLoaderOptions, .needs_one = true},
    {.id = "zero_grad_set_to_none", .meaning = "zeroed gradients are given back"},
    {.id = "half_evaluation", .meaning = "evaluations in half precision", .settings = kHalfEvaluation},
    {.id = "tiles", .meaning = "evaluations in tiles", .settings = kTiles},
    {.id = "int8_weights", .meaning = "weights of 8 bits in evaluations"},
    {.id = "release_gradients", .meaning = "gradients are used and given back within backward"},
    {.id = "int4_weights", .meaning = "weights of 4 bits in evaluations", .since = 2},
    {.id = "half_teacher",
     .meaning = "a teacher's weights and forward in half precision",
     .settings = kHalfTeacher,
     .since = 2},
    {.id = "smaller_model", .meaning = "a smaller network of the family", .settings = kSmallerModel, .since = 2},
    {.id = "lora",
     .meaning = "adapters of low rank are trained in linear layers, whose weights stand still",
     .settings = kLora,
     .since = 2},
    {.id = "attention", .meaning = "attention in fused kernels, which keep no scores", .since = 2},
    {.id = "host_transforms", .meaning = "transforms of batches on the card work in host memory", .since = 2},
    {.id = "prune", .meaning = "channels taken out of a network's layers", .settings = kPrune, .since = 2},
    {.id = "sparse_embeddings",
     .meaning = "gradients of embeddings hold the rows that a step touched alone",
     .settings = kSparseEmbeddings,
     .since = 2},
    {.id = "half_weights", .meaning = "weights, gradients and the optimizer's state in bfloat16", .since = 2}};

int needed_version_of(const Change& change, const TechniqueSchema& technique) {
  int version = technique.since;
  for (const auto& [name, value] : change.settings) {
    const SettingSchema* setting = technique.find(name);
    if (setting != nullptr) version = std::max(version, setting->since);
  }
  return version;
}

}  // namespace

const SettingSchema* TechniqueSchema::find(std::string_view name) const {
  const auto found = std::ranges::find(settings, name, &SettingSchema::name);
  return found == settings.end() ? nullptr : &*found;
}

std::span<const TechniqueSchema> plan_schema() { return kTechniques; }

int newest_plan_version(std::span<const TechniqueSchema> schema) {
  int newest = 1;
  for (const TechniqueSchema& technique : schema) {
    newest = std::max(newest, technique.since);
    for (const SettingSchema& setting : technique.settings) newest = std::max(newest, setting.since);
  }
  return newest;
}

int needed_plan_version(const Plan& plan, std::span<const TechniqueSchema> schema) {
  int version = 1;
  for (const Change& change : plan.changes) {
    const auto technique = std::ranges::find(schema, change.technique, &TechniqueSchema::id);
    if (technique != schema.end()) version = std::max(version, needed_version_of(change, *technique));
  }
  return version;
}

}  // namespace vramfit::model
