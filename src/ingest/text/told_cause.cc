#include "ingest/text/told_cause.h"

#include <algorithm>
#include <array>

#include "base/out_of_memory.h"
#include "ingest/text/cursor.h"
#include "ingest/text/told_memory.h"
#include "ingest/text/told_signs.h"

namespace vramfit::ingest {
namespace {

using model::SentenceKind;

using Parts = std::initializer_list<std::string_view>;

bool has_any_part(const Sentence& sentence, Parts parts) { return contains_any(sentence.text, parts); }

bool is_not(std::string_view word) {
  return word == "no" || word == "not" || word == "never" || word == "nothing" || word == "nobody" ||
         word == "without" || word.ends_with("n't");
}
bool has_negation(const Sentence& sentence) {
  return std::ranges::any_of(sentence.words, is_not) || has_any_part(sentence, {"没有", "없"});
}

// "3090", "1080ti", "a100", "h200"
bool is_number_of_card(std::string_view word) {
  if (word.size() >= 3 && std::string_view("abhlpv").contains(word[0]) && word.ends_with("0") && word.size() <= 5)
    return std::ranges::all_of(word.substr(1), is_digit);
  if (word.ends_with("ti")) word.remove_suffix(2);
  return word.size() == 4 && word[0] >= '1' && word[0] <= '5' && word[1] == '0' && word[2] >= '5' && word[3] == '0';
}

bool names_a_card(const Sentence& sentence) {
  return sentence.has_stem({"gpu", "card", "vram", "cuda", "device"}) ||
         std::ranges::any_of(sentence.words, is_number_of_card) ||
         has_any_part(sentence, {"gpu", "显卡", "显存", "vram"});
}
// "GPU 0", "cuda:0", "the same card": one of several.
bool names_one_card(const Sentence& sentence) {
  return has_any_part(sentence,
                      {"gpu0",      "gpu 0",      "gpu #0",    "gpu:0",       "cuda:0",  "cuda 0",   "device 0",
                       "card 0",    "same gpu",   "same card", "same device", "one gpu", "one card", "single gpu",
                       "first gpu", "first card", "gpu-0",     "rank 0's",    "同一",    "第一张"});
}

// "13 workers", "every rank", "4 processes": more than one of them.
bool counts_several(const Sentence& sentence) {
  const auto is_process = [](std::string_view word) {
    return word.contains("worker") || word.starts_with("process") || word.starts_with("rank") ||
           word.starts_with("replica") || word.starts_with("instance") || word.starts_with("proc") ||
           word.contains("进程");
  };
  for (std::size_t i = 0; i < sentence.words.size(); ++i) {
    const std::string_view word = sentence.words[i];
    if (!is_process(word)) continue;
    // "开了13个worker": a number within the word that Chinese writes in one
    for (std::size_t at = 0; at < word.size(); ++at) {
      if (is_digit(word[at]) && word[at] != '0' &&
          (word[at] != '1' || (at + 1 < word.size() && is_digit(word[at + 1]))) &&
          static_cast<unsigned char>(word[0]) >= 0x80)
        return true;
    }
    for (std::size_t k = i > 4 ? i - 4 : 0; k < i; ++k) {
      const std::string_view count = sentence.words[k];
      const auto number = to_integer(count);
      if ((number && *number > 1) || count == "all" || count == "every" || count == "each" || count == "several" ||
          count == "multiple" || count == "many" || count == "four" || count == "eight" || count == "two" ||
          count == "both" || count == "these")
        return true;
    }
  }
  return false;
}

// "Another user here: the same": who it is holds nothing by his name.
bool says_holding(const Sentence& sentence) {
  static constexpr auto kHolding = std::to_array<std::string_view>(
      {"use",  "using", "occup", "hold", "held",  "take", "taking", "took",    "running", "kept",  "hog",
       "fill", "keep",  "sit",   "eat",  "block", "left", "share",  "sharing", "alive",   "resid", "allocat"});
  return sentence.has_word({"on"}) || has_any_part(sentence, {"占", "集中", "都在"}) ||
         std::ranges::any_of(sentence.words, [](std::string_view word) {
           return !word.starts_with("user") &&
                  std::ranges::any_of(kHolding, [&](std::string_view stem) { return word.starts_with(stem); });
         });
}

// Somebody else's process, or one that was left; "no other process" is none.
bool says_others(const Sentence& sentence) {
  std::size_t other = sentence.find_stem(
      {"someone's", "somebody's", "zombie", "orphan", "colleague", "coworker", "labmate", "defunct"});
  if (other == sentence.words.size() &&
      has_any_part(sentence, {"someone else", "somebody else", "other people", "other users", "another user"}))
    other = sentence.find_word({"someone", "somebody", "other", "another"});
  const bool also = has_any_part(sentence, {" as well", " also ", " too"}) &&
                    has_any_part(sentence, {"this card", "this gpu", "same card", "same gpu", "that card", "that gpu"});
  if (other == sentence.words.size() && also)
    return !sentence.has_word({"i", "we"}) || sentence.has_word({"my", "his", "her", "their"});
  if (other == sentence.words.size()) {
    other = sentence.find_word({"other", "another", "previous", "old", "stale", "crashed", "leftover", "killed",
                                "earlier", "dead", "else's", "last", "aborted"});
    const std::size_t thing = sentence.find_stem(
        {"process", "job", "run", "kernel", "notebook", "program", "script", "training", "user", "session", "container",
         "instance", "server", "experiment", "terminal", "shell", "window", "app"},
        other);
    if (thing >= sentence.words.size() || thing > other + 3) return false;
  }
  for (std::size_t i = other > 3 ? other - 3 : 0; i < other; ++i) {
    if (is_not(sentence.words[i])) return false;
  }
  return other < sentence.words.size() && !has_any_part(sentence, {"没有"});
}

bool says_works(const Sentence& sentence) {
  return sentence.has_word({"works",      "work",        "worked",   "ok",     "okay",    "fine",         "solved",
                            "solves",     "solve",       "fixed",    "fixes",  "helped",  "helps",        "gone",
                            "disappears", "disappeared", "succeeds", "passes", "passed",  "able",         "normal",
                            "normally",   "runs",        "ran",      "trains", "success", "successfully", "completes",
                            "finishes",   "fits",        "through",  "can"}) &&
         !std::ranges::any_of(sentence.words, [](const std::string& word) {
           return word == "not" || word == "doesn't" || word == "didn't" || word == "can't" || word == "cannot" ||
                  word == "isn't" || word == "wasn't" || word == "hasn't";
         });
}
bool says_fails(const Sentence& sentence) {
  return base::says_out_of_memory(sentence.text) ||
         has_any_part(sentence, {"oom", "unable", "crash", "fail", "error", "exited", "dies", "died", "runs out",
                                 "ran out", "so much", "too much", "can't", "cannot", "killed"});
}

// A part of the sentence in which the training goes well, beside another in which something fails.
bool says_training_works(const Sentence& sentence) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= sentence.words.size(); ++i) {
    const bool is_end = i == sentence.words.size() || sentence.words[i] == "," || sentence.words[i] == "but" ||
                        sentence.words[i] == "while" || sentence.words[i] == "whereas" ||
                        sentence.words[i] == "however" || sentence.words[i] == "although";
    if (!is_end) continue;
    Sentence part{.words = {sentence.words.begin() + static_cast<std::ptrdiff_t>(begin),
                            sentence.words.begin() + static_cast<std::ptrdiff_t>(i)}};
    for (const std::string& word : part.words) part.text += word + " ";
    if (part.has_stem({"train", "epoch"}) && !part.has_stem({"eval", "valid"}) && says_works(part) && !says_fails(part))
      return true;
    begin = i + 1;
  }
  return false;
}

// What cures a cause, by the words of code and of options in which everybody writes it, and the cause: what made the
// trouble go is what it came from.
struct Cure {
  std::string_view words;
  SentenceKind told;
};
constexpr auto kCures = std::to_array<Cure>({
    {"no_grad", SentenceKind::kToldCauseNoGradMissing},
    {"inference_mode", SentenceKind::kToldCauseNoGradMissing},
    {"map_location", SentenceKind::kToldCauseCheckpointKeptOnGpu},
    {"compute_metrics", SentenceKind::kToldCausePredsAccumulatedOnGpu},
    {"eval_accumulation_steps", SentenceKind::kToldCausePredsAccumulatedOnGpu},
    {"preprocess_logits_for_metrics", SentenceKind::kToldCausePredsAccumulatedOnGpu},
    {".item()", SentenceKind::kToldCauseGraphRetained},
    {".item,", SentenceKind::kToldCauseGraphRetained},
    {".item ", SentenceKind::kToldCauseGraphRetained},
    {".item\xe5", SentenceKind::kToldCauseGraphRetained},
    {"float(loss", SentenceKind::kToldCauseGraphRetained},
    {"detach()", SentenceKind::kToldCauseGraphRetained},
    {"opt-sdp", SentenceKind::kToldCauseAttentionQuadratic},
    {"xformers", SentenceKind::kToldCauseAttentionQuadratic},
    {"flash_attention", SentenceKind::kToldCauseAttentionQuadratic},
    {"flash-attn", SentenceKind::kToldCauseAttentionQuadratic},
    {"linearcrossentropy", SentenceKind::kToldCauseLogitsVocabBlowup},
    {"linear_cross_entropy", SentenceKind::kToldCauseLogitsVocabBlowup},
    {"allow_growth", SentenceKind::kToldCausePoolGrowthPolicy},
    {"set_memory_growth", SentenceKind::kToldCausePoolGrowthPolicy},
    {"force_gpu_allow_growth", SentenceKind::kToldCausePoolGrowthPolicy},
    {"client_preallocate", SentenceKind::kToldCausePoolGrowthPolicy},
    {"client_mem_fraction", SentenceKind::kToldCausePoolGrowthPolicy},
    {"gpu-memory-utilization", SentenceKind::kToldCauseServingOvercommit},
    {"gpu_memory_utilization", SentenceKind::kToldCauseServingOvercommit},
    {"mem-fraction-static", SentenceKind::kToldCauseServingOvercommit},
    {"max-num-seqs", SentenceKind::kToldCauseServingOvercommit},
    {"gpu-layers", SentenceKind::kToldCausePlacementNoHeadroom},
    {"gpu_layers", SentenceKind::kToldCausePlacementNoHeadroom},
    {"max_memory", SentenceKind::kToldCausePlacementNoHeadroom},
    {"virtual memory", SentenceKind::kToldCauseHostRamOom},
    {"page file", SentenceKind::kToldCauseHostRamOom},
    {"paging file", SentenceKind::kToldCauseHostRamOom},
    {"pagefile", SentenceKind::kToldCauseHostRamOom},
    {"swap file", SentenceKind::kToldCauseHostRamOom},
    {"swapfile", SentenceKind::kToldCauseHostRamOom},
    {"shm-size", SentenceKind::kToldCauseShmExhausted},
    {"shm_size", SentenceKind::kToldCauseShmExhausted},
    {"ipc=host", SentenceKind::kToldCauseShmExhausted},
    {"expandable_segments", SentenceKind::kToldCauseFragmentation},
    {"max_split_size", SentenceKind::kToldCauseFragmentation},
    {"cudnn.benchmark", SentenceKind::kToldCauseCudnnWorkspace},
    {"group_by_length", SentenceKind::kToldCauseVariableLengthSpike},
    {"sysmem fallback", SentenceKind::kToldCauseWindowsSharedMemory},
    {"gc.collect", SentenceKind::kToldCauseLeakGrowth},
    {"kill -9", SentenceKind::kToldCauseOtherProcess},
    {"killing the process", SentenceKind::kToldCauseOtherProcess},
    {"killed the process", SentenceKind::kToldCauseOtherProcess},
});

// "Not the OOM issue", "with 1024 it runs out of memory, which is understandable": that is not what is asked about.
bool is_beside_the_matter(const Sentence& sentence) {
  return has_any_part(sentence,
                      {"not the oom", "not an oom", "no oom issue", "not out of memory", "not a memory", "fair enough",
                       "understandable", "as expected", "is expected", "makes sense", "of course"});
}

bool says_cure(const Sentence& sentence) {
  if (has_any_part(sentence, {"no difference", "little difference"}) ||
      sentence.has_word({"not", "doesn't", "didn't", "don't", "can't", "cannot", "isn't", "tried"}))
    return false;
  return sentence.has_word({"solved", "solves", "solve", "fixed", "fixes", "resolved", "resolves", "works", "worked",
                            "working", "helps", "helped", "cured", "cures", "disappears", "disappeared", "gone",
                            "difference", "avoids"}) ||
         has_any_part(sentence,
                      {"did the trick", "that was it", "did it", "no more oom", "no longer", "goes away", "went away",
                       "got it right", "solved", "within limits", "within the limit", "stays flat", "stays constant",
                       "\xe8\xa7\xa3\xe5\x86\xb3",                                 // "solved" in Chinese
                       "\xe5\xb0\xb1\xe5\xa5\xbd\xe4\xba\x86", "\xe5\xb0\xb1 ok",  // "then it is fine"
                       "\xe5\xb0\xb1\xe8\xa1\x8c"});
}

bool is_of_spelled_word(char letter) { return is_letter(letter) || static_cast<unsigned char>(letter) >= 0x80; }

// "--shm-size", "max_memory", "more RAM": a word or a part of an option that is memory's name.
bool names_memory_setting(const Sentence& sentence) {
  for (const std::string& word : sentence.words) {
    Cursor cursor(word);
    while (!cursor.at_end()) {
      if (is_name_of_memory(cursor.take_while(is_of_spelled_word))) return true;
      cursor.take_while([](char letter) { return !is_of_spelled_word(letter); });
    }
  }
  return false;
}

void add_cures(const Sentence& sentence, std::vector<SentenceKind>& causes) {
  if (sentence.has_stem({"adam"}) && sentence.has_stem({"sgd"}) && says_fails(sentence))
    causes.push_back(SentenceKind::kToldCauseOptimizerStateFirstStep);
  if (!says_cure(sentence)) return;
  if (names_memory_setting(sentence)) causes.push_back(SentenceKind::kToldMemoryCured);
  for (const Cure& cure : kCures) {
    if (contains_ignoring_case(sentence.text, cure.words)) causes.push_back(cure.told);
  }
}

}  // namespace

std::vector<model::SentenceKind> told_causes(const Sentence& sentence) {
  std::vector<SentenceKind> causes;
  if (sentence.mood == Mood::kAsked) {  // "all are on gpu 0, can I choose?"
    const auto said = said_before_question(sentence);
    return said ? told_causes(*said) : causes;
  }
  if (sentence.mood == Mood::kAsserted || has_any_part(sentence, {"be solved", "be fixed", "be resolved"}))
    add_cures(sentence, causes);
  if (sentence.mood != Mood::kAsserted) return causes;
  add_told_signs(sentence, causes);
  const bool denied = has_negation(sentence);
  if (counts_several(sentence) && names_one_card(sentence) && says_holding(sentence) &&
      !has_any_part(sentence, {"no other"}))
    causes.push_back(SentenceKind::kToldOwnMany);
  if (says_others(sentence) && says_holding(sentence) && names_a_card(sentence))
    causes.push_back(SentenceKind::kToldOthers);
  if (has_any_part(sentence, {"cuda:1", "cuda(1)", "cuda:2", "cuda(2)", "cuda:3", "cuda(3)", "gpu 1", "gpu1", "gpu 2",
                              "gpu 3", "second gpu", "second card", "other gpu", "other card"}) &&
      (sentence.is_of_writer() || sentence.has_stem({"empty", "idle", "free", "unused", "select", "set", "choose"})))
    causes.push_back(SentenceKind::kToldMeansCard);
  const bool pins = has_any_part(sentence, {"pin_memory", "pinned memory", "pinning", "pin memory"});
  const bool off = has_any_part(sentence, {"false", "without", "disabl", "turn off", "turned off", "turning off",
                                           "off ", " off", "skip", "no validation", "remov", "no pin"});
  if (pins && off && says_works(sentence)) causes.push_back(SentenceKind::kToldPinCured);
  const bool loads =
      has_any_part(sentence, {"resum", "checkpoint", "load_state", "pretrained weights", "restor", "reload"});
  const bool fresh = has_any_part(
      sentence, {"from scratch", "without load", "without resum", "without the checkpoint", "without a checkpoint",
                 "fresh start", "fresh run", "starting fresh", "not loading", "new run", "first run"});
  if (loads && says_fails(sentence)) causes.push_back(SentenceKind::kToldLoadFails);
  if (fresh && says_works(sentence)) causes.push_back(SentenceKind::kToldFreshWorks);
  const bool evaluates = (sentence.has_stem({"eval", "valid", "predict"}) ||
                          sentence.has_word({"val", "testing", "test"}) || has_any_part(sentence, {"val="}));
  const bool trains = sentence.has_stem({"train", "epoch"});
  const bool cured_without = evaluates && off && says_works(sentence) && !pins;
  if (evaluates && (says_fails(sentence) || cured_without || sentence.text.ends_with(':')))
    causes.push_back(SentenceKind::kToldEvalFails);
  if (says_training_works(sentence) || (evaluates && off && says_works(sentence)) ||
      (trains && sentence.has_word({"needs", "takes", "only", "uses"}) && evaluates) ||
      (evaluates && has_any_part(sentence, {"after finish", "after training", "after the train", "end of the epoch",
                                            "end of epoch", "while training"})))
    causes.push_back(SentenceKind::kToldTrainWorks);
  if (evaluates &&
      sentence.has_stem({"accumulat", "gather", "concat", "append", "collect", "stor", "keep", "kept", "stack"}) &&
      sentence.has_stem({"logit", "pred", "output", "result", "score", "feature", "prob", "embedding"}))
    causes.push_back(SentenceKind::kToldEvalGathers);
  if (sentence.has_stem({"long", "outlier", "above", "huge"}) &&
      sentence.has_stem({"utteranc", "sequenc", "sentenc", "sampl", "audio", "document", "clip", "input", "text",
                         "prompt", "recording", "example", "article"}) &&
      !has_any_part(sentence, {"no longer", "as long as", "takes long", "long time", "how long"}) && !denied)
    causes.push_back(sentence.has_word({"only", "always", "whenever"}) ? SentenceKind::kToldOnlyLongInput
                                                                       : SentenceKind::kToldLongInput);
  if (has_any_part(sentence, {"样本长度不", "样本比较长", "长度不一", "序列长度不", "句子长度不", "变长"}))
    causes.push_back(SentenceKind::kToldLongInput);
  if (has_any_part(sentence, {"no_grad", "inference_mode"}) &&
      (sentence.has_stem({"wrap", "forgot", "forget", "missing", "miss", "without", "lack"}) ||
       has_any_part(sentence, {"that was it", "was the ", "did the trick"}) || says_works(sentence)))
    causes.push_back(SentenceKind::kToldNoGrad);
  const bool keeps = sentence.has_stem({"accumulat", "append", "stor", "sum", "keep", "kept", "history", "collect"});
  const bool of_loss = sentence.has_stem({"loss", "grad"}) || has_any_part(sentence, {"loss"});
  if ((of_loss && keeps &&
       has_any_part(sentence, {"detach", ".item", "item()", "items", "retain_graph", "create_graph", "the graph",
                               "its graph", "computation graph"})))
    causes.push_back(SentenceKind::kToldGraph);
  if (has_any_part(sentence, {"max_tokens", "max-tokens", "batch_size", "batch size", "resolution", "max_length"}) &&
      sentence.has_word({"if", "when", "once", "with"}) &&
      sentence.has_word({"big", "large", "high", "higher", "larger"}) && says_fails(sentence) &&
      !is_beside_the_matter(sentence))
    causes.push_back(SentenceKind::kToldCauseCapacityExceeded);
  if (sentence.has_stem({"ground", "gt", "instance", "object", "box", "mask", "annotation", "target"}) &&
      has_any_part(sentence, {"per img", "per image", "per sample", "per frame", "in one image"}) &&
      (has_any_part(sentence, {">", "more than", "too many"}) || sentence.has_word({"many", "hundreds"})) &&
      says_fails(sentence))
    causes.push_back(SentenceKind::kToldCauseDataDependentBlowup);
  // Windows's own words for host memory that its driver lends the card.
  const bool is_shared =
      has_any_part(sentence, {"shared gpu memory", "shared video memory", "shared memory gets used"}) ||
      (has_any_part(sentence, {"task manager"}) && has_any_part(sentence, {"shared"}));
  if (is_shared && has_any_part(sentence, {"slow", "speed", "bottleneck", "s/it", "crawl", "spill", "overflow"}))
    causes.push_back(SentenceKind::kToldSharedGpu);
  if (sentence.has_word({"only", "until", "unless"}) && sentence.has_stem({"restart", "reboot"}) &&
      sentence.has_stem({"kernel", "notebook", "runtime", "jupyter", "session", "python"}))
    causes.push_back(SentenceKind::kToldRestartCures);
  const bool deletes = has_any_part(sentence, {"`del ", " del ", "deleting "}) || sentence.text.starts_with("del ");
  if (deletes && (says_works(sentence) || has_any_part(sentence, {"brings", "drops", "halves", "no more", "lowers"})))
    causes.push_back(SentenceKind::kToldDelCures);
  if (sentence.has_stem({"logit"}) && has_any_part(sentence, {"vocab", "float32", "fp32", "upcast"}))
    causes.push_back(SentenceKind::kToldLogits);
  if (has_any_part(sentence, {"mem_fraction", "mem-fraction", "gpu_memory_utilization", "gpu-memory-utilization"}) &&
      says_fails(sentence))
    causes.push_back(SentenceKind::kToldServerShare);
  if (has_any_part(sentence, {"max_split_size", "expandable_segments", "garbage_collection_threshold", "alloc_conf"}) &&
      has_any_part(sentence, {"error", "bug", "crash", "assert", "invalid", "occurs"}))
    causes.push_back(SentenceKind::kToldAllocator);
  return causes;
}

}  // namespace vramfit::ingest
