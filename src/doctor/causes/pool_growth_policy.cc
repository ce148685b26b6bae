#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "doctor/causes/causes.h"
#include "doctor/remedies.h"

namespace vramfit::doctor {

namespace {

// Servers have a cause of their own; "cuda" is the driver's text, whoever asked; the rest have no pool to tune.
bool is_of_a_pool(const model::ForeignDump& dump) {
  const std::string program = lowered(dump.program);
  if (mentions(program, {"vllm", "sglang", "tgi", "lmdeploy", "llama.cpp", "ollama", "numba", "tensorrt", "sycl",
                         "vulkan", "mlx", "tpu"}))
    return false;
  return program != "cuda" && dump.kind != model::ForeignKind::kProgram && dump.kind != model::ForeignKind::kRefused &&
         dump.kind != model::ForeignKind::kHost && says_failure(dump);
}

// XLA's pool for JAX is TensorFlow's allocator, and says the same words: whose it is, the text around them tells.
bool is_of_jax(const model::ForeignDump& dump, const Scene& scene) {
  if (mentions(lowered(dump.program), {"jax", "xla"})) return true;
  if (!mentions(lowered(dump.program), {"tensorflow", "bfc"})) return false;
  const auto& texts = scene.texts;
  const auto stands_in_frames = [&](Words words) {
    return std::ranges::any_of(texts.tracebacks, [&](const model::Traceback& traceback) {
      return std::ranges::any_of(traceback.exceptions, [&](const model::TracedException& exception) {
        return std::ranges::any_of(exception.frames,
                                   [&](const model::TraceFrame& frame) { return mentions(frame.file, words); });
      });
    });
  };
  if (stands_in_frames({"/tensorflow/", "/keras/"})) return false;
  const bool says_jax =
      std::ranges::any_of(texts.foreign, [](const model::ForeignDump& one) { return lowered(one.program) == "jax"; });
  return says_jax || stands_in_frames({"/jax/", "/jaxlib/", "/flax/"}) || dump.at.text.contains("external/xla/");
}

// "OOM when allocating tensor with shape[...]" of a program that has no PyTorch in it: its pool has what the card has,
// and what it is to hold is more.
bool is_of_a_tensor(const model::ForeignDump& dump, const Scene& scene) {
  return mentions(dump.message, {"oom when allocating tensor"}) &&
         std::ranges::none_of(scene.texts.files,
                              [](const model::TextFile& file) { return mentions(file.sample, {"torch"}); });
}

// What Paddle's own message proposes, in both of its wordings.
void offer_for_paddle(const model::ForeignDump& dump, const Scene& scene, Draft& draft) {
  const bool shrink =
      mentions(dump.message, {"shrink"}) || std::ranges::any_of(scene.texts.foreign, [](const model::ForeignDump& one) {
        return mentions(one.message, {"shrink flags"});
      });
  draft.fix({"End what else uses this GPU, or start Paddle on another one", "nvidia-smi  # then CUDA_VISIBLE_DEVICES=1",
             std::nullopt, "none", Applicability::kFillIn});
  draft.fix({"A smaller batch", "batch_size", std::nullopt, "little", Applicability::kFillIn});
  draft.fix({shrink ? "Let its pool begin with less" : "Let its pool have more of the card, or grow as needed",
             shrink ? "export FLAGS_fraction_of_gpu_memory_to_use=0.1"
                    : "export FLAGS_fraction_of_gpu_memory_to_use=0.98  # or FLAGS_allocator_strategy=auto_growth",
             std::nullopt, "little", Applicability::kMayBeWrong});
}

// "JAX takes all of the card": these take most of it at their start, unless they are told not to.
void look_at_what_is_told_of_pools(const Scene& scene, Draft& draft) {
  if (scene.oom != nullptr) return;
  for (const model::ToldSentence& told : scene.texts.told) {
    const bool is_jax = mentions(told.at.text, {"jax", "xla"}),
               is_tensorflow = mentions(told.at.text, {"tensorflow", "keras"});
    if (told.kind != model::ToldKind::kTrouble || !told.names_memory || !(is_jax || is_tensorflow)) continue;
    const auto file = std::ranges::find(scene.texts.files, told.at.file, &model::TextFile::name);
    if (file != scene.texts.files.end() && file->kind != model::TextKind::kNone) continue;
    draft.weigh(0.5).severity(model::Severity::kWarning);
    draft.because(
        told.at,
        is_jax ? "JAX takes three quarters of the card at its start, unless it is told not to before it is imported"
               : "TensorFlow takes the whole card at its start, unless it is told not to");
    if (is_jax) {
      draft.fix({"Keep JAX from taking most of the card at its start", "export XLA_PYTHON_CLIENT_PREALLOCATE=false",
                 std::nullopt, "more fragmentation", Applicability::kAsIs});
    } else {
      draft.fix({"Let TensorFlow's pool grow as needed", "tf.config.experimental.set_memory_growth(gpu, True)",
                 std::nullopt, "little", Applicability::kMayBeWrong});
    }
    return;
  }
}

void find_pool_growth_policy(const Scene& scene, Draft& draft) {
  // The line with the numbers, of several in one message, says whose it is.
  std::vector<const model::ForeignDump*> dumps;
  for (const model::ForeignDump& dump : scene.texts.foreign) {
    if (is_of_a_pool(dump)) dumps.push_back(&dump);
  }
  std::ranges::stable_partition(dumps, [](const model::ForeignDump* dump) { return !dump->sizes.empty(); });
  for (const model::ForeignDump* found : dumps) {
    const model::ForeignDump& dump = *found;
    const std::string program = lowered(dump.program);
    const bool told_who = find_remark(scene, model::SentenceKind::kToldOwnMany) != nullptr ||
                          find_remark(scene, model::SentenceKind::kToldOthers) != nullptr;
    const bool of_tensor = is_of_a_tensor(dump, scene);
    // That a pool has nothing left is what any of them says of a card that is full. Its policy is to blame for sure
    // only where it had a bound of its own.
    const bool has_bound = dump.kind == model::ForeignKind::kPoolExceeded ||
                           std::ranges::find(dump.sizes, "limit", &model::NamedBytes::name) != dump.sizes.end();
    draft.weigh(scene.oom_has_numbers || told_who ? 0.5 : of_tensor ? 0.62 : has_bound ? 0.86 : 0.68);
    std::string sizes;
    for (const model::NamedBytes& size : dump.sizes) {
      sizes += (sizes.empty() ? "" : ", ") + size.name + " " + show(size.bytes);
    }
    const bool of_jax = is_of_jax(dump, scene);
    draft.because(dump.at, fmt::format("{} has a memory pool of its own{}{}", of_jax ? "jax" : dump.program,
                                       sizes.empty() ? "" : ": ", sizes));
    if (of_tensor) {
      draft.fix(
          {"Make what it holds smaller: fewer or shorter samples in a batch, smaller pictures; see whether one "
           "sample is much longer than the rest",
           "dataset.batch(SMALLER)  # text: cut long lines", std::nullopt, "little", Applicability::kFillIn});
    }
    if (!of_jax && mentions(program, {"tensorflow", "bfc"})) {
      draft.fix({"Let TensorFlow's pool grow as needed", "tf.config.experimental.set_memory_growth(gpu, True)",
                 std::nullopt, "little", Applicability::kMayBeWrong});
    } else if (of_jax) {
      draft.fix({"Keep JAX from taking most of the card at its start", "export XLA_PYTHON_CLIENT_PREALLOCATE=false",
                 std::nullopt, "more fragmentation", Applicability::kAsIs});
    } else if (program == "paddle") {
      offer_for_paddle(dump, scene, draft);
    } else if (program == "mxnet") {
      draft.fix(
          {"A smaller batch for each GPU", "--per-batch-size SMALLER", std::nullopt, "little", Applicability::kFillIn});
      draft.fix({"Let MXNet's pool keep nothing, or leave more of the card to others",
                 "export MXNET_GPU_MEM_POOL_TYPE=Unpooled  # or MXNET_GPU_MEM_POOL_RESERVE=20", std::nullopt,
                 "more calls of the driver", Applicability::kMayBeWrong});
    } else if (program == "onnxruntime") {
      draft.fix({"Keep its arena from growing by powers of two",
                 "(\"CUDAExecutionProvider\", {\"arena_extend_strategy\": \"kSameAsRequested\"})", std::nullopt,
                 "more calls of the driver", Applicability::kMayBeWrong});
      draft.fix({"Smaller batches or shapes: one buffer of this node is more than what is left", "", std::nullopt,
                 "little", Applicability::kFillIn});
    } else if (mentions(program, {"rmm", "cudf", "cupy", "cuml"})) {
      draft.fix({"Bound the pool, or share PyTorch's", "rmm.reinitialize(pool_allocator=True, maximum_pool_size=BYTES)",
                 std::nullopt, "little", Applicability::kFillIn});
    }
    break;
  }
  if (draft.is_empty()) look_at_what_is_told_of_pools(scene, draft);
  if (draft.is_empty()) return;
  draft.fix({"Run what uses another framework in a process of its own that ends",
             "subprocess / multiprocessing \"spawn\"", std::nullopt, "a start of a process", Applicability::kFillIn});
}

}  // namespace

const Cause kPoolGrowthPolicy{
    "VF304",
    "pool_growth_policy",
    "Another library's memory pool ran out, or took what PyTorch needed",
    "that library's own text: BFC allocator, XLA, RMM, CuPy, ...",
    "TensorFlow, JAX, RMM and others keep pools of their own, grow them by doubling, or take most of the card at their "
    "start. Their message is about their pool; PyTorch's settings do not reach it.",
    "Bound or share the pool, or separate the processes.",
    find_pool_growth_policy};

}  // namespace vramfit::doctor
