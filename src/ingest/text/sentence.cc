#include "ingest/text/sentence.h"

#include <algorithm>
#include <array>
#include <optional>

#include "ingest/text/cursor.h"
#include "ingest/text/line_kind.h"

namespace vramfit::ingest {
namespace {

using WordsOfSentence = std::initializer_list<std::string_view>;

constexpr std::size_t kLongestSentence = 1500;  // bytes

}  // namespace

std::size_t Sentence::find_stem(WordsOfSentence stems, std::size_t from) const {
  for (std::size_t i = from; i < words.size(); ++i) {
    if (std::ranges::any_of(stems, [&](std::string_view stem) { return words[i].starts_with(stem); })) return i;
  }
  return words.size();
}

std::size_t Sentence::find_word(WordsOfSentence any, std::size_t from) const {
  for (std::size_t i = from; i < words.size(); ++i) {
    if (std::ranges::find(any, words[i]) != any.end()) return i;
  }
  return words.size();
}

bool Sentence::is_of_writer() const {
  return has_word({"i", "i'm", "i've", "i'd", "my", "me", "we", "we've", "our", "us", "mine"});
}

bool Sentence::can_tell_writer() const {
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte >= 0xce && byte <= 0xdf) || (byte >= 0xe3 && byte <= 0xed)) return false;
  }
  return true;
}

namespace {

bool begins_as_instruction(const Sentence& sentence) {
  static constexpr auto kVerbs = std::to_array<std::string_view>(
      {"fix",      "fixes",    "fixed",   "add",      "adds",     "added",    "document",      "documents", "handle",
       "handles",  "catch",    "avoid",   "avoids",   "prevent",  "prevents", "reduce",        "reduces",   "reduced",
       "remove",   "removes",  "removed", "replace",  "replaces", "replaced", "improve",       "improves",  "improved",
       "support",  "print",    "prints",  "show",     "report",   "detect",   "consider",      "make",      "use",
       "update",   "updates",  "bump",    "describe", "explain",  "explains", "implement",     "allow",     "propagate",
       "check",    "track",    "adds",    "includes", "include",  "clarify",  "mention",       "introduce", "lower",
       "increase", "decrease", "set",     "try",      "please",   "ensure",   "distinguishes", "feat",      "docs",
       "chore",    "refactor", "log",     "return",   "warn",     "treat",    "move",          "skip",      "enable",
       "disable",  "raise",    "rerun",   "restart",  "let's",    "nit",      "todo",          "proposal",  "feature",
       "rename",   "refuse",   "refuses", "retry",    "list",     "lists"});
  std::size_t first = 0;
  // A release before what it changed: "v1.4.2: fixed a crash".
  while (first + 1 < sentence.words.size() &&
         (sentence.words[first] == "," || std::ranges::any_of(sentence.words[first], is_digit)))
    ++first;
  if (first >= sentence.words.size() || sentence.is_of_writer()) return false;
  std::string verb = sentence.words[first];
  if (verb.ends_with("ing")) verb.resize(verb.size() - 3);  // "Handling out-of-memory errors"
  const bool is_doing = verb.size() < sentence.words[first].size();
  // "Disabling it solved the problem" has a verb of its own.
  if (is_doing &&
      sentence.has_word({"is", "was", "solved", "solves", "fixed", "fixes", "helps", "helped", "works", "worked",
                         "made", "makes", "means", "gives", "gave", "causes", "leads", "did", "does"}))
    return false;
  return std::ranges::any_of(kVerbs,
                             [&](std::string_view known) {
                               return known == verb ||
                                      (is_doing && known.starts_with(verb) && known.size() <= verb.size() + 1);
                             }) ||
         verb == "address";
}

bool is_hypothetical(const Sentence& sentence) {
  const auto& words = sentence.words;
  const bool seen = sentence.is_of_writer();
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i], next = i + 1 < words.size() ? std::string_view(words[i + 1]) : "";
    // "may have been killed" speaks of what happened.
    const bool is_modal = word == "would" || word == "could" || word == "should" || word == "might" || word == "may" ||
                          word == "shall" || word == "must" || word == "wouldn't" || word == "shouldn't";
    if (is_modal && next != "have" && next != "not" && next != "someone" && next != "anyone" && next != "you" &&
        next != "anybody" && next != "somebody")
      return true;
    if (word == "can" && !seen && next != "not" && next != "you" && next != "someone" && next != "anyone") return true;
    if (word == "so" && next == "that") return true;  // a purpose
    const bool opens = word == "if" || word == "unless" || word == "whenever" ||
                       (word == "case" && i > 0 && words[i - 1] == "in") || word == "whether";
    if (opens && !seen) return true;
    // No certain one is spoken of: "when a job is killed", "when there are too many".
    const bool is_any =
        next == "a" || next == "an" || next == "any" || next == "there" || next == "you" || next == "your";
    if (word == "when" && is_any && !seen) return true;
    if ((word == "to" || word == "that" || word == "and") && (next.starts_with("avoid") || next.starts_with("prevent")))
      return true;
  }
  // "A process that exceeds its limit is killed": of any.
  bool is_any_one = false;
  for (std::size_t i = 0; i + 2 < words.size() && !is_any_one; ++i) {
    is_any_one = (words[i] == "a" || words[i] == "an" || words[i] == "any") &&
                 (words[i + 2] == "that" || words[i + 2] == "which" || words[i + 2] == "who") &&
                 (i == 0 || (i < 4 && !sentence.has_word({"was", "were", "had", "got", "did"})));
  }
  if (is_any_one && !seen) return true;
  return (!seen && sentence.has_word(
                       {"proposes", "propose", "proposed", "proposal", "suggest", "suggests", "wish", "ideally"})) ||
         (sentence.has_word({"like", "nice", "good", "great"}) && sentence.has_word({"i'd", "would"}));
}

// "Could we log a hint?": a proposal. "Does anybody else see it?": the writer does.
std::optional<Mood> mood_of_question(const Sentence& sentence) {
  const auto& words = sentence.words;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const bool is_modal = words[i] == "could" || words[i] == "should" || words[i] == "can" || words[i] == "would";
    if (is_modal && (words[i + 1] == "we" || words[i + 1] == "it" || words[i + 1] == "this"))
      return Mood::kHypothetical;
  }
  const bool of_others = sentence.has_word({"anyone", "anybody", "someone", "somebody", "others"});
  const bool seeing = sentence.has_word({"see", "seen", "sees", "seeing", "experience", "experiencing", "notice",
                                         "noticed", "have", "having", "get", "getting", "observe"});
  if (of_others && seeing && sentence.has_word({"else", "also", "too", "same", "others"})) return Mood::kAsserted;
  return std::nullopt;
}

// "Any way to run it with less?", whose mark is mostly forgotten.
bool asks_for_any(const Sentence& sentence) {
  return sentence.words.size() > 1 && sentence.words[0] == "any" &&
         sentence.find_stem({"way", "idea", "chance", "help", "hint", "tip", "suggestion", "thought"}, 1) == 1;
}

Mood mood_of(const Sentence& sentence) {
  const bool is_question = sentence.text.ends_with('?') || sentence.text.ends_with("\xef\xbc\x9f");
  if (const auto mood = is_question ? mood_of_question(sentence) : std::nullopt) return *mood;
  if (is_question) return Mood::kAsked;
  const bool wonders =
      sentence.has_stem({"wonder"}) || asks_for_any(sentence) ||
      (sentence.has_word({"know"}) && sentence.has_word({"like", "want", "love"})) ||
      (sentence.has_word({"question"}) && sentence.is_of_writer()) ||
      (sentence.has_word({"could", "can", "would"}) && sentence.has_word({"you", "someone", "anyone"}));
  if (wonders) return Mood::kAsked;
  if (begins_as_instruction(sentence)) return Mood::kInstruction;
  return is_hypothetical(sentence) ? Mood::kHypothetical : Mood::kAsserted;
}

// "How much does it need, 24 GB?": nothing is said before it asks.
bool asks_from_its_first_word(const Sentence& sentence) {
  static constexpr auto kAsking = std::to_array<std::string_view>(
      {"how",  "what", "why",  "which", "who",   "where",  "whose",   "is",    "are",    "was",
       "were", "do",   "does", "did",   "can",   "could",  "should",  "would", "will",   "has",
       "have", "may",  "must", "am",    "isn't", "aren't", "doesn't", "don't", "didn't", "can't"});
  if (asks_for_any(sentence)) return true;
  return !sentence.words.empty() && std::ranges::find(kAsking, sentence.words.front()) != kAsking.end();
}

// What stood before a place: counted on the way, for a paragraph may be a log of megabytes.
struct Before {
  std::size_t blanks = 0, backticks = 0, quotes = 0;
  void pass(std::string_view text) {
    blanks += static_cast<std::size_t>(std::ranges::count(text, ' '));
    backticks += static_cast<std::size_t>(std::ranges::count(text, '`'));
    quotes += static_cast<std::size_t>(std::ranges::count(text, '"'));
  }
};

// The length of what ends a sentence at `at`; 0: nothing does.
std::size_t end_of_sentence(std::string_view text, std::size_t at, const Before& passed) {
  for (const std::string_view mark : {"\xe3\x80\x82", "\xef\xbc\x9f", "\xef\xbc\x81"}) {  // of Chinese and Japanese
    if (text.substr(at).starts_with(mark)) return mark.size();
  }
  // "The result should be [300000, 300000]: CUDA out of memory" tells two things.
  constexpr std::size_t kFewestBefore = 3;
  const bool within_quotes = passed.backticks % 2 == 1 || passed.quotes % 2 == 1;
  if (text[at] == ':' && at + 1 < text.size() && is_blank(text[at + 1]) && !within_quotes)
    return passed.blanks >= kFewestBefore ? 1 : 0;
  if (text[at] != '.' && text[at] != '!' && text[at] != '?') return 0;
  if (text[at] == '?' && at > 0 && text[at - 1] == '$') return 0;  // how the last command of a shell ended
  std::size_t end = at + 1;
  while (end < text.size() && std::string_view(".!?*`\")'").contains(text[end])) ++end;
  if (end >= text.size()) return end - at;
  const std::string_view before = text.substr(0, at);
  const bool is_short = before.ends_with("i.e") || before.ends_with("e.g") || before.ends_with("etc") ||
                        before.ends_with("vs") || before.ends_with("..");
  return is_blank(text[end]) && !is_short ? end - at : 0;
}

}  // namespace

std::optional<Sentence> said_before_question(const Sentence& question) {
  if (question.mood != Mood::kAsked || asks_from_its_first_word(question)) return std::nullopt;
  std::size_t end = question.text.rfind(',');
  if (end == kNowhere) end = question.text.rfind("\xef\xbc\x8c");
  if (end == kNowhere) return std::nullopt;
  Sentence said{.text = question.text.substr(0, end), .line = question.line, .last_line = question.last_line};
  said.words = split_words(said.text);
  said.mood = is_hypothetical(said) ? Mood::kHypothetical : Mood::kAsserted;
  return said;
}

std::vector<Sentence> split_sentences(std::string_view raw, std::int64_t line, std::int64_t last_line) {
  std::vector<Sentence> sentences;
  const std::string_view text = without_bullet(raw);
  std::size_t begin = 0;
  const auto take = [&](std::size_t end) {
    Sentence sentence{.text = std::string(trim(text.substr(begin, end - begin))), .line = line, .last_line = last_line};
    while (!sentence.text.empty() && std::string_view("*`\"').").contains(sentence.text.back()))
      sentence.text.pop_back();
    sentence.words = split_words(sentence.text);
    sentence.mood = mood_of(sentence);
    if (!sentence.words.empty()) sentences.push_back(std::move(sentence));
    begin = end;
  };
  Before passed;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = end_of_sentence(text, at, passed);
    // Words without an end are none: what looks for one word behind another would go through all of them for each.
    const bool is_too_long = at - begin >= kLongestSentence && is_blank(text[at]);
    if (length > 0 || is_too_long) take(at + length);
    const std::size_t next = at + std::max<std::size_t>(length, 1);
    passed.pass(text.substr(at, next - at));
    at = next;
  }
  if (begin < text.size()) take(text.size());
  return sentences;
}

}  // namespace vramfit::ingest
