#include <fmt/format.h>

#include <algorithm>

#include "doctor/all_clear.h"
#include "doctor/causes/causes.h"
#include "doctor/remedies.h"

namespace vramfit::doctor {

namespace {

using model::HostKillKind;

double weight_of(const model::HostKill& kill) {
  switch (kill.kind) {
    case HostKillKind::kKernel:
    case HostKillKind::kCgroup:
    case HostKillKind::kContainer:
    case HostKillKind::kScheduler:
    case HostKillKind::kDaemon:
      return 0.95;
    case HostKillKind::kMemoryEvents: {
      const auto killed = kill.counters.find("oom_kill");
      return killed != kill.counters.end() && killed->second > 0 ? 0.85 : 0;
    }
    case HostKillKind::kAllocation:
      return 0.85;
    case HostKillKind::kShell:
      return 0.72;
    case HostKillKind::kDataWorker:
      return kill.signal ? 0.72 : 0.6;  // "exited unexpectedly" says no signal
    case HostKillKind::kExitStatus:
      return 0.6;
  }
  return 0;
}

std::string describe_kill(const model::HostKill& kill) {
  std::string text;
  if (kill.anon_rss) text += fmt::format("the process had {} of its own in memory", show(kill.anon_rss));
  if (kill.limit) text += fmt::format("{}the limit was {}", text.empty() ? "" : "; ", show(kill.limit));
  if (text.empty() && kill.kind == HostKillKind::kExitStatus) text = "signal 9: on Linux mostly the host's memory";
  return text.empty() ? "the host's memory ran out" : text;
}

// Another program's own text: Ollama before it loads a model, TensorFlow's allocator of the host.
bool look_at_foreign(const Scene& scene, Draft& draft) {
  const auto dump = std::find_if(scene.texts.foreign.begin(), scene.texts.foreign.end(),
                                 [](const model::ForeignDump& one) { return one.kind == model::ForeignKind::kHost; });
  if (dump == scene.texts.foreign.end()) return false;
  std::string sizes;
  for (const model::NamedBytes& size : dump->sizes) sizes += ", " + size.name + " " + show(size.bytes);
  draft.weigh(0.9).because(dump->at, dump->program + " asked the host for memory, and it had none left" + sizes);
  if (dump->program == "ollama" || dump->program == "llama.cpp") {
    draft.fix({"A smaller model, or a smaller quantization of it", "ollama run MODEL:7b-q4_K_M", std::nullopt,
               "less exact", Applicability::kFillIn});
    draft.fix({"A shorter context", "PARAMETER num_ctx 4096  # llama.cpp: -c 4096", std::nullopt,
               "shorter conversations", Applicability::kFillIn});
    if (mentions(dump->message, {"cpu buffer", "cpu_buffer"}))
      draft.fix({"Put more layers on the card, where it has room for them, and map the file instead of reading it",
                 "-ngl LAYERS  # without --no-mmap; in Ollama: PARAMETER num_gpu LAYERS", std::nullopt, "none",
                 Applicability::kFillIn});
  } else {
    draft.fix({"Smaller batches, and less read ahead", "dataset.batch(SMALLER).prefetch(1)", std::nullopt, "little",
               Applicability::kFillIn});
  }
  return true;
}

// It was killed while a checkpoint was read: on the same line as the progress bar, or a few below.
bool is_loading_weights(const Scene& scene) {
  constexpr std::int64_t kLinesBelow = 12;
  for (const model::Remarkable& remark : scene.texts.remarks) {
    if (remark.kind != model::SentenceKind::kLoadingShards || remark.at.text.contains("100%")) continue;
    for (const model::HostKill& kill : scene.texts.host_kills) {
      const std::int64_t below = kill.at.line - remark.at.line;
      if (kill.at.file == remark.at.file && below >= 0 && below <= kLinesBelow) return true;
    }
  }
  // A script that only loads, in whose text somebody says that the host's memory ran out.
  return scene.texts.host_kills.empty() && std::ranges::any_of(scene.texts.files, [](const model::TextFile& file) {
           return mentions(file.sample, {"from_pretrained("}) &&
                  !mentions(file.sample, {"dataloader", "trainer", "epoch"});
         });
}

bool speaks_of_wsl(const Scene& scene) {
  return scene.platform.wsl || std::ranges::any_of(scene.texts.files, [](const model::TextFile& file) {
           return mentions(file.sample, {"wsl2", "wsl 2", ".wslconfig", "wsl "});
         });
}

// A notebook's kernel that was restarted right when gigabytes were asked of the host: nobody else says why.
void look_at_restart(const Scene& scene, Draft& draft) {
  const model::Remarkable* asked = find_remark(scene, model::SentenceKind::kLargeAlloc);
  const model::Remarkable* restarted = find_remark(scene, model::SentenceKind::kKernelRestarted);
  if (restarted == nullptr) restarted = find_remark(scene, model::SentenceKind::kKernelDied);
  if (asked == nullptr || restarted == nullptr || scene.oom != nullptr || asked->at.file != restarted->at.file) return;
  draft.weigh(0.62).because(asked->at, "a large piece of the host's memory was asked for");
  draft.because(restarted->at, "and the kernel of the notebook was started again");
}

// What DeepSpeed keeps in the host's memory is most of it there: loaders are not.
void offer_for_offload(Draft& draft) {
  draft.fix(
      {"Offload less to the host: only the optimizer's state, not the weights too",
       "\"zero_optimization\": {\"offload_optimizer\": {\"device\": \"cpu\"}}  # no offload_param; pin_memory false",
       std::nullopt, "more memory of the card", Applicability::kMayBeWrong});
  draft.fix({"Offload to a disk", "\"offload_optimizer\": {\"device\": \"nvme\", \"nvme_path\": \"/PATH\"}",
             std::nullopt, "steps wait for the disk", Applicability::kFillIn});
  draft.fix({"Fewer ranks on each host, or more hosts: 12 to 16 bytes for each parameter are shared by them",
             "deepspeed --num_nodes 2 ...", std::nullopt, "none", Applicability::kFillIn});
}

// "RAM goes up every epoch until the machine freezes": somebody saw it, and no kernel's message is here.
void look_at_what_is_told_of_host(const Scene& scene, Draft& draft) {
  if (scene.oom != nullptr) return;
  for (const model::ToldSentence& told : scene.texts.told) {
    if (told.kind != model::ToldKind::kRises || !is_of_host(scene, told) || is_denied_later(scene.texts, told))
      continue;
    draft.weigh(0.6)
        .title("The host's memory grows with time")
        .because(told.at, "who wrote this saw it rise with time");
    if (!scene.has_failure()) draft.severity(model::Severity::kWarning);
    draft.fix({"Keep numbers, not tensors and graphs, of past steps", "total += loss.item()  # not total += loss",
               std::nullopt, "none", Applicability::kMayBeWrong});
    return;
  }
}

bool card_failed(const Scene& scene) {
  return scene.oom != nullptr || !scene.texts.oom_mentions.empty() || !scene.texts.library_errors.empty() ||
         std::ranges::any_of(scene.texts.foreign, says_failure);
}

// "It just says killed", "the session runs out of RAM": no kernel's message is here, and nothing else failed.
void look_at_told_end(const Scene& scene, Draft& draft) {
  if (card_failed(scene)) return;
  if (const model::Remarkable* killed = find_remark(scene, model::SentenceKind::kToldKilled)) {
    draft.weigh(0.55).because(killed->at,
                              "killed without an error of its own: on Linux mostly by the kernel, for want of the "
                              "host's memory");
    return;
  }
  for (const model::ToldSentence& told : scene.texts.told) {
    if (told.kind != model::ToldKind::kTrouble || told.of != model::ToldOf::kHost || !told.names_memory ||
        is_denied_later(scene.texts, told))
      continue;
    draft.weigh(0.55).because(told.at, "it is the host's memory, says who wrote this");
    if (!scene.has_failure()) draft.severity(model::Severity::kWarning);
    return;
  }
}

// Java's and Node's own heaps lie in the host's memory, and have limits of their own.
bool look_at_managed_heap(const Scene& scene, Draft& draft) {
  if (scene.oom != nullptr) return false;
  const auto is_java = [](std::string_view text) {
    return mentions(text, {"java.lang.outofmemoryerror", "java heap space", "gc overhead limit"});
  };
  const auto is_node = [](std::string_view text) { return mentions(text, {"javascript heap out of memory"}); };
  const model::SourceLine* at = nullptr;
  for (const auto* told : {&scene.texts.oom_mentions, &scene.texts.memory_words, &scene.texts.other_errors}) {
    for (const model::SourceLine& one : *told) {
      if (at == nullptr && (is_java(one.text) || is_node(one.text))) at = &one;
    }
  }
  if (at == nullptr) return false;
  const bool node = is_node(at->text);
  draft.weigh(0.85).title(
      fmt::format("{} heap is full: it lies in the host's memory, not on the card", node ? "Node's" : "Java's"));
  draft.because(*at, "the heap has a limit of its own, which is reached whatever the card has free");
  if (node) {
    draft.fix({"Allow a larger heap", "export NODE_OPTIONS=--max-old-space-size=8192", std::nullopt, "none",
               Applicability::kFillIn});
    return true;
  }
  draft.fix({"Allow a larger heap",
             "java -Xmx16g ...  # Spark: --driver-memory 16g, --executor-memory 16g (before the session starts)",
             std::nullopt, "none", Applicability::kFillIn});
  draft.fix({"Bring less of the data into one process at once", "df.toLocalIterator()  # not df.collect(), toPandas()",
             std::nullopt, "little", Applicability::kFillIn});
  return true;
}

bool is_of_workers(const model::HostKill& kill) {
  return kill.kind == HostKillKind::kDataWorker || kill.process.starts_with("pt_data_worker");
}

void offer_fewer_workers(Draft& draft) {
  draft.fix({"Fewer loader workers, and less prefetched", "DataLoader(..., num_workers=2, prefetch_factor=2)",
             std::nullopt, "loading may become the bottleneck", Applicability::kMayBeWrong});
  draft.fix({"Keep big data out of Python lists that every worker copies",
             "numpy.memmap, or one tensor instead of a list", std::nullopt, "none", Applicability::kFillIn});
}

// Offers what helps against that which filled the host, where the text shows it.
void offer_for_what_filled_it(const Scene& scene, const model::HostKill* kill, Draft& draft) {
  const auto bytes_of = [](const std::optional<model::PrintedBytes>& printed) {
    return printed ? printed->value.count() : std::int64_t{0};
  };
  if (kill != nullptr && bytes_of(kill->shmem_rss) > bytes_of(kill->anon_rss)) {
    draft.because(kill->at, fmt::format("{} of it was shared memory: what lies in /dev/shm counts as the job's own",
                                        show(kill->shmem_rss)));
    draft.fix({"Keep less in /dev/shm: batches that workers have ready, and files that were left there",
               "du -sh /dev/shm  # then DataLoader(..., num_workers=2, prefetch_factor=1)", std::nullopt,
               "loading may become the bottleneck", Applicability::kMayBeWrong});
  } else if (kill == nullptr && scene.host_oom != nullptr) {
    draft.fix({"Make that one tensor in pieces, or map it from a file",
               "numpy.memmap(FILE, mode=\"w+\", ...)  # or a loop over parts", std::nullopt, "a little slower",
               Applicability::kFillIn});
  } else if (kill != nullptr && !is_of_workers(*kill) && bytes_of(kill->anon_rss) > 0) {
    draft.fix({"See what the process itself keeps: lists that grow, caches of a data set, a whole file that was read",
               "watch grep -E 'RssAnon|RssShmem' /proc/PID/status", std::nullopt, "none", Applicability::kFillIn});
    offer_fewer_workers(draft);
  } else {
    offer_fewer_workers(draft);
  }
}

// A status of 137, or a worker that is gone, is no more than an end: of which the text gives another reason.
bool has_other_reason(const Scene& scene, const model::HostKill& kill) {
  if (scene.is_for_want_of_files(kill)) return true;
  return (kill.kind == HostKillKind::kExitStatus || kill.kind == HostKillKind::kDataWorker ||
          kill.kind == HostKillKind::kShell) &&
         find_remark(scene, model::SentenceKind::kEndedForOtherReason) != nullptr;
}

void find_host_ram_oom(const Scene& scene, Draft& draft) {
  if (scene.oom == nullptr && look_at_foreign(scene, draft)) return;
  if (look_at_managed_heap(scene, draft)) return;
  const model::HostKill* strongest = nullptr;
  for (const model::HostKill& kill : scene.texts.host_kills) {
    if (has_other_reason(scene, kill)) continue;
    if (strongest == nullptr || weight_of(kill) > weight_of(*strongest)) strongest = &kill;
  }
  if (strongest != nullptr && weight_of(*strongest) > 0) {
    double weight = weight_of(*strongest);
    // Launchers end the other ranks with signal 9 once one has failed.
    const bool follows = scene.oom != nullptr && weight < 0.9;
    if (follows) weight *= 0.4;
    draft.weigh(weight).because(strongest->at, describe_kill(*strongest));
    const bool kernel_agrees = std::count_if(scene.texts.host_kills.begin(), scene.texts.host_kills.end(),
                                             [](const model::HostKill& kill) { return weight_of(kill) > 0; }) > 1;
    if (kernel_agrees && !follows) draft.adjust(0.05);
  }
  if (scene.host_oom != nullptr) {
    draft.weigh(scene.oom == nullptr ? 0.9 : 0.4);
    draft.because(scene.host_oom->at, fmt::format("the CPU allocator was refused {}", show(scene.host_oom->tried)));
  }
  if (draft.is_empty()) look_at_restart(scene, draft);
  if (draft.is_empty()) look_at_what_is_told_of_host(scene, draft);
  if (draft.is_empty()) look_at_told_end(scene, draft);
  if (draft.is_empty()) return;
  // That it was the host's memory is known; what filled it is the cause, where somebody says that.
  if (const model::Remarkable* filled = find_remark(scene, model::SentenceKind::kToldCauseGraphRetained))
    draft.bound(0.8).because(filled->at, "a graph that was kept filled it, says who wrote this");
  if (draft.confidence() < 0.8) draft.confirm("dmesg -T | grep -i -E 'killed process|out of memory' on the host");
  if (speaks_of_wsl(scene)) {
    draft.fix({"Give WSL more of the host's memory, and swap: it takes half of it unless told otherwise",
               "[wsl2]\nmemory=48GB\nswap=64GB  # %UserProfile%\\.wslconfig, as UTF-8; then wsl --shutdown",
               std::nullopt, "less for Windows", Applicability::kFillIn});
  }
  if (is_loading_weights(scene)) {
    draft.fix({"Load the weights piece by piece, straight to where they stay",
               "from_pretrained(..., device_map=\"auto\", low_cpu_mem_usage=True)", std::nullopt, "none",
               Applicability::kMayBeWrong});
    draft.fix({"Weights in 16 bits and in safetensors, which are mapped instead of read",
               "from_pretrained(..., dtype=torch.bfloat16, use_safetensors=True)", std::nullopt, "none",
               Applicability::kMayBeWrong});
    draft.fix({"Raise the container's or job's limit, or add swap", "docker run --memory 64g  # or sbatch --mem=64G",
               std::nullopt, "none", Applicability::kFillIn});
    return;
  }
  if (const model::Remarkable* offload = find_remark(scene, model::SentenceKind::kDeepspeedOffload)) {
    draft.because(offload->at, "DeepSpeed keeps state in the host's memory");
    offer_for_offload(draft);
  }
  offer_for_what_filled_it(scene, strongest, draft);
  draft.fix({"Raise the container's or job's limit", "docker run --memory 64g  # or sbatch --mem=64G", std::nullopt,
             "none", Applicability::kFillIn});
}

}  // namespace

const Cause kHostRamOom{"VF501",
                        "host_ram_oom",
                        "The host's memory ran out, not the card's",
                        "Killed, exit status 137 or -9, a kernel or cgroup message, the CPU allocator's own text",
                        "The kernel (or the container's limit) ended the process because host memory ran out: workers "
                        "that each copy the data "
                        "set, checkpoints loaded by every rank at once, pinned memory, offloaded state. The card had "
                        "nothing to do with it.",
                        "Fewer workers, shared or memory-mapped data, a higher limit, loading by one rank at a time.",
                        find_host_ram_oom};

}  // namespace vramfit::doctor
