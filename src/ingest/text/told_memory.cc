#include "ingest/text/told_memory.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "ingest/text/cursor.h"
#include "ingest/text/growth_words.h"

namespace vramfit::ingest {
namespace {

using model::ToldKind;
using model::ToldOf;
using model::ToldSentence;

bool is_name_of_card(std::string_view word) {
  return word == "gpu" || word == "gpus" || word == "gpu's" || word == "card" || word == "cuda" ||
         word == "nvidia-smi" || word == "gpu0" || word == "device" || word.starts_with("gpu-") || word == "mps";
}
bool is_amount(std::string_view word) {
  for (const std::string_view name :
       {"usage", "footprint", "consumption", "utilization", "utilisation", "allocation", "allocated", "reserved"}) {
    if (word == name) return true;
  }
  return false;
}

// Whether words [begin, end) name memory: its name, or an amount of the card.
bool names_memory(const Sentence& sentence, std::size_t begin, std::size_t end) {
  bool card = false, amount = false;
  for (std::size_t i = begin; i < end; ++i) {
    const std::string_view word = sentence.words[i];
    if (is_name_of_memory(word)) {
      // "memory access", "memory format", "in memory of": of something else.
      const std::string_view next = i + 1 < sentence.words.size() ? std::string_view(sentence.words[i + 1]) : "";
      if (next == "access" || next == "format" || next == "efficient" || next == "bandwidth" || next == "clock" ||
          next == "layout")
        continue;
      return true;
    }
    card = card || is_name_of_card(word);
    amount = amount || is_amount(word);
  }
  return card && amount;
}

// "RAM, not that of the GPU", "no GPU": the card is named to say that it is not meant.
bool is_ruled_out(const Sentence& sentence, std::size_t card) {
  constexpr std::size_t kFew = 4;
  for (std::size_t i = card; i > 0 && card - i < kFew; --i) {
    const std::string_view word = sentence.words[i - 1];
    if (word == "not" || word == "no" || word == "non" || word == "rather" || word == "isn't") return true;
    if (word != "that" && word != "of" && word != "the" && word != "on" && word != "than" && word != "gpu" &&
        word != "a" && word != "my")
      return false;
  }
  return false;
}

bool is_machine(std::string_view word) {
  static constexpr auto kMachines =
      std::to_array<std::string_view>({"computer", "machine", "pc", "laptop", "server", "workstation", "desktop",
                                       "host", "instance", "container", "pod", "node", "vm"});
  return std::ranges::find(kMachines, word) != kMachines.end();
}

// "the memory of my computer", "the computer's memory": a machine's own is the host's, as a card's is said to be one's.
bool is_of_machine(const Sentence& sentence, std::size_t memory) {
  constexpr std::size_t kFew = 3;  // "of", "my", and one more
  const auto& words = sentence.words;
  if (memory > 0) {
    std::string_view before = words[memory - 1];
    if (before.ends_with("'s")) before.remove_suffix(2);
    if (is_machine(before)) return true;
  }
  if (memory + 1 >= words.size() || words[memory + 1] != "of") return false;
  for (std::size_t i = memory + 2; i <= memory + 1 + kFew && i < words.size(); ++i) {
    if (is_machine(words[i])) return true;
    if (words[i] == ",") return false;
  }
  return false;
}

ToldOf whose(const Sentence& sentence) {
  bool host = false, card = false;
  for (std::size_t i = 0; i < sentence.words.size(); ++i) {
    const std::string_view word = sentence.words[i];
    const bool names_card = is_name_of_card(word) || word.contains("vram") || word.contains("显存");
    const bool rules_out = names_card && is_ruled_out(sentence, i);
    card = card || (names_card && !rules_out);
    host = host || rules_out;
    host = host || word == "ram" || word == "cpu" || word == "host" || word == "rss" || word == "swap" ||
           word.contains("内存") ||
           (word == "system" && i + 1 < sentence.words.size() && is_name_of_memory(sentence.words[i + 1])) ||
           (is_name_of_memory(word) && is_of_machine(sentence, i));
  }
  return card ? ToldOf::kCard : host ? ToldOf::kHost : ToldOf::kUnknown;
}

// "at 40 %": far from full.
bool is_a_small_share(std::string_view text) {
  for (std::size_t at = text.find('%'); at != kNowhere; at = text.find('%', at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && (is_digit(text[begin - 1]) || text[begin - 1] == '.' || text[begin - 1] == ' ')) --begin;
    const auto share = to_number(trim(text.substr(begin, at - begin)));
    if (share && *share > 0 && *share < 80) return true;
  }
  return false;
}

// ---- full, too much, stopped ----------------------------------------------------------------------------------------

// "23.4", "23,4"
std::optional<double> take_amount(Cursor& cursor) {
  std::string digits(cursor.take_while([](char letter) { return is_digit(letter) || letter == '.' || letter == ','; }));
  std::ranges::replace(digits, ',', '.');
  return to_number(digits);
}

// "23.9/24 GB", "31.2 of the 31.5 GB", "23,4 из 24 ГБ": nearly all of it.
bool is_nearly_all(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!is_digit(text[at]) || (at > 0 && (is_word(text[at - 1]) || text[at - 1] == '.' || text[at - 1] == '/')))
      continue;
    Cursor cursor(text.substr(at));
    const auto first = take_amount(cursor);
    cursor.skip_blanks();
    cursor.take_while([](char letter) { return std::string_view("GMKTiBb").contains(letter); });
    cursor.skip_blanks();
    const bool is_pair = std::ranges::any_of(
        std::to_array<std::string_view>({"/", "out of", "of", "из", "von", "sur", "auf", "de", "su", "中の"}),
        [&](std::string_view word) { return cursor.take(word); });
    if (!first || !is_pair) continue;
    cursor.skip_blanks();
    if (cursor.take("the") || cursor.take("our") || cursor.take("my")) cursor.skip_blanks();
    const auto second = take_amount(cursor);
    cursor.skip_blanks();
    const bool has_unit = contains_any(cursor.rest().substr(0, 4), {"gb", "gi", "mb", "mi", "go", "гб", "мб"});
    if (second && has_unit && *second > 0 && *first <= *second * 1.02 && *first >= *second * 0.93) return true;
  }
  return false;
}

bool stops_something(const Sentence& sentence) {
  const std::size_t thing = sentence.find_stem(
      {"machine", "computer",   "pc",      "laptop", "server",  "system",  "desktop", "screen", "notebook", "kernel",
       "session", "instance",   "colab",   "node",   "process", "program", "script",  "python", "training", "job",
       "app",     "everything", "comfyui", "worker", "it",      "run",     "trainer", "vm",     "wsl"});
  const std::size_t verb =
      sentence.find_stem({"freez", "froze", "crash", "hang", "hung", "dies", "died", "killed", "kills", "unrespons",
                          "reboot", "bsod", "crawl", "aborts", "stall", "terminat", "vanish", "disappear", "quits"});
  const bool restarts =
      sentence.has_word({"restarts", "restarted", "reboots", "rebooted"}) &&
      sentence.has_word({"pc", "machine", "computer", "laptop", "server", "system", "box", "workstation", "host"});
  if (restarts) return true;
  if (verb >= sentence.words.size() || thing >= sentence.words.size()) return false;
  return !is_denied(sentence, {0, sentence.words.size()}, verb);
}

bool runs_out(const Sentence& sentence) {
  const std::size_t oom = sentence.find_stem({"oom", "out-of-memory", "outofmemory"});
  if (oom < sentence.words.size()) return !is_denied(sentence, {0, sentence.words.size()}, oom);
  return contains_any(sentence.text, {"out of mem", "out of vram", "out of ram", "out of gpu", "out of cuda",
                                      "runs out", "ran out", "run out", "running out", "not enough", "isn't enough",
                                      "insufficient", "exhaust", "none left", "nothing left", "lack of"}) &&
         !contains_any(sentence.text, {"no out of", "without out of", "not run out", "never run", "instead of",
                                       "without running out", "not exhaust"});
}

bool can_not(const Sentence& sentence) {
  const std::size_t no = sentence.find_word(
      {"can't", "cannot", "cant", "couldn't", "won't", "unable", "fails", "failed", "impossible", "doesn't", "didn't"});
  const std::size_t what = sentence.find_stem(
      {"start", "run", "load", "fit", "launch", "train", "allocat", "open", "continue", "finish"}, no);
  return what < sentence.words.size() && what <= no + 5;
}

bool is_too_much(const Sentence& sentence) {
  const std::size_t at =
      sentence.find_word({"twice", "double", "much", "excessive", "insane", "huge", "massive", "abnormal", "crazy",
                          "all", "whole", "entire", "lots", "hostage", "full", "exhausted", "full,"});
  if (at >= sentence.words.size()) return false;
  const std::string_view word = sentence.words[at], before = at > 0 ? std::string_view(sentence.words[at - 1]) : "";
  if (is_denied(sentence, {0, sentence.words.size()}, at)) return false;
  if (word == "twice" || word == "double") return names_memory(sentence, at, std::min(at + 5, sentence.words.size()));
  if (word == "much") return before == "too";
  if (word == "full")
    return before == "is" || before == "gets" || before == "completely" || before == "was" || before == "almost" ||
           before == "nearly" || before == "already";
  if (word == "all" || word == "whole" || word == "entire") {
    return sentence.has_stem({"takes", "take", "took", "eats", "eat", "uses", "used", "occup", "hog", "grab", "fills",
                              "consum", "allocat", "reserv"}) &&
           at + 3 < sentence.words.size() && names_memory(sentence, at, std::min(at + 5, sentence.words.size()));
  }
  return true;
}

bool says_well(const Sentence& sentence) {
  const std::size_t at = sentence.find_stem(
      {"stable", "stabil",   "constant", "flat",   "steady",  "plateau", "settle",    "stays", "stayed",
       "remain", "headroom", "enough",   "plenty", "fine",    "level",   "unchanged", "same",  "okay",
       "ok",     "saves",    "saved",    "lower",  "reduced", "less",    "below"});
  if (at < sentence.words.size() && sentence.words[at] != "constantly" &&
      !is_denied(sentence, {0, sentence.words.size()}, at))
    return true;
  const std::size_t change = sentence.find_stem({"chang"});
  if (change < sentence.words.size() && is_denied(sentence, {0, sentence.words.size()}, change)) return true;
  const std::size_t issue = sentence.find_stem({"issue", "problem", "leak", "oom", "error", "pressure"});
  return issue < sentence.words.size() && is_denied(sentence, {0, sentence.words.size()}, issue);
}

bool denies_leak(const Sentence& sentence) {
  const std::size_t leak = sentence.find_stem({"leak"});
  return leak < sentence.words.size() && is_denied(sentence, {0, sentence.words.size()}, leak);
}

// "It is a warning. Not a big issue.", "that can be ignored": whatever it was.
bool says_harmless(const Sentence& sentence) {
  return contains_any(sentence.text,
                      {"not a problem", "not a big problem", "not an issue", "not a big issue", "no big deal",
                       "harmless", "be ignored", "safely ignore", "safe to ignore", "nothing to worry", "don't worry",
                       "no failures", "no errors", "is expected behavio", "is normal."}) &&
         sentence.mood != Mood::kAsked;
}

bool says_cured(const Sentence& sentence) {
  const auto& words = sentence.words;
  const std::size_t works =
      sentence.find_word({"works", "work", "worked", "trains", "runs", "solved", "resolved", "fixed", "gone"});
  return works < words.size() && !is_denied(sentence, {0, words.size()}, works) &&
         (sentence.has_word({"now", "again", "fine", "perfectly", "finally", "without"}) || words[works] == "solved" ||
          words[works] == "resolved" || words[works] == "fixed");
}

// "Over the first few iterations it grows a lot": as every job does, and no word of what comes after.
bool only_begins(const std::string& text) {
  return contains_any(text, {"over the first", "during the first", "in the first", "for the first", "at the first"}) &&
         contains_any(text, {"first few ", "first several ", "first couple "});
}

}  // namespace

bool is_name_of_memory(std::string_view word) {
  for (const std::string_view name :
       {"memory", "memory's", "vram", "ram", "mem", "memories", "hbm", "gtt", "swap", "rss", "shm"}) {
    if (word == name) return true;
  }
  // "gpu-memory", "ram/vram", and "ooms", which says what it did too
  return word.starts_with("oom") || word.contains("vram") ||
         (word.contains("memory") && !word.contains('(') && !word.contains('_') && !word.contains("efficient")) ||
         word.contains("显存") || word.contains("内存") || word.contains("speicher") || word.contains("mémoire") ||
         word.contains("memoria") || word.contains("memória") || word.contains("памят") || word.contains("メモリ") ||
         word.contains("메모리") || word.contains("記憶體");
}

std::optional<ToldSentence> read_told(const Sentence& sentence, const std::optional<ToldSentence>& before) {
  ToldSentence told{.at = {}, .kind = ToldKind::kMentioned, .of = whose(sentence)};
  const bool possible = sentence.mood == Mood::kHypothetical || sentence.mood == Mood::kInstruction;
  // "Why does it grow?", "Is it normal that the card is full?": what is asked about is so.
  const bool asked_why = sentence.mood == Mood::kAsked &&
                         (sentence.has_word({"why"}) || contains_any(sentence.text, {"normal that", "expected that",
                                                                                     "normal for", "expected behavi"}));
  const bool asserted = sentence.mood == Mood::kAsserted || asked_why;
  // "Why does usage climb with each request?": of what else than memory, in what is pasted here.
  const bool is_of_usage = has_rhythm(sentence) && sentence.has_word({"usage", "footprint"}) &&
                           !sentence.has_word({"cpu", "disk", "bandwidth", "power", "network"});
  const bool names = names_memory(sentence, 0, sentence.words.size()) || is_nearly_all(sentence.text) || is_of_usage;
  const bool says_it = sentence.has_word({"it", "this", "that", "which", "usage"}) && before && before->names_memory;
  if (names && sentence.has_stem({"inject", "simulat"})) {  // a test's own
    told.kind = ToldKind::kIsWell;
    return told;
  }
  if (asserted && !says_it && adds_an_amount(sentence)) {
    told.kind = ToldKind::kRises;
    return told;
  }
  if (!names && !says_it && says_harmless(sentence)) {
    told.kind = ToldKind::kIsWell;
    told.names_memory = false;
    return told;
  }
  if (!names && !says_it) {
    const bool no_room = can_not(sentence) && std::ranges::any_of(sentence.words, is_name_of_card);
    if (!asserted || !(no_room || stops_something(sentence))) return std::nullopt;
    told.kind = ToldKind::kTrouble;
    told.names_memory = no_room;
    return told;
  }
  if (!names && told.of == ToldOf::kUnknown) told.of = before->of;
  bool is_rising = false, is_kept = false, is_level = false, is_falling = false;
  for (const Clause& clause : split_clauses(sentence)) {
    const std::size_t verb = find_rising(sentence, clause);
    if (verb < clause.end && !is_other_subject(sentence, clause, verb) && !is_of_other_things(sentence, verb) &&
        !follows_a_size(sentence, verb)) {
      (is_denied(sentence, clause, verb) ? is_level : is_rising) = true;
    }
    const std::size_t release = find_release(sentence, clause);
    if (release < clause.end) (is_denied(sentence, clause, release) ? is_kept : is_falling) = true;
  }
  if (!names && !is_rising && !is_kept && !is_level) return std::nullopt;  // "it" may be anything
  const bool is_abroad = rises_abroad(sentence.text);
  is_rising = is_rising || is_abroad || rises_by_comparison(sentence);
  // What is free falls: what is used rises.
  const bool of_free = sentence.has_word({"free", "available", "left", "remaining"});
  if (of_free && has_rhythm(sentence) &&
      sentence.has_word({"smaller", "less", "shrinks", "drops", "decreases", "falls"}))
    is_rising = true;
  is_kept = is_kept || is_said_to_stay(sentence);
  // "It grows during the first epoch, and then stays flat."
  is_level = is_level || (!possible && contains_any(sentence.text, {"then stays", "then remains", "then it stays",
                                                                    "levels off", "stops growing", "stops rising"}));
  const bool is_leak = sentence.has_stem({"leak"}) && !sentence.has_word({"check", "test"});
  if (is_level || is_level_abroad(sentence.text)) {
    told.kind = ToldKind::kIsWell;
    told.denies_growth = true;
  } else if (possible) {
    return told;
  } else if ((is_rising || is_kept) && asserted && !only_begins(sentence.text) &&
             (has_rhythm(sentence) || is_abroad || (is_leak && is_rising))) {
    told.kind = ToldKind::kRises;
  } else if (is_too_much(sentence) || (is_nearly_all(sentence.text) && !says_well(sentence)) || runs_out(sentence) ||
             can_not(sentence) || stops_something(sentence)) {
    told.kind = sentence.mood == Mood::kAsked && !asked_why && !is_nearly_all(sentence.text) ? ToldKind::kMentioned
                                                                                             : ToldKind::kTrouble;
  } else if (is_rising || is_kept) {
    // Who asks whether it is a leak has seen something.
    const bool only_asks = sentence.mood == Mood::kAsked && !asked_why && !is_leak;
    told.kind = only_asks || sentence.has_word({"will", "can"}) ? ToldKind::kMentioned : ToldKind::kTrouble;
  } else if (denies_leak(sentence)) {
    told.kind = ToldKind::kIsWell;
    told.denies_growth = true;
  } else if (says_well(sentence) || says_cured(sentence) || is_a_small_share(sentence.text) ||
             (is_falling && !of_free)) {
    told.kind = ToldKind::kIsWell;
  }
  return told;
}

}  // namespace vramfit::ingest
