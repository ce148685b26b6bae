// What the command line understands, as plain data: for completion, and to say what a mistyped word was meant to be.
#ifndef VRAMFIT_GRAMMAR_GRAMMAR_H
#define VRAMFIT_GRAMMAR_GRAMMAR_H

#include <string>
#include <string_view>
#include <vector>

namespace vramfit::grammar {

// The kind of value that an option takes.
enum class Value { kText, kWord, kWords, kCard, kNetworkOrFile, kVariable, kRun, kRunOrFile, kFile };

struct OptionGrammar {
  std::vector<std::string> names;  // "--gpu", "-g"; one without dashes stands for itself, by its place
  std::string help;
  bool takes_value = false;
  Value value = Value::kText;
  // A kWord is one of these, kWords are several with commas between. A kVariable is "amp=off", or "batch=" where any
  // value may stand behind it.
  std::vector<std::string> words;
  bool is_positional() const { return names.empty() || !names.front().starts_with('-'); }
};

struct VerbGrammar {
  std::string name, help;
  std::vector<OptionGrammar> options;
  std::vector<VerbGrammar> verbs;
};

const VerbGrammar* find_verb(const VerbGrammar& of, std::string_view name);
const OptionGrammar* find_option(const VerbGrammar& verb, std::string_view name);
// "--gpu" of "--gpu=t4".
std::string name_part(const std::string& word);

// Where a reader of words has come to: the verb of verbs they chose, and how many values stood by themselves.
struct Reached {
  const VerbGrammar* verb = nullptr;
  const OptionGrammar* awaits = nullptr;  // the option whose value comes next
  std::size_t positionals = 0;
};
Reached read_words(const VerbGrammar& all, const std::vector<std::string>& words);

// "there is no verb \"rnu\"; did you mean \"run\"?", where a word of the line is no verb or no option. Empty where all
// are known.
std::string explain_mistyped(const VerbGrammar& all, const std::vector<std::string>& words);

}  // namespace vramfit::grammar

#endif
