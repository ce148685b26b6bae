#include "grammar/grammar.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/nearest_word.h"

namespace vramfit::grammar {
namespace {

std::vector<std::string> names_of_verbs(const VerbGrammar& of) {
  std::vector<std::string> names;
  for (const VerbGrammar& verb : of.verbs) names.push_back(verb.name);
  return names;
}

std::vector<std::string> names_of_options(const VerbGrammar& of) {
  std::vector<std::string> names;
  for (const OptionGrammar& option : of.options) {
    if (!option.is_positional()) names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

bool is_option(const std::string& word) { return word.size() > 1 && word.front() == '-'; }

}  // namespace

std::string name_part(const std::string& word) { return word.substr(0, word.find('=')); }

const VerbGrammar* find_verb(const VerbGrammar& of, std::string_view name) {
  const auto found = std::ranges::find(of.verbs, name, &VerbGrammar::name);
  return found == of.verbs.end() ? nullptr : &*found;
}

const OptionGrammar* find_option(const VerbGrammar& verb, std::string_view name) {
  const auto has_it = [name](const OptionGrammar& option) {
    return !option.is_positional() && std::ranges::find(option.names, name) != option.names.end();
  };
  const auto found = std::ranges::find_if(verb.options, has_it);
  return found == verb.options.end() ? nullptr : &*found;
}

Reached read_words(const VerbGrammar& all, const std::vector<std::string>& words) {
  Reached reached{&all, nullptr, 0};
  for (const std::string& word : words) {
    if (reached.awaits != nullptr) {
      reached.awaits = nullptr;
    } else if (is_option(word)) {
      const OptionGrammar* option = find_option(*reached.verb, name_part(word));
      if (option != nullptr && option->takes_value && word.find('=') == std::string::npos) reached.awaits = option;
    } else if (const VerbGrammar* verb = find_verb(*reached.verb, word); verb != nullptr && reached.positionals == 0) {
      reached.verb = verb;
    } else {
      ++reached.positionals;
    }
  }
  return reached;
}

std::string explain_mistyped(const VerbGrammar& all, const std::vector<std::string>& words) {
  const VerbGrammar* verb = &all;
  const OptionGrammar* awaits = nullptr;
  for (const std::string& word : words) {
    if (awaits != nullptr) {
      awaits = nullptr;
      continue;
    }
    if (!is_option(word)) {
      if (verb->verbs.empty()) continue;
      const VerbGrammar* chosen = find_verb(*verb, word);
      if (chosen == nullptr) {
        // What other programs have as verbs.
        const auto option = base::nearest_word(word, {"help", "version"});
        if (verb == &all && option && !base::nearest_word(word, names_of_verbs(*verb)))
          return fmt::format("there is no verb \"{}\"; did you mean --{}?", word, *option);
        return fmt::format("there is no verb \"{}\"{}", word, base::did_you_mean(word, names_of_verbs(*verb)));
      }
      verb = chosen;
      continue;
    }
    const std::string name = name_part(word);
    const OptionGrammar* option = find_option(*verb, name);
    // "-j4" is -j with its value, and "-1" a number; "-gpu" is neither.
    const bool is_short = word.size() > 1 && word[1] != '-';
    if (option == nullptr && is_short && word.size() > 2 && find_option(*verb, "-" + name) != nullptr) {
      return fmt::format("there is no option {} of {}; did you mean -{}?", name, verb->name, name);
    }
    if (option == nullptr && is_short) continue;
    if (option == nullptr) {
      const std::string of = verb == &all ? "" : fmt::format(" of {}", verb->name);
      return fmt::format("there is no option {}{}{}", name, of, base::did_you_mean(name, names_of_options(*verb)));
    }
    if (option->takes_value && word.find('=') == std::string::npos) awaits = option;
  }
  return "";
}

}  // namespace vramfit::grammar
