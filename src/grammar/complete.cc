#include "grammar/complete.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/letters.h"

namespace vramfit::grammar {
namespace {

// The part before the card that is being typed: "a100-40gb,2x" of "a100-40gb,2xrtx30".
std::string before_card(const std::string& typed) {
  const std::size_t comma = typed.rfind(',');
  std::size_t start = comma == std::string::npos ? 0 : comma + 1;
  std::size_t digits = start;
  while (digits < typed.size() && base::is_digit(typed[digits])) ++digits;
  if (digits > start && digits < typed.size() && typed[digits] == 'x') start = digits + 1;
  return typed.substr(0, start);
}

std::string before_word(const std::string& typed) { return typed.substr(0, typed.rfind(',') + 1); }

void add_cards(const std::string& before, const std::string& typed, const Sources& sources,
               std::vector<Candidate>& all) {
  for (Candidate& card : sources.cards())
    all.push_back({before + before_card(typed) + card.word, std::move(card.help)});
}

// "amp=off,bf16" of "amp=off,b": behind the sign come values of that name alone.
std::vector<Candidate> variables(const std::vector<std::string>& words, const std::string& typed,
                                 const Sources& sources) {
  std::vector<Candidate> all;
  for (const std::string& word : words) {
    const std::string name = word.substr(0, word.find('=') + 1);
    if (!typed.starts_with(name)) {
      all.push_back({word, ""});
      continue;
    }
    const std::string values = typed.substr(name.size());
    if (name == "gpu=") add_cards(name, values, sources, all);
    if (word != name) all.push_back({name + before_word(values) + word.substr(name.size()), ""});
  }
  return all;
}

std::vector<Candidate> options_of(const VerbGrammar& verb) {
  std::vector<Candidate> all;
  for (const OptionGrammar& option : verb.options) {
    if (option.is_positional()) continue;
    for (const std::string& name : option.names) {
      if (name.starts_with("--")) all.push_back({name, option.help});
    }
  }
  return all;
}

std::vector<Candidate> verbs_of(const VerbGrammar& of) {
  std::vector<Candidate> all;
  for (const VerbGrammar& verb : of.verbs) all.push_back({verb.name, verb.help});
  return all;
}

Completion values_of(const OptionGrammar& option, const std::string& typed, const Sources& sources) {
  Completion result;
  switch (option.value) {
    case Value::kWord:
      for (const std::string& word : option.words) result.candidates.push_back({word, ""});
      break;
    case Value::kWords:
      for (const std::string& word : option.words) result.candidates.push_back({before_word(typed) + word, ""});
      break;
    case Value::kCard:
      add_cards("", typed, sources, result.candidates);
      break;
    case Value::kNetworkOrFile:
      result.candidates = sources.networks();
      result.files = true;
      break;
    case Value::kVariable:
      result.candidates = variables(option.words, typed, sources);
      break;
    case Value::kRun:
    case Value::kRunOrFile:
      result.candidates = sources.runs();
      result.files = option.value == Value::kRunOrFile;
      break;
    case Value::kText:
    case Value::kFile:
      result.files = true;
      break;
  }
  return result;
}

// The value that stands at its place: the last one takes all that follow.
const OptionGrammar* positional(const VerbGrammar& verb, std::size_t place) {
  const OptionGrammar* last = nullptr;
  std::size_t at = 0;
  for (const OptionGrammar& option : verb.options) {
    if (!option.is_positional()) continue;
    last = &option;
    if (at++ == place) break;
  }
  return last;
}

// What may stand behind the sign of "--gpu=rtx40".
Completion joined_values_of(const VerbGrammar& verb, const std::string& typed, const Sources& sources) {
  const std::string name = name_part(typed);
  const OptionGrammar* option = find_option(verb, name);
  if (option == nullptr || !option->takes_value) return {};
  Completion result = values_of(*option, typed.substr(name.size() + 1), sources);
  for (Candidate& one : result.candidates) one.word = name + "=" + one.word;
  return result;
}

Completion offered(const VerbGrammar& all, const std::vector<std::string>& before, const std::string& typed,
                   const Sources& sources) {
  const Reached reached = read_words(all, before);
  if (reached.awaits != nullptr) return values_of(*reached.awaits, typed, sources);
  if (typed.starts_with('-') && typed.find('=') != std::string::npos) {
    return joined_values_of(*reached.verb, typed, sources);
  }
  if (typed.starts_with('-')) return {options_of(*reached.verb), false};
  if (!reached.verb->verbs.empty()) return {verbs_of(*reached.verb), false};
  const OptionGrammar* option = positional(*reached.verb, reached.positionals);
  return option == nullptr ? Completion{{}, true} : values_of(*option, typed, sources);
}

}  // namespace

Completion complete(const VerbGrammar& all, const std::vector<std::string>& words, const Sources& sources) {
  if (words.empty()) return offered(all, {}, "", sources);
  const std::vector<std::string> before(words.begin(), words.end() - 1);
  if (std::ranges::find(before, "--") != before.end()) return {{}, true};
  Completion result = offered(all, before, words.back(), sources);
  std::erase_if(result.candidates, [&](const Candidate& one) { return !one.word.starts_with(words.back()); });
  return result;
}

}  // namespace vramfit::grammar
