#include "ingest/text/told_signs.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/out_of_memory.h"
#include "ingest/text/cursor.h"
#include "ingest/text/told_memory.h"

namespace vramfit::ingest {
namespace {

using model::SentenceKind;

std::string_view word_at(const Sentence& sentence, std::size_t at) {
  return at < sentence.words.size() ? std::string_view(sentence.words[at]) : std::string_view();
}

bool is_failure(std::string_view word) {
  return word.starts_with("oom") || word.starts_with("fail") || word.starts_with("crash") ||
         word.starts_with("error") || word == "memory";  // of "out of memory"
}
bool says_failure(const Sentence& sentence) {
  return std::ranges::any_of(sentence.words,
                             [](std::string_view word) { return is_failure(word) && word != "memory"; }) ||
         base::says_out_of_memory(sentence.text) || contains_any(sentence.text, {"爆", "溢出"});
}
bool names_memory(const Sentence& sentence) { return std::ranges::any_of(sentence.words, is_name_of_memory); }

bool is_killed(const Sentence& sentence) {
  constexpr std::size_t kReach = 6;  // words before it that say who was, and whether
  static constexpr auto kBefore = std::to_array<std::string_view>(
      {"gets",     "got",    "get",         "getting",       "is",     "was",       "are",        "were",
       "be",       "been",   "being",       "says",          "said",   "say",       "with",       "just",
       "only",     "prints", "printed",     "shows",         "always", "then",      "eventually", "suddenly",
       "silently", "again",  "immediately", "automatically", "simply", "constantly"});
  static constexpr auto kBySystem = std::to_array<std::string_view>(
      {"kernel", "oom", "oom-killer", "oomkiller", "system", "os", "linux", "ubuntu", "signal", "kubernetes"});
  // What a process leaves on the card when it is killed is another matter.
  if (sentence.has_stem({"releas", "freed", "occup", "zombie", "orphan", "ctrl", "timeout"})) return false;
  if (contains_any(sentence.text, {"被杀死", "被杀掉", "被kill", "被 kill"}))
    return !contains_any(sentence.text, {"显存", "显卡"});
  const std::size_t at = sentence.find_word({"killed", "oom-killed", "oomkilled", "evicted"});
  const auto is_followed = [&] {  // "the web UI killed while loading"
    const std::string_view next = word_at(sentence, at + 1);
    return next == "while" || next == "when" || next == "during";
  };
  if (at == 0 || at == sentence.words.size()) return false;
  if (std::ranges::find(kBefore, word_at(sentence, at - 1)) == kBefore.end() && !is_followed()) return false;
  for (std::size_t i = at > kReach ? at - kReach : 0; i < at; ++i) {
    const std::string_view word = word_at(sentence, i);
    if (word == "not" || word == "never" || word == "without" || word.ends_with("n't") || word == "i") return false;
    if (word == "all") return false;  // the kernel ends one
  }
  if (word_at(sentence, at + 1) != "by") return true;
  return std::ranges::any_of(std::array{at + 2, at + 3}, [&](std::size_t i) {
    return std::ranges::find(kBySystem, word_at(sentence, i)) != kBySystem.end();
  });
}

bool shows_no_process(const Sentence& sentence) {
  const bool is_held = names_memory(sentence) &&
                       (sentence.has_stem({"occup", "used", "held", "taken", "full", "releas", "freed", "consum"}) ||
                        contains_any(sentence.text, {"占", "释放"}));
  const bool is_unseen =
      contains_any(sentence.text, {"no process", "no running process", "no gpu process", "no visible process",
                                   "show any process", "see any process", "list any process", "find any process",
                                   "without any process", "process list is empty"}) ||
      (sentence.text.contains("进程") && contains_any(sentence.text, {"看不到", "没有", "不显示", "找不到", "查不到"}));
  return is_held && is_unseen;
}

bool is_first_card_fuller(const Sentence& sentence) {
  return contains_any(sentence.text, {"gpu 0", "gpu0", "gpu:0", "gpu #0", "cuda:0", "device 0", "first gpu",
                                      "first card", "card 0", "rank 0", "main gpu"}) &&
         sentence.has_word({"more", "higher", "fuller"}) &&
         contains_any(sentence.text,
                      {"than the other", "than other", "than the rest", "than all other", "than all the"});
}

// "After one OOM every following cell fails too"
bool fails_again(const Sentence& sentence) {
  const std::size_t after = sentence.find_word({"after", "once"});
  const std::size_t first = sentence.find_stem({"oom", "out-of-memory", "outofmemory", "memory"}, after);
  if (after == sentence.words.size() || first > after + 5) return false;
  if (!says_failure(sentence)) return false;
  if (!sentence.has_word({"following", "subsequent", "next", "second", "further", "later", "every"})) return false;
  for (std::size_t i = 0; i < sentence.words.size(); ++i) {
    const bool is_of_first = i >= after && i <= first + 1;  // "out of memory error" is one
    if (!is_of_first && is_failure(sentence.words[i])) return true;
  }
  return false;
}

bool is_context_too_long(const Sentence& sentence) {
  if (contains_any(sentence.text, {"cuda context", "device context", "gpu context"})) return false;
  const bool is_context = sentence.has_word({"context", "ctx", "num_ctx", "n_ctx", "max_model_len", "ctx-size"}) ||
                          contains_any(sentence.text, {"上下文"});
  const bool is_too_long =
      contains_any(sentence.text, {"not fit", "n't fit", "too long for", "too large for", "too big for"}) ||
      (base::says_out_of_memory(sentence.text) ||
       (says_failure(sentence) && contains_any(sentence.text, {"oom", "爆"})));
  return is_context && is_too_long;
}

bool runs_out_in_loading(const Sentence& sentence) {
  const bool is_loaded =
      sentence.has_word({"resume", "resumes", "resuming", "resumed", "restore", "restores", "restoring"}) ||
      (sentence.has_word({"load", "loads", "loading", "loaded", "reload", "reloading"}) &&
       contains_any(sentence.text, {"checkpoint", "state_dict", "state dict", "optimizer state"}));
  return is_loaded &&
         (base::says_out_of_memory(sentence.text) || contains_any(sentence.text, {"oom", "out of vram"})) &&
         !sentence.has_stem({"sav"});
}

// "4gb", "1 GB": of a word and the next one.
double gigabytes_at(const Sentence& sentence, std::size_t at) {
  Cursor cursor(word_at(sentence, at));
  const auto number = to_number(cursor.take_while([](char letter) { return is_digit(letter) || letter == '.'; }));
  const std::string_view unit = cursor.at_end() ? word_at(sentence, at + 1) : cursor.rest();
  return number && (unit == "gb" || unit == "gib" || unit == "g" || unit == "gig") ? *number : 0;
}

bool has_small_card(const Sentence& sentence) {
  constexpr double kSmall = 4;
  constexpr std::size_t kNear = 5;
  // An amount of the card, and not one that was asked for, is free or lies on a disk.
  if (sentence.has_stem({"alloc", "free", "using", "used", "uses", "usage", "need", "requir", "file", "model", "batch",
                         "checkpoint", "shm", "swap", "more", "only", "download", "weights", "leak"}) ||
      sentence.has_word({"ram", "use"}))
    return false;
  for (std::size_t i = 0; i < sentence.words.size(); ++i) {
    const double gigabytes = gigabytes_at(sentence, i);
    if (gigabytes < 0.5 || gigabytes > kSmall) continue;
    const std::size_t from = i > kNear ? i - kNear : 0;
    const std::size_t card =
        sentence.find_stem({"gpu", "card", "vram", "quadro", "geforce", "gtx", "radeon", "nvidia"}, from);
    if (card <= i + kNear && card < sentence.words.size()) return true;
  }
  return false;
}

bool fails_with_least_batch(const Sentence& sentence) {
  constexpr std::size_t kNear = 4;
  const std::size_t batch = sentence.find_stem({"batch"});
  if (batch == sentence.words.size() || !sentence.has_word({"still", "even", "also"})) return false;
  const bool fails = says_failure(sentence) || sentence.has_stem({"occur", "happen", "persist"});
  for (std::size_t i = batch + 1; fails && i <= batch + kNear; ++i) {
    const std::string_view word = word_at(sentence, i);
    if (word == "1" || word == "2" || word == "one") return true;
    if (!word.empty() && is_digit(word[0])) return false;  // of another size
  }
  return false;
}

bool fails_in_decoding(const Sentence& sentence) {
  return contains_any(sentence.text, {"vae"}) && contains_any(sentence.text, {"decod", "encod", "解码", "编码"}) &&
         says_failure(sentence);
}

bool lies_in_shm(const Sentence& sentence) {
  return sentence.text.contains("/dev/shm") && (sentence.has_stem({"left", "remain", "stale", "orphan"}) ||
                                                (sentence.has_word({"still"}) && !says_failure(sentence) &&
                                                 sentence.has_stem({"file", "segment", "see", "there"})));
}

}  // namespace

void add_told_signs(const Sentence& sentence, std::vector<model::SentenceKind>& causes) {
  struct Sign {
    bool (*is_told)(const Sentence&);
    SentenceKind kind;
  };
  for (const auto& [is_told, kind] :
       {Sign{is_killed, SentenceKind::kToldKilled}, Sign{shows_no_process, SentenceKind::kToldNoProcess},
        Sign{is_first_card_fuller, SentenceKind::kToldFirstMore}, Sign{fails_again, SentenceKind::kToldFailsAgain},
        Sign{is_context_too_long, SentenceKind::kToldContext}, Sign{runs_out_in_loading, SentenceKind::kToldLoadOoms},
        Sign{has_small_card, SentenceKind::kToldSmallCard}, Sign{fails_with_least_batch, SentenceKind::kToldSmallBatch},
        Sign{fails_in_decoding, SentenceKind::kToldVae}, Sign{lies_in_shm, SentenceKind::kToldShmLeft}}) {
    if (is_told(sentence)) causes.push_back(kind);
  }
}

}  // namespace vramfit::ingest
