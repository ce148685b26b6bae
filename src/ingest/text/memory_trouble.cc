#include "ingest/text/memory_trouble.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <string>
#include <vector>

#include "ingest/text/cursor.h"
#include "ingest/text/line_kind.h"
#include "ingest/text/line_text.h"
#include "ingest/text/memory_pressure.h"
#include "ingest/text/other_error.h"
#include "ingest/text/refused_request.h"
#include "ingest/text/sentence.h"

namespace vramfit::ingest {
namespace {

// Names of what can run out, or is asked for. In lower case.
constexpr auto kMemoryNames = std::to_array<std::string_view>(
    {"memory",   "memories", "alloc",   "vram",    "ram",   "hbm",    "gtt",    "heap",
     "kv cache", "buffer",   "swap",    "显存",    "内存",  "記憶體", "メモリ", "메모리",
     "speicher", "mémoire",  "memoria", "memória", "памят", "bellek", "pamięc"});
// Words which say that it did. `near`: the most bytes between this and the name.
struct Failure {
  std::string_view words;
  std::size_t near = 48;
};
constexpr auto kFailures = std::to_array<Failure>({{"out of", 28},
                                                   {"outof", 28},
                                                   {"out_of", 28},
                                                   {"out-of", 28},
                                                   {"fail"},
                                                   {"unable"},
                                                   {"not possible to"},
                                                   {"impossible to"},
                                                   {"cannot"},
                                                   {"can't"},
                                                   {"can not"},
                                                   {"could not"},
                                                   {"couldn't"},
                                                   {"not enough"},
                                                   {"isn't enough"},
                                                   {"insufficient"},
                                                   {"exhaust"},
                                                   {"exceed"},
                                                   {"too little", 28},
                                                   {"too large"},
                                                   {"too big"},
                                                   {"larger than"},
                                                   {"no more ", 12},
                                                   {"no free ", 12},
                                                   {"no available ", 12},
                                                   {"not available", 12},
                                                   {"than is available"},
                                                   {"than available"},
                                                   {"ran out"},
                                                   {"run out"},
                                                   {"running out"},
                                                   {"runs out"},
                                                   {"refus"},
                                                   {"reject"},
                                                   {"denied"},
                                                   {"excessive", 4},
                                                   {"lack of", 28},
                                                   {"low on", 12},
                                                   {"error", 2},
                                                   {"leak", 2},
                                                   {"used all", 16},
                                                   {"oversubscri", 28},
                                                   {"is full", 16},
                                                   {"is low", 4},
                                                   {"不足", 30},
                                                   {"不够", 30},
                                                   {"溢出", 30},
                                                   {"爆", 12},
                                                   {"失败", 30},
                                                   {"足り", 30},
                                                   {"부족", 30},
                                                   {"недостат", 40},
                                                   {"не хватает", 40},
                                                   {"нехватк", 40},
                                                   {"nicht gen", 40},
                                                   {"zu wenig", 40},
                                                   {"voll", 12},
                                                   {"insuffi", 40},
                                                   {"insufic", 40},
                                                   {"manque", 30},
                                                   {"yetersiz", 30},
                                                   {"brak", 20}});
// Words behind "memory" which show that it is of something else.
constexpr auto kOtherMeanings = std::to_array<std::string_view>(
    {" access", "_efficient", "-efficient", " efficient", "_format", " format", " bandwidth", "-mapped", " mapped",
     " pool event", "_fraction", " clock", "_stats", " layout", " order", " leak check", " leak test"});
// Words before it which show that nothing of the kind happened yet.
constexpr auto kIfs = std::to_array<std::string_view>(
    {"if ",      "avoid",   "prevent", "in case",     "when ",          "might ",  "may ",   "would ",
     "without ", "no out",  "not out", "no cuda out", "no memory leak", "solve",   "to fix", "reduc",
     "help",     "lead to", "handles", "unless",      "until",          "whether", "never"});
constexpr auto kCodeBeginnings = std::to_array<std::string_view>(
    {"except ", "raise ", "import ", "class ", "def ", "#include", "catch (", "return ", "if (", "elif ", "@", "//"});
using WordsOfName = std::initializer_list<std::string_view>;

constexpr std::size_t kIfReach = 160;     // bytes before the words in which a condition counts
constexpr std::size_t kSentence = 240;    // bytes that are quoted on each side at most
constexpr std::size_t kMostWords = 256;   // lines of a file: one is enough to say that there is trouble
constexpr std::size_t kMostPlaces = 256;  // of one line

struct Place {
  std::size_t begin = 0, end = 0, near = 48;
};

// A name of three letters is one only as a word of its own.
bool stands_alone(std::string_view text, std::size_t begin, std::size_t end) {
  return (begin == 0 || !is_word(text[begin - 1])) && (end >= text.size() || !is_word(text[end]));
}

bool means_other(std::string_view behind) {
  return std::ranges::any_of(kOtherMeanings, [&](std::string_view other) { return behind.starts_with(other); });
}

// The pairs of letters that a line has: of a hundred words most are ruled out by a pair that is not there.
class Pairs {
 public:
  explicit Pairs(std::string_view line) {
    for (std::size_t i = 0; i + 1 < line.size(); ++i) seen_.set(hash(line[i], line[i + 1]));
  }
  bool may_have(std::string_view word) const {
    for (std::size_t i = 0; i + 1 < word.size(); ++i) {
      if (!seen_.test(hash(word[i], word[i + 1]))) return false;
    }
    return true;
  }

 private:
  static std::size_t hash(char first, char second) {
    return (static_cast<unsigned char>(first) * 61u + static_cast<unsigned char>(second)) & 4095u;
  }
  std::bitset<4096> seen_;
};

std::vector<Place> find_names(std::string_view low, const Pairs& pairs) {
  std::vector<Place> places;
  for (const std::string_view name : kMemoryNames) {
    if (!pairs.may_have(name)) continue;
    for (std::size_t at = low.find(name); at != kNowhere && places.size() < kMostPlaces;
         at = low.find(name, at + name.size())) {
      const std::size_t end = at + name.size();
      if (name.size() <= 3 && !stands_alone(low, at, end)) continue;
      if (!means_other(low.substr(end))) places.push_back({at, end});
    }
  }
  return places;
}

std::vector<Place> find_failures(std::string_view low, const Pairs& pairs) {
  std::vector<Place> places;
  for (const Failure& failure : kFailures) {
    if (!pairs.may_have(failure.words)) continue;
    for (std::size_t at = low.find(failure.words); at != kNowhere && places.size() < kMostPlaces;
         at = low.find(failure.words, at + failure.words.size())) {
      places.push_back({at, at + failure.words.size(), failure.near});
    }
  }
  return places;
}

// "OOM injected in 4 tests as planned": a test's own.
bool is_made_on_purpose(std::string_view behind) {
  const std::string_view near = behind.substr(0, 64);
  return near.contains("injected") || near.contains("simulated") || near.contains("as planned") ||
         near.contains("as expected") || near.contains("recovered");
}

// "OOM" says both in one word; a count of them that is 0 says neither.
std::optional<Place> find_oom_word(std::string_view low) {
  for (std::size_t at = low.find("oom"); at != kNowhere; at = low.find("oom", at + 3)) {
    if (at > 0 && is_word(low[at - 1])) continue;
    std::size_t end = at + 3;
    while (end < low.size() && is_letter(low[end])) ++end;
    const std::string_view rest = low.substr(at + 3, end - at - 3);
    if (!(rest.empty() || rest == "ed" || rest == "ing" || rest == "killed" || rest == "error" || rest == "s") ||
        low.substr(end).starts_with('_'))
      continue;
    Cursor cursor(low.substr(end));
    cursor.take_while([](char letter) { return is_blank(letter) || letter == ':' || letter == '='; });
    if (cursor.peek() == '0' && !cursor.rest().starts_with("0x")) continue;
    if (is_made_on_purpose(low.substr(end))) continue;
    return Place{at, end};
  }
  return std::nullopt;
}

bool is_zero(std::string_view number) {
  const std::size_t end = std::min(number.find_first_not_of("0123456789."), number.size());
  return number.substr(0, end).find_first_of("123456789") == kNowhere;
}

// What an allocator counts when it is in want: "num_alloc_retries: 412", "OOMs: 14", "\"num_ooms\": 2", "4 pytorch
// allocator cache flushes". A name that says so, and a number beside it that is not 0; settings of it count nothing.
std::optional<Place> find_counted_trouble(std::string_view low) {
  constexpr std::size_t kWordsBefore = 3;
  std::vector<std::pair<std::size_t, std::string_view>> before;  // words of the same name: between them blanks, '_'
  for (std::size_t at = 0; at < low.size();) {
    if (!is_letter(low[at])) {
      if (!std::string_view(" _-.").contains(low[at])) before.clear();
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < low.size() && is_letter(low[end])) ++end;
    const std::string_view word = low.substr(at, end - at);
    const auto follows = [&](WordsOfName words) {
      return std::ranges::any_of(before, [&](const auto& one) {
        return std::ranges::any_of(words, [&](std::string_view known) { return one.second.starts_with(known); });
      });
    };
    const bool is_oom = word == "oom" || word == "ooms" || word == "oomkills";
    const bool is_retry = (word == "retries" || word == "retry" || word == "flushes" || word == "failures" ||
                           word == "fails" || word == "fail") &&
                          follows({"alloc", "cudamalloc", "malloc", "cache"});
    const bool is_setting = follows({"max", "on", "no", "limit", "handle", "retry", "without", "never", "if"});
    if ((is_oom || is_retry) && !is_setting) {
      const std::size_t begin = before.empty() ? at : before.front().first;
      Cursor behind(low.substr(end));
      if (behind.rest().starts_with("_kill") || behind.rest().starts_with("_events")) {
        behind.take_while([](char letter) { return is_letter(letter) || letter == '_'; });
      }
      const std::string_view sign = behind.take_while(
          [](char letter) { return is_blank(letter) || std::string_view(":=|\"'").contains(letter); });
      if (!sign.empty() && is_digit(behind.peek()) && !is_zero(behind.rest())) return Place{begin, end};
      std::string_view ahead = trim(low.substr(0, begin));
      std::size_t digits = ahead.size();
      while (digits > 0 && is_digit(ahead[digits - 1])) --digits;
      const bool is_count = digits < ahead.size() && (digits == 0 || is_blank(ahead[digits - 1]));
      if (is_count && begin > ahead.size() && !is_zero(ahead.substr(digits)) && (word.ends_with('s') || is_retry))
        return Place{digits, end};
    }
    before.emplace_back(at, word);
    if (before.size() > kWordsBefore) before.erase(before.begin());
    at = end;
  }
  return std::nullopt;
}

// "CUDA out of me": what says so, and was cut before its end.
std::optional<Place> find_cut_words(std::string_view low) {
  for (const std::string_view whole : {"out of memory", "outofmemory", "out_of_memory"}) {
    for (std::size_t length = whole.starts_with("outof") ? 7 : 8; length < whole.size(); ++length) {
      if (low.ends_with(whole.substr(0, length))) return Place{low.size() - length, low.size()};
    }
  }
  return std::nullopt;
}

// TensorFlow's and XLA's word for it, which RPC libraries have for messages and quotas too; Spark RAPIDS' and Ray's.
std::optional<Place> find_exhausted_resource(std::string_view low, const Pairs& pairs) {
  for (const std::string_view words : {"resource exhausted", "resource_exhausted", "out_of_resources",
                                       "invalid buffer size", "retryoom", "objectstorefull"}) {
    const std::size_t at = pairs.may_have(words) ? low.find(words) : kNowhere;
    if (at == kNowhere) continue;
    const bool is_other = low.contains("message larger") || low.contains("quota") || low.contains("rate limit");
    if (!is_other) return Place{at, at + words.size()};
  }
  return std::nullopt;
}

// A driver's name or number for "no memory": "ENOMEM", "CNRT_RET_ERR_NOMEM", "Ioctl failed: -12", "rc=-12", and CUDA's:
// "CUDA driver error: 2".
std::optional<Place> find_no_memory_number(std::string_view low, const Pairs& pairs) {
  for (const std::string_view name : {"nomem", "no_mem"}) {
    for (std::size_t at = low.find(name); at != kNowhere; at = low.find(name, at + 1)) {
      const std::size_t end = at + name.size();
      const bool begins = at == 0 || low[at - 1] == '_' || !is_word(low[at - 1]) ||
                          low.substr(0, at).ends_with("err") ||
                          (low[at - 1] == 'e' && (at == 1 || !is_letter(low[at - 2])));
      if (begins && (end >= low.size() || !is_letter(low[end]) || low.substr(end).starts_with("ory")))
        return Place{at, end};
    }
  }
  for (const std::string_view words : {"failed: -12",
                                       "failed (-12",
                                       "failed with -12",
                                       "error -12",
                                       "err -12",
                                       "error: -12",
                                       "errno -12",
                                       "ret=-12",
                                       "ret = -12",
                                       "rc=-12",
                                       "rc = -12",
                                       "cuda error 2",
                                       "cuda error: 2",
                                       "cuda_error 2",
                                       "cuda driver error: 2",
                                       "cuda driver error 2",
                                       "cuda failure 2",
                                       "cuda error code 2",
                                       "cudagetlasterror() returned 2",
                                       "cudamalloc returned 2"}) {
    const std::size_t at = pairs.may_have(words) ? low.find(words) : kNowhere;
    const std::size_t end = at + words.size();
    if (at == kNowhere || (end < low.size() && (is_word(low[end]) || low[end] == '.'))) continue;
    return Place{at, end};
  }
  return std::nullopt;
}

// "Killed by user", "Killed 3 stale processes"
bool is_done_on_purpose(std::string_view behind) {
  return behind.starts_with(" by user") ||
         (behind.starts_with(' ') && is_digit(behind.substr(1, 1).empty() ? ' ' : behind[1]));
}

// A process that a signal ended, in words that no reader of such lines knows: SIGKILL is mostly the kernel's want of
// memory, SIGBUS mostly /dev/shm's. What a launcher does to the others is not what happened to the first.
std::optional<Place> find_sudden_end(std::string_view line, std::string_view low) {
  for (const std::string_view words :
       {"Killed", "SIGKILL", "SIGBUS", "signal 9", "signal: 9", "Bus error", ": killed"}) {
    const std::size_t at = line.find(words);
    const std::size_t end = at + words.size();
    if (at == kNowhere || !stands_alone(line, at, end) || is_done_on_purpose(line.substr(end))) continue;
    const bool is_of_launcher = low.contains("sending") || low.contains("forcefully") || low.contains("kill -");
    if (!is_of_launcher) return Place{at, end};
  }
  return std::nullopt;
}

bool in_one_sentence(std::string_view low, const Place& name, const Place& failure) {
  const auto [first, second] = name.begin < failure.begin ? std::pair(name, failure) : std::pair(failure, name);
  if (second.begin < first.end) return false;  // "outofmemory" has its parts one behind the other
  const std::string_view between = low.substr(first.end, second.begin - first.end);
  return between.size() <= failure.near && !between.contains(". ") && !between.contains("; ");
}

bool is_only_possible(std::string_view low, std::size_t at) {
  std::string_view before = low.substr(0, at);
  if (before.size() > kIfReach) before.remove_prefix(before.size() - kIfReach);
  if (const std::size_t end = before.rfind(". "); end != kNowhere) before.remove_prefix(end + 2);
  return std::ranges::any_of(kIfs, [&](std::string_view word) { return before.contains(word); });
}

enum class Conditions { kExcuse, kCount };

std::optional<Place> find_words(std::string_view low, Conditions conditions) {
  const auto is_excused = [&](std::size_t at) {
    return conditions == Conditions::kExcuse && is_only_possible(low, at);
  };
  std::optional<Place> found = find_oom_word(low);
  if (found && is_excused(found->begin)) found.reset();
  if (found) return found;
  const Pairs pairs(low);
  if (const auto counted = find_counted_trouble(low)) return counted;
  if (const auto cut = find_cut_words(low)) return cut;
  if (const auto exhausted = find_exhausted_resource(low, pairs)) return exhausted;
  if (const auto number = find_no_memory_number(low, pairs)) return number;
  const std::vector<Place> names = find_names(low, pairs);
  if (names.empty()) return std::nullopt;
  for (const Place& failure : find_failures(low, pairs)) {
    for (const Place& name : names) {
      const std::size_t begin = std::min(name.begin, failure.begin);
      if (in_one_sentence(low, name, failure) && !is_excused(begin))
        return Place{begin, std::max(name.end, failure.end)};
    }
  }
  return std::nullopt;
}

// An error that names the GPU's memory at all, in whatever words: "Loaded weights leave no GPU memory for the KV
// cache".
bool names_memory_of_card(std::string_view text) {
  std::string low(text);
  std::ranges::transform(low, low.begin(), [](char letter) { return lower(letter); });
  const std::string_view line = low;
  return std::ranges::any_of(find_names(line, Pairs(line)), [&](const Place& name) {
    if (!stands_alone(line, name.begin, name.end)) return false;
    const std::string_view word = line.substr(name.begin, name.end - name.begin), before = line.substr(0, name.begin);
    if (word != "memory") return word == "vram" || word == "hbm" || word == "kv cache";
    return std::ranges::any_of(std::initializer_list<std::string_view>{"gpu ", "cuda ", "device ", "video ", "enough "},
                               [&](std::string_view whose) { return before.ends_with(whose); });
  });
}

// An error by whose words memory may be behind it. "  what():  ..." is what a C++ exception says of itself.
bool is_supposed(std::string_view text) {
  const bool is_error = names_error(text) && is_error_line(text);
  if (is_error && supposes_memory_trouble(text)) return true;
  return (is_error || trim(text).starts_with("what():")) && names_memory_of_card(text);
}

class MemoryTroubleReader final : public TextReader {
 public:
  void read(const LogLine& line, EvidenceSink& sink) override {
    if (sink.evidence().memory_words.size() >= kMostWords) return;
    const auto words = find_memory_trouble(line.text);
    if (!words) {
      auto& supposed = sink.evidence().supposed;
      if (supposed.size() < kMostWords && is_supposed(line.text)) supposed.push_back(sink.at(line));
      return;
    }
    model::SourceLine at = sink.at(line);
    at.text = std::string(*words);
    sink.add(sink.evidence().memory_words, std::move(at), "words of trouble with memory");
  }
};

constexpr auto kTroubleWords = std::to_array<std::string_view>(
    {"retryoom",    "storefull",  "memor",       "alloc",    "mémoire",    " vram",       "vram ",    "gpu ram",
     "out of",      "outof",      "out_of",      "out-of",   "not enough", "insuffi",     "insufic",  "exhaust",
     "exceed",      "unable to",  "possible to", "failed",   "could not",  "couldn't",    "cannot ",  "can't ",
     " oom ",       " oom:",      " oom,",       " oom.",    "(oom)",      " oom-",       "oomkill",  "cuda oom",
     "gpu oom",     " oom error", "oom=1",       "oom=2",    "oom=3",      "oom=4",       "oom=5",    "oom=6",
     "oom=7",       "oom=8",      "oom=9",       "oom: ",    "oom = ",     "_oom=",       "_oom:",    "_oom ",
     "oom\": ",     "oom\":",     "ooms ",       "ooms:",    "ooms=",      "ooms\"",      "oom_kill", "[oom]",
     "nomem",       "no_mem",     "retries",     "flushes",  "oversubs",   "a error",     "a_error",  "a driver error",
     "speicher",    "памят",      "显存",        "内存",     "記憶體",     "buffer size", "ed: -12",  "ed (-12",
     "th -12",      "or -12",     "rr -12",      "or: -12",  "no -12",     "c=-12",       "c = -12",  "r() returned",
     "a failure 2", "t=-12",      "t = -12",     "メモリ",   "메모리",     "pamięc",      "bellek",   "ran out",
     "too little",  "is full",    "oomed",       "killed",   "sigkill",    "sigbus",      "signal 9", "signal: 9",
     "bus error",   " ram ",      "ram usage",   "gpu usage"});

}  // namespace

std::optional<std::string_view> find_memory_trouble(std::string_view text) {
  const std::string_view line = trim(text);
  std::string low(line);
  std::ranges::transform(low, low.begin(), [](char letter) { return lower(letter); });
  if (std::ranges::any_of(kCodeBeginnings, [&](std::string_view code) { return low.starts_with(code); }))
    return std::nullopt;
  if (low.starts_with("from ") && low.contains(" import ")) return std::nullopt;
  if (low.contains("static tls block")) return std::nullopt;  // of the loader, of a library that came too late
  if (low.contains("not a failure")) return std::nullopt;  // TensorFlow's allocator, of a request that may be refused
  if (low.contains("% of free system memory")) return std::nullopt;  // a warning of TensorFlow's, of what it then gets
  if (is_passed_test(line)) return std::nullopt;
  auto found = find_words(low, Conditions::kExcuse);
  if (!found) found = find_sudden_end(line, low);
  if (!found) {
    if (const auto pressed = find_memory_pressure(low)) found = Place{pressed->first, pressed->second};
  }
  if (!found && refuses_an_amount(line)) found = Place{0, line.size()};
  if (!found) return std::nullopt;
  std::size_t begin = found->begin - std::min(found->begin, kSentence),
              end = std::min(found->end + kSentence, line.size());
  const auto within_letter = [&](std::size_t at) {
    return at < line.size() && (static_cast<unsigned char>(line[at]) & 0xc0) == 0x80;
  };
  while (begin > 0 && within_letter(begin)) --begin;
  while (end < line.size() && within_letter(end)) ++end;
  return line.substr(begin, end - begin);
}

bool supposes_memory_trouble(std::string_view message) {
  std::string low(trim(message));
  std::ranges::transform(low, low.begin(), [](char letter) { return lower(letter); });
  if (low.contains("static tls block")) return false;
  if (find_words(low, Conditions::kCount)) return true;
  // What an error goes on to say is of what it may come from, or of what may help.
  const std::size_t first = low.find(". ");
  if (first == kNowhere) return false;
  const std::string_view hints = std::string_view(low).substr(first);
  const std::vector<Place> names = find_names(hints, Pairs(hints));
  return std::ranges::any_of(names, [&](const Place& name) {
    const std::string_view word = hints.substr(name.begin, name.end - name.begin);
    return word != "alloc" && word != "buffer" && word != "heap" && stands_alone(hints, name.begin, name.end);
  });
}

const TextFormat kMemoryTroubleFormat{"memory_trouble", kTroubleWords,
                                      [] { return std::unique_ptr<TextReader>(new MemoryTroubleReader); }};
}  // namespace vramfit::ingest
