#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "doctor/causes/causes.h"
#include "doctor/remedies.h"

namespace vramfit::doctor {

namespace {

// "Required: 131072, Hardware limit: 101376", with and without blanks and commas: releases print it differently.
std::optional<model::Bytes> bytes_after(std::string_view text, std::string_view words) {
  const std::size_t at = text.find(words);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + words.size());
  while (text.starts_with(' ')) text.remove_prefix(1);
  std::int64_t bytes = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), bytes).ec != std::errc{}) return std::nullopt;
  return model::Bytes(bytes);
}

const model::LibraryError* find_error(const Scene& scene) {
  for (const model::LibraryError& error : scene.texts.library_errors) {
    if (error.library == "triton" && (error.code == "shared memory" || error.code == "tensor memory")) return &error;
  }
  return nullptr;
}

std::string reasoning_of(const model::LibraryError& error) {
  const auto asked = bytes_after(error.message, "Required:");
  const auto limit = bytes_after(error.message, "Hardware limit:");
  const std::string numbers =
      asked && limit
          ? fmt::format("one block of the kernel asks for {}, and this card gives it {}: ", show(*asked), show(*limit))
          : "";
  if (error.code == "tensor memory") {
    return "tensor memory is within the processor (its columns are what is counted), no part of the card's memory";
  }
  return numbers + "shared memory is within the processor, no part of the card's memory";
}

void offer_smaller_blocks(const Scene& scene, const model::LibraryError& error, Draft& draft) {
  const bool of_inductor = mentions(error.message, {"no valid triton configs", "triton_"}) ||
                           scene.stack.in_file({"torch/_inductor", "torchinductor_"}) != nullptr;
  if (mentions(error.message, {"flex_attention"}) || scene.stack.in_file({"flex_attention"}) != nullptr) {
    draft.fix({"Smaller blocks for flex_attention",
               "flex_attention(q, k, v, kernel_options={\"BLOCK_M\": 32, \"BLOCK_N\": 32, \"num_stages\": 1})",
               std::nullopt, "little", Applicability::kMayBeWrong});
  } else if (!of_inductor) {
    draft.fix({"Smaller blocks or fewer stages in the kernel's configurations",
               "triton.Config({\"BLOCK_M\": 64, \"BLOCK_N\": 64}, num_stages=1)", std::nullopt,
               "a somewhat slower kernel", Applicability::kFillIn});
  }
  if (of_inductor) {
    draft.fix({"Compile less: leave out the function that this kernel is of", "@torch.compiler.disable", std::nullopt,
               "that function is slower", Applicability::kFillIn});
  }
  draft.fix({"A newer release of what brings the kernel: configurations for smaller cards come later",
             "pip install -U torch  # or the library whose file is named last", std::nullopt, "none",
             Applicability::kMayBeWrong});
}

// XLA's kernels have theirs on a TPU: vmem, 16 MiB and more within the core.
void look_at_tpu_scratch(const Scene& scene, Draft& draft) {
  const auto found = std::ranges::find_if(scene.texts.foreign, [](const model::ForeignDump& dump) {
    return dump.program == "tpu" && dump.kind == model::ForeignKind::kScratch;
  });
  if (found == scene.texts.foreign.end()) return;
  draft.weigh(0.88).title("A kernel asks for more of the TPU core's own memory (vmem) than there is");
  draft.because(found->at, "vmem is within the core, no part of the device's memory (HBM)");
  draft.fix({"Let the compiler use more of it, or smaller blocks in a kernel of your own",
             "LIBTPU_INIT_ARGS=--xla_tpu_scoped_vmem_limit_kib=32768  # not every TPU has as much", std::nullopt,
             "none", Applicability::kMayBeWrong});
  draft.withhold("A smaller batch", "a block of the kernel needs as much, however many blocks there are");
}

void find_triton_shared_memory(const Scene& scene, Draft& draft) {
  look_at_tpu_scratch(scene, draft);
  const model::LibraryError* error = find_error(scene);
  if (error == nullptr) return;
  draft.weigh(0.9);
  // PyTorch's own message beside it is another failure, and more common.
  if (scene.oom_has_numbers) draft.adjust(-0.5);
  draft.because(error->at, reasoning_of(*error));
  offer_smaller_blocks(scene, *error, draft);
  draft.withhold("A smaller batch", "a block of the kernel needs as much, however many blocks there are");
}

}  // namespace

const Cause kTritonSharedMemory{
    "VF603",
    "triton_shared_memory",
    "A Triton kernel asks for more shared memory than this card's processors have",
    "Triton's own text: \"out of resource: shared memory\", or Inductor's with a kernel's name in its place",
    "Shared memory is a scratchpad within each processor of the card: 48 to 228 KiB, by its generation. A kernel whose "
    "blocks were chosen on a larger card does not start on a smaller one. PyTorch may raise it as OutOfMemoryError; "
    "how "
    "full the card is plays no part, and neither does /dev/shm.",
    "Smaller blocks, fewer stages, or a newer release of what brings the kernel.",
    find_triton_shared_memory};

}  // namespace vramfit::doctor
