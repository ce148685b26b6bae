// Verbs and their options. CLI11, which reads them, is seen by parser.cc alone: its header costs every file that
// includes it eight seconds of compiling.
#ifndef VRAMFIT_CLI_PARSER_H
#define VRAMFIT_CLI_PARSER_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "grammar/grammar.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace vramfit::cli {

// One option of a verb: what it takes and when. Each call returns the option, for the next one.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}
  Option required(bool is = true) const;
  Option one_of(std::vector<std::string> words) const;
  // `others`: what people call some of them, and their word here.
  Option one_of(std::vector<std::string> words, std::map<std::string, std::string> others) const;
  Option existing_file() const;
  Option existing_folder() const;
  Option written_file() const;  // "-" is stdout: refused before anything is done where it can't be written
  Option positive() const;
  Option not_negative() const;
  Option between(int least, int most) const;
  Option takes(int fewest, int most) const;        // values
  Option one_value_each() const;                   // "--gpu a --gpu b": what follows the value is none of it
  Option keeps_all() const;                        // of an option that is repeated, not the last alone
  Option separated_by(char sign) const;            // "a,b" is two values
  Option variable(const std::string& name) const;  // the environment's, where the option is not given
  Option excludes(const Option& other) const;
  Option hidden() const;
  Option suggests(std::vector<std::string> words) const;  // for completion: the verb itself says what is none of them
  Option is_a(grammar::Value value) const;                // what a value of it is, for completion
  Option is_a(grammar::Value value, std::vector<std::string> words) const;
  bool was_given() const;

 private:
  CLI::Option* option_;
};

// A verb of the command line, or the whole of it. Variables that options fill must outlive the reading of the words.
class Parser {
 public:
  explicit Parser(CLI::App* app) : app_(app) {}
  Parser add_verb(const std::string& name, const std::string& help) const;
  Option add_option(const std::string& names, std::string& value, const std::string& help) const;
  Option add_option(const std::string& names, std::optional<std::int64_t>& value, const std::string& help) const;
  Option add_option(const std::string& names, int& value, const std::string& help) const;
  Option add_option(const std::string& names, std::int64_t& value, const std::string& help) const;
  Option add_option(const std::string& names, std::size_t& value, const std::string& help) const;
  Option add_option(const std::string& names, std::uint16_t& value, const std::string& help) const;
  Option add_option(const std::string& names, double& value, const std::string& help) const;
  Option add_option(const std::string& names, std::vector<std::string>& values, const std::string& help) const;
  Option add_option(const std::string& names, std::vector<std::int64_t>& values, const std::string& help) const;
  Option add_flag(const std::string& names, bool& value, const std::string& help) const;
  Option option(const std::string& name) const;  // one that was added before
  void requires_a_verb() const;
  void footer(const std::string& text) const;
  void examples(const std::vector<std::string>& lines) const;  // at the end of --help
  void takes_command() const;                                  // behind --
  void hidden() const;
  bool was_chosen() const;

 private:
  CLI::App* app_;
};

// Reads the words of a command line into what `declare` added. Empty when a verb was chosen; else everything was said,
// as --help asks or as an error, and it is the exit code to end with.
class CommandLine {
 public:
  CommandLine(const std::string& help, const std::string& version, const std::string& footer);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;
  Parser parser() const { return Parser(app_); }
  // `has_command`: a -- was among the words, which here are those before it.
  std::optional<int> read(std::vector<std::string> words, bool has_command) const;
  grammar::VerbGrammar grammar() const;  // without what is hidden

 private:
  CLI::App* app_;  // owned: a unique_ptr would have to see the class
};

}  // namespace vramfit::cli

#endif
