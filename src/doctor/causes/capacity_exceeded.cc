#include <fmt/format.h>

#include <algorithm>

#include "base/out_of_memory.h"
#include "base/parse_number.h"
#include "doctor/causes/causes.h"
#include "doctor/remedies.h"
#include "model/oom_figures.h"

namespace vramfit::doctor {

namespace {

// How much the numbers alone speak for it: live memory near the total, little idle, little of anybody else.
double weigh_numbers(const Scene& scene) {
  const Terms& terms = scene.terms;
  const double live = share(terms.live ? terms.live : terms.reserved, terms.total);
  if (surely_above(terms.live, terms.total)) return 0.15;  // paged to the host by the driver
  if (surely_above(terms.tried, terms.total)) return 0.2;  // one tensor larger than the card
  double weight = live >= 0.75 ? 0.55 : live >= 0.55 ? 0.48 : live >= 0.35 ? 0.38 : 0.28;
  const bool idle_would_do = terms.idle && terms.free && may_reach(*terms.idle + *terms.free, terms.tensor);
  const bool idle_alone = terms.idle && may_reach(terms.idle, terms.tensor);
  if (idle_would_do && share(terms.idle, terms.reserved) >= 0.1) weight = std::min(weight, idle_alone ? 0.32 : 0.5);
  const Size others = terms.others ? terms.others : terms.outside;
  // Training fits with more than an evaluation needs, if that is written as it should be.
  if (scene.at.evaluation) weight = std::min(weight, 0.42);
  // Where the message does not tell them apart, this process's own context is in the gap.
  const Bytes own_context = terms.others ? Bytes(0) : Bytes::mib(400);
  if (others && share(others->value - own_context, terms.total->value) > 0.25)
    weight = std::min(weight, live >= 0.5 ? 0.45 : 0.2);
  return weight;
}

void reckon(const Scene& scene, Draft& draft) {
  const Terms& terms = scene.terms;
  std::string sum =
      fmt::format("{} asked for, {} free; of {} in total {} ({}) are live tensors of this process", show(terms.tried),
                  show(terms.free), show(terms.total), show(terms.live), percent(share(terms.live, terms.total)));
  if (terms.idle) sum += fmt::format(", {} are cached and unused", show(terms.idle));
  if (terms.outside && terms.outside->value.count() > 0) {
    sum += fmt::format(", {} are outside PyTorch (its context and whoever else uses the card)", show(terms.outside));
  }
  if (allocated_exceeds_reserved(*scene.oom)) {
    sum += fmt::format("; the figures don't add up: {} are reserved, less than is allocated in it",
                       show(scene.oom->reserved));
  }
  draft.because(scene.oom_line(), sum);
}

// "MPS allocated" are PyTorch's pools, "other" is what Metal holds for this process beside them; both count.
void look_at_mps(const Scene& scene, Draft& draft) {
  const model::OomMessage& oom = *scene.oom;
  if (!oom.allocated || !oom.allowed) return;
  const double own = share(oom.allocated, oom.allowed);
  draft.weigh(own >= 0.5 ? 0.62 : own >= 0.25 ? 0.4 : 0.2);
  draft.title("The GPU's share of the Mac's memory is full of this process's own tensors");
  draft.because(scene.oom_line(),
                fmt::format("{} asked for; {} in PyTorch's pools and {} of Metal's beside them, of {} allowed",
                            show(oom.tried), show(oom.allocated), show(oom.metal), show(oom.allowed)));
  offer_smaller_batch(scene, draft);
  draft.fix({"Weights and activations in 16 bits", "model.to(\"mps\", torch.float16)", std::nullopt, "less exact",
             Applicability::kMayBeWrong});
  draft.fix({"Give idle pools back between phases", "torch.mps.empty_cache()", std::nullopt, "little",
             Applicability::kMayBeWrong});
}

// "its own words: requested 4.0 GiB, available 1.2 GiB"
std::string with_sizes(std::string words, const model::ForeignDump& dump) {
  std::string_view before = ": ";
  for (const model::NamedBytes& size : dump.sizes) {
    words += fmt::format("{}{} {}", before, size.name, show(size.bytes));
    before = ", ";
  }
  return words;
}

// "Extra memory due to padding: 31.00G (32.0x expansion)", beside one of the largest buffers: most of it is nothing.
void look_at_padding(const Scene& scene, Draft& draft) {
  constexpr double kMostOfIt = 2;
  for (const model::Remarkable& remark : scene.texts.remarks) {
    const std::size_t open = remark.at.text.find('(');
    if (remark.kind != model::SentenceKind::kPadding || open == std::string::npos) continue;
    const std::string_view factor = std::string_view(remark.at.text).substr(open + 1);
    const auto times = base::parse_number<double>(factor.substr(0, factor.find_first_not_of("0123456789.")));
    if (!times || *times < kMostOfIt || !factor.contains("expansion")) continue;
    draft.because(remark.at,
                  fmt::format("one buffer is laid out in {:.0f} times its size: the device pads the last two "
                              "dimensions to whole tiles, and here they are short",
                              *times));
    draft.fix({"Make the last two dimensions long: reshape or transpose so that short ones stand first, or join them",
               "x = x.reshape(N // 128, 128)  # not (N, 8, 4)", std::nullopt, "none", Applicability::kFillIn});
    return;
  }
}

// XLA knows before it starts that a program needs more than the device has.
bool look_at_program(const Scene& scene, Draft& draft) {
  const auto program =
      std::find_if(scene.texts.foreign.begin(), scene.texts.foreign.end(),
                   [](const model::ForeignDump& dump) { return dump.kind == model::ForeignKind::kProgram; });
  if (program == scene.texts.foreign.end()) return false;
  draft.weigh(0.85).title("The compiled program needs more than the device has");
  draft.because(program->at, with_sizes("the compiler's own words", *program));
  look_at_padding(scene, draft);
  draft.fix(
      {"Use a smaller batch, or spread it over more devices", "", std::nullopt, "little", Applicability::kFillIn});
  draft.fix({"Recompute activations in the backward pass", "jax.checkpoint(block)", std::nullopt,
             "about one more forward pass", Applicability::kFillIn});
  return true;
}

// TensorFlow names the tensor that did not fit beside what it holds.
void look_at_tensor(const Scene& scene, Draft& draft) {
  for (const model::ForeignDump& dump : scene.texts.foreign) {
    if (dump.kind == model::ForeignKind::kHost || !mentions(dump.message, {"oom when allocating tensor"})) continue;
    draft.weigh(0.5).title("What the job holds and this tensor together are more than the card has");
    draft.because(dump.at, with_sizes("one tensor did not fit beside the rest", dump));
    return;
  }
}

// A TPU's own words for one buffer: nothing but what lives on it takes its memory.
bool look_at_tpu(const Scene& scene, Draft& draft) {
  const auto refused =
      std::find_if(scene.texts.foreign.begin(), scene.texts.foreign.end(), [](const model::ForeignDump& dump) {
        return dump.program == "tpu" && dump.kind != model::ForeignKind::kScratch;
      });
  if (refused == scene.texts.foreign.end()) return false;
  draft.weigh(0.7).title("The TPU has too little memory left for this buffer");
  draft.because(refused->at, with_sizes("its own words", *refused));
  draft.fix({"Let go of what an earlier run or cell left there: it stays until its process ends",
             "restart the runtime  # or del ARRAYS; jax.clear_caches()", std::nullopt, "none", Applicability::kFillIn});
  draft.fix({"Use a smaller batch, fewer bits, or spread it over more devices", "", std::nullopt, "little",
             Applicability::kFillIn});
  return true;
}

// Vulkan's driver refuses, and whoever asked prints no more than that. Of llama.cpp the layers tell more: VF102.
bool look_at_vulkan(const Scene& scene, Draft& draft) {
  const auto refused = std::ranges::find_if(scene.texts.foreign, [](const model::ForeignDump& dump) {
    return dump.kind == model::ForeignKind::kOutOfMemory && mentions(dump.message, {"vulkan", "vk", "erroroutof"}) &&
           mentions(dump.program, {"vulkan", "llama.cpp"});
  });
  if (refused == scene.texts.foreign.end()) return false;
  draft.weigh(0.5).title(
      "The driver of Vulkan gave no memory: the card is full, or the block was larger than it gives");
  draft.because(refused->at, with_sizes("VK_ERROR_OUT_OF_DEVICE_MEMORY says no more than that", *refused));
  offer_more_pages_to_apu(scene, draft);
  offer_fewer_layers(draft);
  offer_shorter_context(4096, draft);
  offer_smaller_quantization(draft);
  offer_smaller_blocks_of_vulkan(draft);
  draft.fix({"Programs that draw or enlarge pictures: smaller tiles, a lower resolution",
             "-t 128  # realesrgan-ncnn-vulkan", std::nullopt, "little", Applicability::kFillIn});
  draft.confirm(
      "amdgpu_top, intel_gpu_top or nvidia-smi just before: how much of the card is free, and who has the rest");
  draft.confirm("vulkaninfo | grep maxMemoryAllocationSize: the most that this driver gives as one block");
  return true;
}

// Nothing but what somebody says: the card is small, the batch is the smallest, or it is the decoder that fails.
void look_at_what_is_told(const Scene& scene, Draft& draft) {
  const bool failed = scene.has_failure() || !scene.texts.oom_mentions.empty() || !scene.texts.memory_words.empty();
  if (!failed) return;
  const model::Remarkable* ui = find_remark(scene, model::SentenceKind::kComfyui);
  if (ui != nullptr && (base::says_out_of_memory(ui->at.text) || mentions(ui->at.text, {"oom"}))) {
    draft.weigh(0.5).because(ui->at, "the program itself ran out: models and what it draws are more than the card has");
  } else if (const model::Remarkable* told = find_remark(scene, model::SentenceKind::kToldVae)) {
    draft.weigh(0.6).title("Decoding the whole latent at once needs more than the card has");
    draft.because(told->at, "it fails in the decoder, says who wrote this");
  } else if (const model::Remarkable* small = find_remark(scene, model::SentenceKind::kToldSmallCard)) {
    draft.weigh(0.5).title("The card is small for this job");
    draft.because(small->at, "a context and its kernels take several hundred MiB of it before the first tensor");
  } else if (const model::Remarkable* least = find_remark(scene, model::SentenceKind::kToldSmallBatch)) {
    draft.weigh(0.55).title("A single sample or two need more than the card has");
    draft.because(least->at, "with the smallest batch it fails too: what one sample or the weights need is too much");
  }
}

// Who made what is live when a snapshot's card is full: the line that holds most of it is where to begin.
void tell_largest_lines(const SnapshotFacts& facts, Draft& draft) {
  constexpr std::size_t kMostLines = 4;
  constexpr double kWorthTelling = 0.03, kMostOfIt = 0.5, kAllOfIt = 0.995;
  constexpr std::int64_t kMadeByALoop = 50;
  for (const LineTotal& line : largest_lines(facts, kMostLines)) {
    const double part = share(line.bytes, facts.active);
    if (part < kWorthTelling) continue;
    if (line.is_own && part >= kMostOfIt && draft.confidence() >= 0.3) {
      draft.title(fmt::format("The card is full of this process's own live tensors, {} of them made at {}",
                              part >= kAllOfIt ? "all" : percent(part), line.line));
    }
    draft.because(model::SourceLine{facts.file, 0, ""},
                  fmt::format("{} ({} of what is live) in {} block{} made at {}{}", show(line.bytes), percent(part),
                              line.blocks, line.blocks == 1 ? "" : "s", line.line,
                              line.is_own && line.blocks >= kMadeByALoop
                                  ? ": what a loop keeps of each of its rounds would look so too (VF201)"
                                  : ""));
  }
}

void find_capacity_exceeded_in_run(const Scene& scene, Draft& draft) {
  const model::RunResult& run = *scene.run();
  const auto device = std::find_if(run.devices.begin(), run.devices.end(),
                                   [&](const model::DeviceResult& one) { return one.index == run.peak_device; });
  if (device == run.devices.end()) return;
  const bool nothing_else = scene.runtime().measured;
  draft.weigh(scene.at.evaluation ? 0.45 : nothing_else ? 0.62 : 0.5);
  draft.because(fmt::format("the run: {} of {} on {} in tensors when it ran out, in phase {}",
                            show(device->peaks.allocated), show(device->total), device->name,
                            run.oom && !run.oom->phase.empty() ? run.oom->phase : run.peak_phase));
}

// Programs that are started, not written: what their users can set.
void offer_smaller_pictures(Draft& draft) {
  draft.fix({"Keep less of the models on the card at once",
             "--lowvram  # ComfyUI; in the web UI --medvram or --lowvram", std::nullopt, "slower",
             Applicability::kMayBeWrong});
  draft.fix({"Smaller or fewer pictures (frames) at once; scale up in tiles", "batch_size 1, a tiled VAE decode",
             std::nullopt, "little", Applicability::kFillIn});
  draft.fix({"A quantized model (fp8, GGUF)", "", std::nullopt, "a little less exact", Applicability::kMayBeWrong});
}

// Where the weights alone do not fit, neither a batch nor activations matter.
void offer_smaller_weights(Draft& draft) {
  draft.fix(
      {"Load the weights in 16, 8 or 4 bits",
       "from_pretrained(..., dtype=torch.bfloat16)  # or quantization_config=BitsAndBytesConfig(load_in_4bit=True)",
       std::nullopt, "less exact in 4 bits", Applicability::kMayBeWrong});
  draft.fix({"Keep a part of them on the host, or on more cards",
             "from_pretrained(..., device_map=\"auto\")  # diffusers: pipe.enable_model_cpu_offload() instead of .to()",
             std::nullopt, "layers on the host are slow", Applicability::kMayBeWrong});
}

void find_capacity_exceeded(const Scene& scene, Draft& draft) {
  if (scene.is_of_mps()) return look_at_mps(scene, draft);
  if (scene.oom == nullptr &&
      (look_at_program(scene, draft) || look_at_tpu(scene, draft) || look_at_vulkan(scene, draft)))
    return;
  if (scene.run_failed_for_memory()) find_capacity_exceeded_in_run(scene, draft);
  if (scene.oom_has_numbers && scene.can_reckon()) {
    const Terms& terms = scene.terms;
    if (has_room(terms) && !terms.allowed) return;
    draft.weigh(weigh_numbers(scene));
    if (terms.allowed) draft.adjust(-0.25);
    reckon(scene, draft);
    const bool is_beside_training = scene.at.placing && scene.at.evaluation;  // VF104
    if (scene.at.placing && !is_beside_training && draft.confidence() > 0.3) {
      draft.weigh(0.7).title("The model alone is larger than what the card has free");
      if (scene.stack.innermost() != nullptr) draft.because(*scene.stack.innermost(), "weights were being moved here");
    } else if (scene.at.backward && draft.confidence() > 0.4) {
      draft.adjust(0.05);
    }
  } else if (scene.oom == nullptr && !scene.has_run()) {
    for (const SnapshotFacts& facts : scene.snapshots) {
      if (facts.ooms == 0 || facts.reserved.count() == 0) continue;
      const double idle = share(facts.idle, facts.reserved);
      double weight = idle < 0.1 ? 0.5 : 0.3;
      if (facts.failed_size && *facts.failed_size > facts.in_reach()) weight = 0.2;  // VF109
      if (share(facts.active, facts.in_reach()) < 0.35) weight = std::min(weight, 0.28);
      draft.weigh(weight);
      draft.because(model::SourceLine{facts.file, 0, ""},
                    fmt::format("{} of {} reserved are live, {} ({}) idle; the request was {}, and {} were free",
                                show(facts.active), show(facts.reserved), show(facts.idle), percent(idle),
                                facts.failed_size ? show(*facts.failed_size) : "?",
                                facts.device_free ? show(*facts.device_free) : "?"));
      tell_largest_lines(facts, draft);
    }
  }
  if (draft.is_empty() && !scene.oom_has_numbers && !scene.has_run()) look_at_what_is_told(scene, draft);
  if (draft.is_empty() && !scene.has_run()) look_at_tensor(scene, draft);
  if (draft.is_empty()) return;
  if (!scene.has_run()) offer_more_pages_to_apu(scene, draft);
  if (scene.at.pictures || find_remark(scene, model::SentenceKind::kToldVae) != nullptr) {
    offer_smaller_pictures(draft);
  } else if (scene.at.placing) {
    offer_smaller_weights(draft);
  } else {
    offer_fit(scene, draft);
    if (find_remark(scene, model::SentenceKind::kToldSmallBatch) == nullptr) offer_smaller_batch(scene, draft);
    offer_mixed_precision(scene, draft);
    offer_checkpointing(scene, draft);
  }
  if (scene.has_run()) return;
  if (scene.snapshots.empty()) {
    draft.confirm(
        "the message alone cannot tell a job that is too large from a leak, a missing no_grad, a retained graph, the "
        "optimizer's first step or a second copy of the model: time and owners can");
  }
  ask_for_traceback(scene, draft);
  ask_for_snapshot(scene, draft);
  ask_for_script(scene, draft);
}

}  // namespace

const Cause kCapacityExceeded{
    "VF101",
    "capacity_exceeded",
    "The card is full of this process's own live tensors",
    "live tensors near the card's total, little cached, little outside PyTorch, a modest request",
    "What the job keeps alive at its peak (weights, gradients, optimizer state, activations) is more than the card "
    "has. Nothing is wasted: idle cache and other processes would not make up the difference. An out-of-memory line "
    "alone cannot tell this from memory that should have been freed; owners and time can, so give a snapshot or let "
    "vramfit run the script.",
    "Make the peak smaller: a smaller batch with accumulated gradients, bf16, activation checkpointing, smaller "
    "inputs, "
    "an optimizer with less state. `vramfit fit` finds and proves the cheapest of these for your card.",
    find_capacity_exceeded};

}  // namespace vramfit::doctor
