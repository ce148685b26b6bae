#include <fmt/format.h>

#include "doctor/causes/causes.h"
#include "doctor/remedies.h"

namespace vramfit::doctor {

namespace {

void find_pool_growth_policy(const Scene& scene, Draft& draft) {
  for (const model::ForeignDump& dump : scene.texts.foreign) {
    const std::string program = lowered(dump.program);
    // Servers have a cause of their own; "cuda" is the driver's text, whoever asked; the rest have no pool to tune.
    if (mentions(program,
                 {"vllm", "sglang", "tgi", "lmdeploy", "llama.cpp", "ollama", "numba", "tensorrt", "sycl", "mlx"}))
      continue;
    if (program == "cuda" || dump.kind == "program" || dump.kind == "host" || !says_failure(dump)) continue;
    draft.weigh(scene.oom_has_numbers ? 0.5 : 0.86);
    std::string sizes;
    for (const model::NamedBytes& size : dump.sizes) {
      sizes += (sizes.empty() ? "" : ", ") + size.name + " " + show(size.bytes);
    }
    draft.because(dump.at,
                  fmt::format("{} has a memory pool of its own{}{}", dump.program, sizes.empty() ? "" : ": ", sizes));
    if (mentions(program, {"tensorflow", "bfc"})) {
      draft.fix({"Let TensorFlow's pool grow as needed", "tf.config.experimental.set_memory_growth(gpu, True)",
                 std::nullopt, "little", Applicability::kMayBeWrong});
    } else if (mentions(program, {"jax", "xla"})) {
      draft.fix({"Keep JAX from taking most of the card at its start", "export XLA_PYTHON_CLIENT_PREALLOCATE=false",
                 std::nullopt, "more fragmentation", Applicability::kAsIs});
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
