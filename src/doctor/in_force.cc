#include "doctor/in_force.h"

#include <cstdlib>

namespace vramfit::doctor {

namespace {

void read_allocator_setting(const model::SettingSeen& seen, InForce& in_force) {
  const std::string value = lowered(seen.value);
  if (value.contains("expandable_segments:true")) {
    in_force.expandable_segments = true;
    in_force.seen_expandable = seen.at;
  }
  in_force.malloc_async |= value.contains("cudamallocasync");
  in_force.max_split_size |= value.contains("max_split_size_mb");
  in_force.garbage_collection |= value.contains("garbage_collection_threshold");
}

void read_setting(const model::SettingSeen& seen, InForce& in_force) {
  const std::string name = lowered(seen.name);
  if (name.contains("alloc_conf")) {
    read_allocator_setting(seen, in_force);
  } else if (name == "expandable_segments") {
    in_force.expandable_segments |= says_yes(seen.value);
    if (says_yes(seen.value)) in_force.seen_expandable = seen.at;
  } else if (name.contains("batch_size") && !name.contains("eval")) {
    const long long size = std::strtoll(seen.value.c_str(), nullptr, 10);
    if (size > 0 && !in_force.batch_size) {
      in_force.batch_size = size;
      in_force.seen_batch_size = seen.at;
    }
  } else if (name == "fp16" || name == "bf16" || name == "amp" || name.contains("autocast")) {
    in_force.mixed_precision |= says_yes(seen.value);
  } else if (name.contains("precision") || name.contains("dtype")) {
    in_force.mixed_precision |= mentions(seen.value, {"16", "half"});
  } else if (name.contains("checkpointing")) {
    in_force.checkpointing |= says_yes(seen.value);
  } else if (name.contains("benchmark")) {
    in_force.cudnn_benchmark |= says_yes(seen.value);
    in_force.seen_benchmark = seen.at;
  } else if (name.contains("no_grad") || name.contains("inference_mode")) {
    in_force.no_grad = true;
    in_force.seen_no_grad = seen.at;
  } else if (name.contains("memory_fraction")) {
    in_force.memory_fraction = true;
  } else if (name == "torch" || name == "pytorch") {
    in_force.torch = seen.value;
  }
}

}  // namespace

bool says_yes(std::string_view value) {
  const std::string low = lowered(value);
  return low == "true" || low == "1" || low == "on" || low == "yes" || low == "y" || low.starts_with("true");
}

InForce find_in_force(const Scene& scene) {
  InForce in_force;
  for (const model::SettingSeen& seen : scene.texts.settings) read_setting(seen, in_force);
  for (const SnapshotFacts& facts : scene.snapshots) {
    in_force.expandable_segments |= facts.expandable;
    read_allocator_setting({{facts.file, 0, facts.settings}, "", facts.settings}, in_force);
  }
  for (const model::Remarkable& remark : scene.texts.remarks) {
    if (remark.kind != model::SentenceKind::kExpandableUnsupported) continue;
    in_force.expandable_segments = false;
    in_force.no_expandable = remark.at;
  }
  in_force.malloc_async |= scene.oom != nullptr && scene.oom->form == model::OomForm::kMallocAsync;
  in_force.checkpointing |=
      scene.stack.is_marked(model::FramePhase::kRecompute) || scene.stack.in_file({"utils/checkpoint.py"});
  in_force.mixed_precision |= scene.stack.in_function({"amp", "autocast"}) != nullptr ||
                              scene.stack.in_file({"autocast_mode.py", "grad_scaler.py"}) != nullptr ||
                              scene.stack.in_code({"autocast(", "scaler.scale("}) != nullptr;
  if (in_force.torch.empty() && scene.has_run()) in_force.torch = scene.run()->torch;
  return in_force;
}

Platform find_platform(const Scene& scene) {
  Platform platform;
  for (const model::SettingSeen& seen : scene.texts.settings) {
    if (lowered(seen.name) != "platform") continue;
    const std::string value = lowered(seen.value);
    platform.windows |= value.contains("windows");
    platform.wsl |= value.contains("wsl");
    platform.rocm |= value.contains("rocm");
    platform.container |= value.contains("docker") || value.contains("kube") || value.contains("container");
    platform.colab |= value.contains("colab") || value.contains("kaggle");
    platform.jetson |= value.contains("jetson") || value.contains("tegra");
    if (!platform.seen) platform.seen = seen.at;
  }
  platform.rocm |= scene.oom != nullptr && scene.oom->device == model::OomDevice::kHip;
  for (const StackEntry& entry : scene.stack.entries()) {
    const std::string& file = entry.frame.file;
    platform.windows |= file.contains('\\') || (file.size() > 2 && file[1] == ':' && file[2] == '/');
  }
  for (const model::GpuStatus& status : scene.texts.gpu_status) {
    for (const model::GpuCard& card : status.cards) platform.windows |= card.driver_model == "WDDM";
    platform.rocm |= status.program.contains("rocm");
  }
  return platform;
}

}  // namespace vramfit::doctor
