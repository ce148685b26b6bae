#include "ingest/text/growth_words.h"

#include <algorithm>
#include <array>
#include <string>

#include "ingest/text/cursor.h"

namespace vramfit::ingest {
namespace {

constexpr auto kRisingStems = std::to_array<std::string_view>(
    {"grow",   "grew",  "increas", "climb",    "rises",     "rise",  "rising",   "rose",   "risen",   "creep",
     "crept",  "doubl", "ballon",  "balloon",  "accumulat", "swell", "swelling", "inflat", "expands", "expanding",
     "explod", "leak",  "escalat", "snowball", "soar",      "surg",  "bloat",    "piling", "piles"});
constexpr auto kGoing = std::to_array<std::string_view>(
    {"go",     "goes",     "going",    "went",    "gone",   "creep",  "creeps", "creeping", "move",    "moves",
     "moving", "pile",     "piles",    "piling",  "piled",  "build",  "builds", "building", "built",   "add",
     "adds",   "adding",   "ramp",     "ramps",   "shoot",  "shoots", "tick",   "ticks",    "ticking", "inch",
     "inches", "fill",     "fills",    "filling", "filled", "eat",    "eats",   "eating",   "ate",     "stack",
     "stacks", "stacking", "climbing", "keeps",   "used",   "using",  "eaten"});

bool is_negation(std::string_view word) {
  return word == "no" || word == "not" || word == "never" || word == "without" || word == "stops" || word == "stop" ||
         word == "stopped" || word == "nor" || word == "instead" || word == "hardly" || word == "barely" ||
         word == "nothing" || word == "neither" || word == "cannot" || word.ends_with("n't") || word == "dont" ||
         word == "doesnt" || word == "isnt";
}

bool is_round(std::string_view word) {
  static constexpr auto kRounds = std::to_array<std::string_view>(
      {"step",    "epoch",      "iter",  "batch",   "minibatch", "mini-batch", "round",      "pass",      "cycle",
       "loop",    "run",        "frame", "image",   "sample",    "request",    "call",       "time",      "second",
       "minute",  "hour",       "day",   "night",   "file",      "prompt",     "generation", "inference", "episode",
       "rollout", "validation", "eval",  "forward", "task",      "job",        "switch",     "quer",      "sentence",
       "video",   "workflow",   "fold",  "trial",   "update",    "checkpoint", "training",   "it",        "example",
       "message", "document",   "scene", "game",    "turn",      "reload",     "restart",    "execution", "session",
       "click",   "token",      "chunk", "page"});
  return std::ranges::any_of(kRounds, [&](std::string_view round) {
    return round == "it" ? word == "it" || word == "its" || word == "it/s" : word.contains(round);
  });
}

}  // namespace

std::vector<Clause> split_clauses(const Sentence& sentence) {
  std::vector<Clause> clauses(1);
  for (std::size_t i = 0; i < sentence.words.size(); ++i) {
    const std::string& word = sentence.words[i];
    const bool parts = word == "," || word == "but" || word == "whereas" || word == "because" || word == "although";
    if (!parts) continue;
    clauses.back().end = i;
    clauses.push_back({i + 1, 0});
  }
  clauses.back().end = sentence.words.size();
  return clauses;
}

// The verb of growth in a clause; its end if there is none.
std::size_t find_rising(const Sentence& sentence, const Clause& clause) {
  for (std::size_t i = clause.begin; i < clause.end; ++i) {
    const std::string_view word = sentence.words[i];
    const std::string_view next = i + 1 < clause.end ? std::string_view(sentence.words[i + 1]) : "";
    const std::string_view last = i > clause.begin ? std::string_view(sentence.words[i - 1]) : "";
    if (word.contains('_') || word == "expandable" || word == "surgery") continue;
    if (word.starts_with("leak") && sentence.has_word({"check", "test", "0", "no"})) continue;
    if (std::ranges::any_of(kRisingStems, [&](std::string_view stem) { return word.starts_with(stem); })) return i;
    const bool is_going = std::ranges::find(kGoing, word) != kGoing.end();
    for (std::size_t k = i + 1; is_going && k < std::min(i + 4, clause.end); ++k) {
      if ((sentence.words[k] == "up" || sentence.words[k] == "upward" || sentence.words[k] == "upwards") &&
          !(k + 1 < clause.end && sentence.words[k + 1] == "to"))
        return i;
    }
    // "higher and higher", "gets larger", "more and more"
    const bool is_more = word == "higher" || word == "larger" || word == "bigger" || word == "more" || word == "fuller";
    if (is_more && next == "and") return i;
    const bool is_becoming = last.starts_with("get") || last.starts_with("becom") || last == "became" || last == "got";
    if (is_more && word != "more" && is_becoming) return i;
  }
  return clause.end;
}

// "is not freed", "never goes down", "won't be released"
std::size_t find_release(const Sentence& sentence, const Clause& clause) {
  const std::size_t at = sentence.find_stem({"freed", "free", "releas", "decreas", "drop", "shrink", "reclaim",
                                             "recover", "return", "dealloc", "clear", "cleaned", "down", "back"},
                                            clause.begin);
  return std::min(at, clause.end);
}

// "does not grow", and not "I am not sure why it grows".
bool is_denied(const Sentence& sentence, const Clause& clause, std::size_t verb) {
  constexpr std::size_t kFew = 6;
  bool denied = false;
  for (std::size_t i = verb; i > clause.begin && verb - i < kFew; --i) {
    const std::string_view word = sentence.words[i - 1];
    if (is_negation(word)) denied = !denied;  // "never stops growing"
    if (word == "why" || word == "how" || word == "that" || word == "when" || word == "because" || word == "since" ||
        word == "where" || word == "and" || word == ",")
      return denied;
  }
  return denied;
}

bool has_rhythm(const Sentence& sentence) {
  const auto& words = sentence.words;
  if (sentence.has_stem({"steadily", "slowly", "gradual", "constantly", "continuous", "continual", "linearly",
                         "monoton", "indefinite", "unlimit", "unbound", "endless", "forever", "progressive",
                         "consistently", "infinite", "overtime", "non-stop", "nonstop"}))
    return true;
  for (const std::string_view always : {"all the time", "the whole time", "without bound", "without limit",
                                        "without end", "without stop", "the longer"}) {
    if (contains_ignoring_case(sentence.text, always)) return true;
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const auto next = [&](std::size_t k) {
      return i + k < words.size() ? std::string_view(words[i + k]) : std::string_view();
    };
    if (word == "never" && next(1).starts_with("stop")) return true;
    if (word == "keep" || word == "keeps" || word == "kept" || word == "keeping") return true;
    if (word == "until" || word == "till" || word == "untill" || word == "til" || word == "before") return true;
    if ((word == "more" || word == "higher" || word == "larger" || word == "bigger") && next(1) == "and" &&
        next(2) == word)
      return true;
    if (word == "over" &&
        (next(1) == "time" || next(1) == "the" || next(1) == "many" || next(1) == "night" || next(1) == "epochs"))
      return true;
    if (word == "with" && next(1) == "time") return true;
    if (word == "throughout" || word == "during" || word == "overnight") return true;
    if (word == "from" &&
        std::ranges::any_of(words.begin() + static_cast<std::ptrdiff_t>(i), words.end(),
                            [](const std::string& one) { return one == "to"; }) &&
        std::ranges::any_of(words, [](const std::string& one) {
          return one == "after" || one == "over" || one == "within" || one == "in";
        }))
      return true;
    const bool counts = word == "every" || word == "each" || word == "per" || word == "as" || word == "after" ||
                        word == "while" || word == "when" || word.starts_with("per_") || word == "within";
    for (std::size_t k = 1; counts && k <= 4; ++k) {
      if (next(k) == "," || !is_round(next(k))) continue;
      // "after the first epoch" is no rhythm; "after each", "after 200 steps", "as epochs increase" are.
      const bool is_once =
          (word == "after" || word == "when") &&
          (next(1) == "the" || next(1) == "that" || next(1) == "a" || next(1) == "one" || next(1) == "i");
      if (word == "when" && next(1) != "training" && next(1) != "running") break;
      if (!is_once) return true;
    }
    if (word.starts_with("per_") || word.starts_with("per-")) return true;
  }
  return false;
}

// "grows linearly with the number of tokens": with what somebody sets, not with time.
bool follows_a_size(const Sentence& sentence, std::size_t verb) {
  for (std::size_t i = verb; i < std::min(verb + 5, sentence.words.size()); ++i) {
    if (sentence.words[i] != "with" && sentence.words[i] != "as" && sentence.words[i] != "by") continue;
    const std::size_t size = sentence.find_stem(
        {"size",  "length", "resolution", "number", "count", "dimension", "context", "vocab",  "depth", "width",
         "batch", "larger", "bigger",     "longer", "param", "sequence",  "input",   "layers", "heads", "quadratic"},
        i);
    const std::size_t each = sentence.find_word({"each", "every", "time", "more", "epoch"}, i);
    if (size <= i + 5 && size < sentence.words.size() && each > size) return true;
  }
  return false;
}

// What grows is the object: "when I increase the batch size", "on increasing the value". For the memory itself it is
// what somebody gives it.
bool is_of_other_things(const Sentence& sentence, std::size_t verb) {
  const auto& words = sentence.words;
  const auto next = [&](std::size_t k) {
    return verb + k < words.size() ? std::string_view(words[verb + k]) : std::string_view();
  };
  // "Growing", "climbing" and the like have no object.
  const std::string& word = words[verb];
  if (!word.starts_with("increas") && !word.starts_with("doubl") && !word.starts_with("expand") &&
      !word.starts_with("add"))
    return false;
  const bool is_determiner = next(1) == "the" || next(1) == "my" || next(1) == "a" || next(1) == "an" ||
                             next(1) == "this" || next(1) == "its" || next(1) == "that" || next(1) == "your" ||
                             next(1) == "our" || next(1).starts_with("batch") || next(1).starts_with("num") ||
                             next(1).starts_with("loss") || next(1).starts_with("learning") || next(1) == "swap" ||
                             next(1) == "lr" || next(1) == "shm";
  const bool is_compared = next(2) == "longer" || next(2) == "more" || next(2) == "further";
  return is_determiner && !is_compared && !words[verb].ends_with("up");
}

bool is_other_subject(const Sentence& sentence, const Clause& clause, std::size_t verb) {
  for (std::size_t i = clause.begin; i < verb; ++i) {
    const std::string_view word = sentence.words[i];
    if (word.starts_with("loss") || word == "accuracy" || word == "lr" || word.starts_with("speed") ||
        word == "throughput" || word.starts_with("reward") || word == "temperature" || word == "score" ||
        word == "latency" || word == "disk" || word == "perplexity")
      return true;
  }
  return false;
}

// "the more epochs, the more memory", "more memory the longer it runs"
bool rises_by_comparison(const Sentence& sentence) {
  const std::size_t first = sentence.text.find("the more");
  const bool is_twice = first != kNowhere && sentence.text.find("the more", first + 1) != kNowhere;
  return is_twice || (contains_ignoring_case(sentence.text, "the longer") &&
                      sentence.has_word({"more", "higher", "bigger", "larger"}));
}

// "Each pass", "every few epochs", "per batch"; what "each takes" is no round: processes do.
bool comes_each_round(const Sentence& sentence) {
  constexpr std::size_t kNear = 3;
  const auto& words = sentence.words;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] != "every" && words[i] != "each" && words[i] != "per") continue;
    for (std::size_t k = i + 1; k <= i + kNear && k < words.size() && words[k] != ","; ++k) {
      if (is_round(words[k])) return true;
    }
  }
  return false;
}

// "10 MB behind after each pass", "about 400 MB more every epoch": an amount that comes again.
bool adds_an_amount(const Sentence& sentence) {
  const auto& words = sentence.words;
  if (contains_any(sentence.text, {"than the other", "than other", "than all other"}))
    return false;  // beside, not before
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    // "2M": of minutes too, where no memory is named.
    const bool is_short = is_digit(word[0]) && (word.ends_with('m') || word.ends_with('g')) &&
                          word.find_first_not_of("0123456789.") == word.size() - 1 &&
                          sentence.has_word({"memory", "card", "gpu", "vram", "ram"});
    const bool is_unit = is_short || word.starts_with("megabyte") || word.starts_with("gigabyte") || word == "megs" ||
                         word == "gigs" || word == "meg" || word == "gig" || word.ends_with("mb") ||
                         word.ends_with("gb") || word.ends_with("mib") || word.ends_with("gib");
    const std::string_view before = i > 0 ? std::string_view(words[i - 1]) : "";
    const bool has_number = is_digit(word[0]) || (!before.empty() && is_digit(before[0])) || before == "dozen" ||
                            before == "few" || before == "hundred" || before == "couple" || before == "some";
    if (is_unit && has_number &&
        sentence.has_word({"more", "behind", "extra", "additional", "additionally", "leaked", "gains", "grows", "plus",
                           "up", "rises", "climbs", "creeps", "adds", "higher"}) &&
        comes_each_round(sentence) && !sentence.has_word({"download", "downloads", "disk", "second", "file", "files"}))
      return true;
  }
  return false;
}

// "A bit more stays allocated", "remains occupied"
bool is_said_to_stay(const Sentence& sentence) {
  const std::size_t stays = sentence.find_stem({"stay", "remain", "still"});
  const std::size_t held = sentence.find_word(
      {"allocated", "occupied", "used", "reserved", "full", "high", "resident", "held", "taken"}, stays);
  return held < sentence.words.size() && held <= stays + 3;
}

// "It is no leak", "becomes stable", "normal", of languages whose words are not parted or not known one by one.
bool is_level_abroad(std::string_view text) {
  return contains_any(text, {"不是内存泄",
                             "不是显存泄",
                             "没有泄",
                             "不存在泄",
                             "正常现象",
                             "一切正常",
                             "稳定下来",
                             "保持稳定",
                             "趋于稳定",
                             "不再增",
                             "不会增",
                             "リークではな",
                             "安定し",
                             "누수가 아",
                             "안정",
                             "не утечка",
                             "стабильн",
                             "kein leck",
                             "bleibt stabil",
                             "pas une fuite",
                             "reste stable",
                             "no es una fuga",
                             "se mantiene estable"});
}

bool rises_abroad(std::string_view text) {
  return !is_level_abroad(text) &&
         contains_any(text, {"涨",     "增长",   "增加",   "上升",    "升高",     "越来越", "增え",   "増え",
                             "増加",   "上がっ", "증가",   "늘어",    "растет",   "растёт", "увелич", "steigt",
                             "wächst", "zunimm", "läuft",  "füllt",   "augmente", "croît",  "grimpe", "aumenta",
                             "crece",  "sube",   "cresce", "artıyor", "rośnie",   "sale"}) &&
         contains_any(
             text, {"每",         "一直",    "不断",           "持续",   "逐渐",   "越来越",    "随着",  "毎",
                    "ずつ",       "徐々",    "どんどん",       "매",     "계속",   "점점",      "кажд",  "постоянно",
                    "постепенно", "jede",    "ständig",        "stetig", "immer",  "chaque",    "jusqu", "constamment",
                    "cada",       "siempre", "constantemente", "ogni",   "sempre", "her epoch", "każd",  "直到"});
}

}  // namespace vramfit::ingest
