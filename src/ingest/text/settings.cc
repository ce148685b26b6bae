#include "ingest/text/settings.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

#include "ingest/text/cursor.h"
#include "ingest/text/line_text.h"
#include "ingest/text/log_prefix.h"

namespace vramfit::ingest {
namespace {

using model::SentenceKind;

constexpr std::size_t kMostSettings = 256;  // different ones
constexpr std::size_t kLongestValue = 200;  // bytes

// Names whose value stands behind '=', ':' or a blank, with or without quotes: an environment variable, a flag, an
// entry of a printed configuration. `as` is how the evidence names it.
struct Setting {
  std::string_view word, as;  // `word` in lower case
};
constexpr auto kSettings = std::to_array<Setting>({
    {"pytorch_cuda_alloc_conf", "PYTORCH_CUDA_ALLOC_CONF"},
    {"pytorch_hip_alloc_conf", "PYTORCH_HIP_ALLOC_CONF"},
    {"pytorch_npu_alloc_conf", "PYTORCH_NPU_ALLOC_CONF"},
    {"pytorch_alloc_conf", "PYTORCH_ALLOC_CONF"},
    {"pytorch_mps_high_watermark_ratio", "PYTORCH_MPS_HIGH_WATERMARK_RATIO"},
    {"pytorch_no_cuda_memory_caching", "PYTORCH_NO_CUDA_MEMORY_CACHING"},
    {"cuda_visible_devices", "CUDA_VISIBLE_DEVICES"},
    {"cuda_launch_blocking", "CUDA_LAUNCH_BLOCKING"},
    {"cuda_module_loading", "CUDA_MODULE_LOADING"},
    {"pytorch version", "torch"},
    {"torch.__version__", "torch"},
    {"torch==", "torch"},
    {"per_device_train_batch_size", "per_device_train_batch_size"},
    {"per_device_eval_batch_size", "per_device_eval_batch_size"},
    {"eval_batch_size", "eval_batch_size"},
    {"train_batch_size", "train_batch_size"},
    {"micro_batch_size", "micro_batch_size"},
    {"instantaneous batch size per device", "per_device_train_batch_size"},
    {"batch_size", "batch_size"},
    {"batch-size", "batch_size"},
    {"batch size", "batch_size"},
    {"gradient_accumulation_steps", "gradient_accumulation_steps"},
    {"gradient accumulation steps", "gradient_accumulation_steps"},
    {"gradient_checkpointing", "gradient_checkpointing"},
    {"activation_checkpointing", "gradient_checkpointing"},
    {"mixed_precision", "mixed_precision"},
    {"cudnn.benchmark", "cudnn_benchmark"},
    {"cudnn_benchmark", "cudnn_benchmark"},
    {"num_workers", "num_workers"},
    {"pin_memory", "pin_memory"},
    {"gpu_memory_utilization", "gpu_memory_utilization"},
    {"gpu-memory-utilization", "gpu_memory_utilization"},
    {"max_model_len", "max_model_len"},
    {"max-model-len", "max_model_len"},
    {"mem-fraction-static", "mem_fraction_static"},
    {"mem_fraction_static", "mem_fraction_static"},
    {"enforce_eager", "enforce_eager"},
    {"xla_python_client_preallocate", "XLA_PYTHON_CLIENT_PREALLOCATE"},
    {"tf_force_gpu_allow_growth", "TF_FORCE_GPU_ALLOW_GROWTH"},
});

struct Mark {
  std::string_view word, value;  // `word` in lower case
};
constexpr auto kMarks = std::to_array<Mark>({
    {"microsoft-standard-wsl", "wsl"},
    {"/mnt/c/", "wsl"},
    {" wsl2", "wsl"},
    {"(wsl2", "wsl"},
    {"wsl ubuntu", "wsl"},
    {"under wsl", "wsl"},
    {"c:\\users", "windows"},
    {"d:\\", "windows"},
    {"site-packages\\torch", "windows"},
    {"microsoft windows", "windows"},
    {"system: windows", "windows"},
    {"windows-10", "windows"},
    {"windows-11", "windows"},
    {"/content/", "colab"},
    {"/kaggle/", "kaggle"},
    {"/opt/ml/", "sagemaker"},
    {"hip version", "rocm"},
    {"/opt/rocm", "rocm"},
    {"tegra", "jetson"},
    {"mig 1g.", "mig"},
    {"mig 2g.", "mig"},
    {"mig 3g.", "mig"},
    {"mig 4g.", "mig"},
    {"uuid: mig-", "mig"},
    {"/.dockerenv", "docker"},
});

bool is_value_letter(char letter) { return !is_blank(letter) && !std::string_view("\"'`,;)}>").contains(letter); }

// "=16", ": 16", " 16", "'] = \"16\"", "\": 16": the value, or nothing when the name only stands in a sentence.
std::string value_behind(std::string_view rest, bool list) {
  Cursor cursor(rest);
  cursor.take_while([](char letter) { return std::string_view("\"'])").contains(letter); });
  cursor.skip_blanks();
  const bool sign = cursor.take("==") || cursor.take("=") || cursor.take(":") || cursor.take(",");
  cursor.skip_blanks();
  const bool quoted = cursor.take("\"") || cursor.take("'") || cursor.take("`");
  std::string_view value = quoted || list
                               ? cursor.rest().substr(0, cursor.rest().find_first_of(quoted ? "\"'`" : " \t\"'`;)"))
                               : cursor.take_while(is_value_letter);
  while (!value.empty() && (value.back() == '.' || value.back() == ',' || value.back() == ']')) value.remove_suffix(1);
  // Only a number is a value without a sign: "--batch-size 16", not "batch size is".
  if (!sign && (value.empty() || !is_digit(value[0]))) return {};
  return cut_text(value, kLongestValue);
}

// The letters of a text alone: a terminal's width, a box or a table may break a message at any of them.
std::string letters_of(std::string_view text) {
  std::string letters;
  for (const char letter : text) {
    if (is_word(letter)) letters += lower(letter);
  }
  return letters;
}

// Whether an error message advises what follows: what it advises is not in force. The advice may begin on the line
// above, where the message was wrapped.
bool is_advised(const LogLine& line, std::string_view before) {
  if (contains_ignoring_case(before, "try setting") || before.ends_with("Management and ") || before.ends_with(" Use "))
    return true;
  constexpr std::size_t kLongestAdvice = 32;
  if (letters_of(before).size() >= kLongestAdvice) return false;  // it would stand on this line
  std::string_view earlier = line.before;
  const std::string above = take_line_above(earlier);
  const std::string words =
      letters_of(std::string_view(above).substr(parse_log_prefix(above).length)) + letters_of(before);
  return words.ends_with("trysetting") || words.ends_with("memorymanagementand");
}

class SettingsReader final : public TextReader {
 public:
  void read(const LogLine& line, EvidenceSink& sink) override {
    std::string_view longest;  // of the names that begin at one place, the first in the list counts
    std::size_t taken = kNowhere;
    for (const Setting& setting : kSettings) {
      const std::size_t at = find_ignoring_case(line.text, setting.word);
      if (at == kNowhere || (at > 0 && is_word(line.text[at - 1])) ||
          (taken != kNowhere && at >= taken && at < taken + longest.size()))
        continue;
      if (is_advised(line, line.text.substr(0, at))) continue;
      const std::string value =
          value_behind(line.text.substr(at + setting.word.size()), setting.as.contains('_') && setting.as[0] <= 'Z');
      if (value.empty() || value.contains('(') || value == "None") continue;
      taken = at;
      longest = setting.word;
      add(line, setting.as, value, sink);
    }
    if (const std::size_t shape = line.text.find("torch.Size(["); shape != kNowhere) {
      const std::string_view sizes = line.text.substr(shape + 11);
      const std::size_t end = sizes.find(']');
      if (end < kLongestValue) add(line, "shape", sizes.substr(0, end + 1), sink);
    }
    for (const Mark& mark : kMarks) {
      if (contains_ignoring_case(line.whole, mark.word)) add(line, "platform", mark.value, sink);
    }
  }

 private:
  void add(const LogLine& line, std::string_view name, std::string_view value, EvidenceSink& sink) {
    if (known_.size() >= kMostSettings || !known_.insert({std::string(name), std::string(value)}).second) return;
    sink.add(sink.evidence().settings, {sink.at(line), std::string(name), std::string(value)}, "settings");
  }

  std::set<std::pair<std::string, std::string>> known_;
};

constexpr auto kSettingWords = std::to_array<std::string_view>({"_alloc_conf",
                                                                "torch.size([",
                                                                "high_watermark",
                                                                "memory_caching",
                                                                "cuda_visible_dev",
                                                                "cuda_launch_bl",
                                                                "cuda_module_lo",
                                                                "pytorch version",
                                                                "torch.__version",
                                                                "torch==",
                                                                "batch_size",
                                                                "batch-size",
                                                                "batch size",
                                                                "accumulation_steps",
                                                                "accumulation steps",
                                                                "checkpointing",
                                                                "mixed_precision",
                                                                "cudnn.bench",
                                                                "cudnn_bench",
                                                                "num_workers",
                                                                "pin_memory",
                                                                "memory_util",
                                                                "memory-util",
                                                                "max_model_len",
                                                                "max-model-len",
                                                                "mem-fraction",
                                                                "mem_fraction",
                                                                "enforce_eager",
                                                                "client_preallocate",
                                                                "gpu_allow_growth",
                                                                "standard-wsl",
                                                                "/mnt/c/",
                                                                " wsl2",
                                                                "(wsl2",
                                                                "wsl ubuntu",
                                                                "under wsl",
                                                                "c:\\users",
                                                                "site-packages\\",
                                                                "microsoft wind",
                                                                "system: wind",
                                                                "windows-1",
                                                                "/content/",
                                                                "/kaggle/",
                                                                "/opt/ml/",
                                                                "hip version",
                                                                "/opt/rocm",
                                                                "tegra",
                                                                "mig 1g.",
                                                                "mig 2g.",
                                                                "mig 3g.",
                                                                "mig 4g.",
                                                                "uuid: mig",
                                                                "/.dockerenv"});

// Sentences, and the kind of remark that each is.
struct SettingsSentence {
  std::string_view words;  // lower case
  SentenceKind kind;
};
constexpr auto kSettingsSentences = std::to_array<SettingsSentence>({
    {"cuda kernel errors might be asynchronously", SentenceKind::kAsynchronousReport},
    {"allocator cache flushes since last step", SentenceKind::kCacheFlushes},
    {"expandable_segments not supported", SentenceKind::kExpandableUnsupported},
    {"internal assert failed at", SentenceKind::kAllocatorAssert},  // of CUDACachingAllocator.cpp
    {"cachingallocator option", SentenceKind::kAllocatorOption},    // "Unrecognized CachingAllocator option: ..."
    {"to cpu due to cuda oom", SentenceKind::kCopiedToHost},        // Detectron2: it goes on with what did not fit
    {"will create", SentenceKind::kManyWorkers},  // "This DataLoader will create 16 worker processes in total"
    {"is incompatible with gradient checkpointing", SentenceKind::kGradientCheckpointingOn},
    {"none of the inputs have requires_grad=true", SentenceKind::kCheckpointWithoutGradient},
    {"backward through the graph a second time", SentenceKind::kGraphFreed},
    {"too many open files", SentenceKind::kOpenFiles},
    {"received 0 items of ancdata", SentenceKind::kOpenFiles},
    {"rlimit_memlock", SentenceKind::kLockedMemory},
    {"extra memory due to padding:", SentenceKind::kPadding},  // XLA, of one of a program's largest buffers
    {"not compiled with flash attention", SentenceKind::kNoFlashAttention},
    {"flash attention 2 is not installed", SentenceKind::kNoFlashAttention},
    {"kernel appears to have died", SentenceKind::kKernelDied},
    {"kernel died", SentenceKind::kKernelDied},
    {" restarted", SentenceKind::kKernelRestarted},  // Colab: "kernel 4222e7b2-... restarted"
    {"large alloc ", SentenceKind::kLargeAlloc},     // "tcmalloc:  large alloc 2400002048 bytes"
    {"gtt memory", SentenceKind::kGttLimit},         // amdgpu: "63968M of GTT memory ready."
    {"deepspeedcpuadam", SentenceKind::kDeepspeedOffload},
    {"parameter offload:", SentenceKind::kDeepspeedOffload},
    {"cpu_adam op", SentenceKind::kDeepspeedOffload},
    {"cpu offload: true", SentenceKind::kDeepspeedOffload},
    {"offload_optimizer", SentenceKind::kDeepspeedOffload},
    {"offload_param", SentenceKind::kDeepspeedOffload},
    {"segmentation fault", SentenceKind::kSegmentationFault},
    {"batch size finder", SentenceKind::kBatchSizeSearch},  // Lightning
    {"trying batch size", SentenceKind::kBatchSizeSearch},
    {"currently training with a batch size of",
     SentenceKind::kBatchSizeSearch},                              // transformers, at the start and of each try
    {"decreasing batch size to", SentenceKind::kBatchSizeSearch},  // accelerate's find_executable_batch_size
    {"reducing batch size to", SentenceKind::kBatchSizeSearch},
    {"autobatch: using batch-size", SentenceKind::kBatchSizeSearch},  // Ultralytics
    {"using default batch-size", SentenceKind::kBatchSizeSearch},     // the same, where its search came to nothing
    {"reducing to batch=", SentenceKind::kBatchSizeSearch},           // the same, of the first epoch's training
    {"train microbatch size will be decreased", SentenceKind::kBatchSizeSearch},  // Composer, of evaluations too
    {"gradient accumulation increased from", SentenceKind::kBatchSizeSearch},     // Composer before 0.10
    {"in taskalignedassigner, using cpu", SentenceKind::kTriedOtherwise},         // Ultralytics, of one batch's boxes
    {"ran out of memory, skipping", SentenceKind::kBatchSkipped},
    {"ran out of memory, retrying", SentenceKind::kBatchSkipped},
    {"skipping batch due to", SentenceKind::kBatchSkipped},
    {"skipping tactic",
     SentenceKind::kTacticSkipped},  // TensorRT, of a kernel that it measures: another is taken, if there is one
    {"retrying without",
     SentenceKind::kTriedOtherwise},  // llama.cpp: "compute buffer allocation failed, retrying without ..."
    {"ignoring this choice", SentenceKind::kTriedOtherwise},  // Inductor, of a kernel that it measures
    {"of vram memory ready", SentenceKind::kDriverVram},      // amdgpu: "98304M of VRAM memory ready"
    {"this error means you ran out of memory on your gpu", SentenceKind::kComfyui},
    {"got an oom, unloading all loaded models", SentenceKind::kComfyui},
    {"comfyui error report", SentenceKind::kComfyui},
    {"**comfyui version:**", SentenceKind::kComfyui},
    {"loading checkpoint shards", SentenceKind::kLoadingShards},
    {"token indices sequence length is longer than", SentenceKind::kLongSequence},
    {"model is quite large: setting to eval", SentenceKind::kLargeModel},
    {"loaded partially", SentenceKind::kPartlyOffloaded},  // ComfyUI: "loaded partially 5720.8 MB, 5718.3 MB offloaded"
    {"some parameters are on the meta device", SentenceKind::kOffloaded},
    {"some modules are dispatched on the cpu", SentenceKind::kOffloaded},
    {"find_unused_parameters=true was specified", SentenceKind::kUnusedParameters},
    {"cudamallocasync", SentenceKind::kMallocAsync},
    {"hami-core error", SentenceKind::kVgpuLimit},
    {"killing subprocess", SentenceKind::kKilledByLauncher},
    {"failed liveness probe", SentenceKind::kEndedForOtherReason},  // Kubernetes
    {"liveness probe failed", SentenceKind::kEndedForOtherReason},
    {"to start a new process before the", SentenceKind::kEndedForOtherReason},  // Python, of a script without __main__
    {"can't pickle", SentenceKind::kEndedForOtherReason},
    {"due to preemption", SentenceKind::kEndedForOtherReason},  // Slurm
    {"due to time limit", SentenceKind::kEndedForOtherReason},
    {"ran out of input", SentenceKind::kEndedForOtherReason},  // and what its worker says of that
    {"sglang.launch_server", SentenceKind::kServerCommand},
    {"vllm.entrypoints", SentenceKind::kServerCommand},
    {"vllm serve ", SentenceKind::kServerCommand},
    {"text-generation-launcher", SentenceKind::kServerCommand},
    {"lmdeploy serve ", SentenceKind::kServerCommand},
    {"shared gpu memory", SentenceKind::kSharedGpuMemory},
    {"sysmem fallback", SentenceKind::kSharedGpuMemory},
    {"pinned memory", SentenceKind::kPinnedMemory},
    {"cudahostalloc", SentenceKind::kPinnedMemory},
});

class RemarksReader final : public TextReader {
 public:
  void read(const LogLine& line, EvidenceSink& sink) override {
    for (const SettingsSentence& sentence : kSettingsSentences) {
      if (!contains_ignoring_case(line.text, sentence.words)) continue;
      if (sentence.kind == SentenceKind::kAllocatorAssert && !contains_ignoring_case(line.text, "allocator")) continue;
      if (sentence.kind == SentenceKind::kLargeAlloc && !line.text.contains("tcmalloc")) continue;
      if (sentence.kind == SentenceKind::kKernelRestarted && !contains_ignoring_case(line.text, "kernel ")) continue;
      if (sentence.kind == SentenceKind::kGttLimit && !contains_ignoring_case(line.text, "ready")) continue;
      if (sentence.kind == SentenceKind::kPartlyOffloaded && !contains_ignoring_case(line.text, "offloaded")) continue;
      if (sentence.kind == SentenceKind::kManyWorkers && !line.text.contains("worker processes")) continue;
      // Told once; a remark that comes with every step says no more, but for the try up to which a search had come.
      if (++seen_[sentence.kind] > kMostOfAKind) {
        if (sentence.kind == SentenceKind::kBatchSizeSearch) move_last(sentence.kind, line, sink);
        continue;
      }
      sink.add(sink.evidence().remarks, {sink.at(line), line.speaker, sentence.kind}, "remarks");
    }
  }

 private:
  static void move_last(SentenceKind kind, const LogLine& line, EvidenceSink& sink) {
    auto& remarks = sink.evidence().remarks;
    const auto last = std::find_if(remarks.rbegin(), remarks.rend(),
                                   [&](const model::Remarkable& remark) { return remark.kind == kind; });
    if (last != remarks.rend()) last->at = sink.at(line);
  }

  static constexpr int kMostOfAKind = 16;
  std::map<SentenceKind, int> seen_;
};

constexpr auto kRemarkWords = std::to_array<std::string_view>({"sglang.launch_server",
                                                               "vllm.entrypoints",
                                                               "vllm serve ",
                                                               "text-generation-launcher",
                                                               "lmdeploy serve ",
                                                               "sigkill_handler",
                                                               "liveness probe",
                                                               "start a new process",
                                                               "t pickle",
                                                               "due to preemption",
                                                               "due to time limit",
                                                               "ran out of input",
                                                               "hami-core error",
                                                               "internal assert",
                                                               "cachingallocator option",
                                                               "due to cuda oom",
                                                               "asynchronously rep",
                                                               "cache flushes",
                                                               "segments not supp",
                                                               "worker processes in",
                                                               "with gradient check",
                                                               "none of the inputs",
                                                               "graph a second",
                                                               "too many open",
                                                               "ancdata",
                                                               "due to padding",
                                                               "rlimit_memlock",
                                                               "flash attention",
                                                               "kernel appears",
                                                               "kernel died",
                                                               "segmentation fault",
                                                               "out of memory, ",
                                                               "batch size",
                                                               "autobatch",
                                                               "reducing to batch",
                                                               "accumulation incr",
                                                               "taskalignedassigner",
                                                               "skipping batch",
                                                               "ran out of memory on",
                                                               "comfyui error",
                                                               "all loaded models",
                                                               "comfyui version",
                                                               "checkpoint shards",
                                                               "loaded partially",
                                                               "token indices",
                                                               "quite large",
                                                               "on the meta device",
                                                               "dispatched on",
                                                               "unused_parameters",
                                                               "cudamallocasync",
                                                               "shared gpu memory",
                                                               "sysmem fallback",
                                                               "pinned memory",
                                                               "cudahostalloc",
                                                               " restarted",
                                                               "tcmalloc:",
                                                               "retrying without",
                                                               "skipping tactic",
                                                               "ignoring this",
                                                               "of vram memory",
                                                               "gtt memory",
                                                               "deepspeedcpuadam",
                                                               "parameter offload",
                                                               "cpu_adam op",
                                                               "cpu offload: true",
                                                               "offload_optimizer",
                                                               "offload_param"});

}  // namespace

const TextFormat kSettingsFormat{"settings", kSettingWords,
                                 [] { return std::unique_ptr<TextReader>(new SettingsReader); }};
const TextFormat kRemarksFormat{"remarks", kRemarkWords, [] { return std::unique_ptr<TextReader>(new RemarksReader); }};

}  // namespace vramfit::ingest
