#include "cli/parser.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <utility>

#include "base/file.h"
#include "base/nearest_word.h"
#include "base/parse_number.h"
#include "cli/first_words.h"
#include "report/layout.h"

namespace vramfit::cli {

namespace {

// What CLI11 does not tell again of an option once it was said.
struct OptionWords {
  grammar::Value value = grammar::Value::kText;
  std::vector<std::string> words;
};

std::map<const CLI::Option*, OptionWords>& told() {
  static std::map<const CLI::Option*, OptionWords> all;
  return all;
}

// Verbs that are given a command behind --.
std::set<const CLI::App*>& of_commands() {
  static std::set<const CLI::App*> all;
  return all;
}

// Lines of --help end at the 80th column; CLI11's own are as long as what they say.
class PageFormatter final : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    return entry(make_option_name(option, is_positional) + make_option_opts(option), make_option_desc(option), 26);
  }
  std::string make_subcommand(const CLI::App* verb) const override {
    return entry(verb->get_display_name(true), verb->get_description(), 14);
  }
  std::string make_description(const CLI::App* app) const override {
    return report::wrap(CLI::Formatter::make_description(app), report::kPageWidth, 0) + "\n";
  }

 private:
  static std::string entry(const std::string& name, const std::string& description, std::size_t column) {
    constexpr std::size_t kNarrow = 60;  // such a page has names on lines of their own
    if (report::page_width() < kNarrow) column = std::min(column, report::page_width() / 4);
    const std::string shown = "  " + name;
    const std::string told = report::wrap(description, report::kPageWidth - column, 0);
    std::string text = shown.size() < column ? fmt::format("{:<{}}", shown, column) : shown;
    if (shown.size() >= column && !told.empty()) text += "\n" + std::string(column, ' ');
    for (const char letter : told) {
      text += letter;
      if (letter == '\n') text += std::string(column, ' ');
    }
    return text + "\n";
  }
};

// CLI11's own validators tell a range with all digits of the largest double.
CLI::Validator number_that(const std::string& what, std::function<bool(double)> holds) {
  const auto check = [what, holds = std::move(holds)](const std::string& text) {
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc() && rest == end && std::isfinite(value) && holds(value)) return std::string();
    return fmt::format("\"{}\" is not {}", text, what);
  };
  return CLI::Validator(check, "", "");
}

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  if (names.empty()) names.push_back(option.get_name(true));
  return names;
}

grammar::VerbGrammar grammar_of(const CLI::App& app) {
  grammar::VerbGrammar verb{app.get_name(), app.get_description(), {}, {}};
  for (const CLI::Option* option : app.get_options([](const CLI::Option*) { return true; })) {
    if (option->get_group().empty()) continue;
    const OptionWords& known = told()[option];
    verb.options.push_back(
        {names_of(*option), option->get_description(), option->get_items_expected_max() > 0, known.value, known.words});
  }
  for (const CLI::App* part : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!part->get_group().empty()) verb.verbs.push_back(grammar_of(*part));
  }
  return verb;
}

// The verb of verbs that was chosen.
const CLI::App& innermost(const CLI::App& app) {
  for (const CLI::App* verb : app.get_subcommands()) return innermost(*verb);
  return app;
}

// The words that nothing took, in their order: what CLI11 says of them is reversed. Its remaining() goes one verb deep.
std::vector<std::string> left_over(const CLI::App& app) {
  std::vector<std::string> words = app.remaining();
  for (const CLI::App* verb : app.get_subcommands()) {
    const std::vector<std::string> its = left_over(*verb);
    words.insert(words.end(), its.begin(), its.end());
  }
  return words;
}

// Those before the first that nothing took.
std::vector<std::string> words_before(const std::vector<std::string>& left, const std::vector<std::string>& words) {
  if (left.empty()) return words;
  return {words.begin(), std::ranges::find(words, left.front())};
}

// A job that follows the options without a --: what was understood stands before it, the job behind.
std::string explain_missing_dashes(const CLI::App& app, const std::vector<std::string>& words) {
  const std::vector<std::string> job = left_over(app);
  if (job.empty() || job.front().starts_with('-') || !of_commands().contains(&innermost(app))) return "";
  std::vector<std::string> own;
  std::size_t next = 0;
  for (const std::string& word : words) {
    if (next < job.size() && word == job[next]) {
      ++next;
    } else {
      own.push_back(word);
    }
  }
  const CLI::Option* gpu = innermost(app).get_option_no_throw("--gpu");
  const bool needs_card = gpu != nullptr && gpu->get_required() && gpu->count() == 0;
  return fmt::format("-- is missing before the job\n  {}", with_dashes(std::move(own), job, needs_card));
}

// What CLI11 says in a form of its own.
std::string with_count(const std::string& text) {
  static const std::regex kForm("(.*): (At least|At Most|at least|at most) ([0-9]+) required but received ([0-9]+)");
  std::smatch parts;
  if (!std::regex_match(text, parts, kForm)) return text;
  const bool is_least = parts[2].str().ends_with("least");
  if (!is_least && parts[3] == "1")
    return fmt::format("{} is given once, not {} times", parts[1].str(), parts[4].str());
  return fmt::format("{} takes {} or {}, not {}", parts[1].str(), parts[3].str(), is_least ? "more" : "fewer",
                     parts[4].str());
}

constexpr std::string_view kNoRun = "there is no run ";

// "vramfit env add"
std::string chosen_verb(const CLI::App& app) {
  for (const CLI::App* verb : app.get_subcommands()) return app.get_name() + " " + chosen_verb(*verb);
  return app.get_name();
}

// Rewords what CLI11 tells of a value that is no number: "Could not convert: --port = 99999".
std::string in_our_words(const CLI::App& app, const CLI::ParseError& problem) {
  const std::string text = with_count(problem.what());
  if (dynamic_cast<const CLI::ExtrasError*>(&problem) != nullptr)
    return fmt::format("nothing is known of{}", in_shell(left_over(app)));
  if (const std::size_t run = text.find(kNoRun); run != std::string::npos) return text.substr(run);
  if (problem.get_name() == "RequiredError" && app.get_subcommands().empty()) return "no verb is given";
  constexpr std::string_view kNoValue = "Could not convert: ", kBetween = " = ";
  const std::size_t between = text.find(kBetween);
  if (!text.starts_with(kNoValue) || between == std::string::npos) return text;
  // "vramfit runs list": a verb's number and no word, and the verb alone lists them.
  const std::string given = text.substr(between + kBetween.size());
  if (chosen_verb(app) == "vramfit runs" && base::nearest_word(given, {"list"})) {
    return fmt::format("\"{}\" is no number of a run; did you mean `vramfit runs`, which lists them?", given);
  }
  return fmt::format("\"{}\" is no value of {}", given, text.substr(kNoValue.size(), between - kNoValue.size()));
}

}  // namespace

Option Option::required(bool is) const { return Option(option_->required(is)); }
Option Option::one_of(std::vector<std::string> words) const { return one_of(std::move(words), {}); }
Option Option::one_of(std::vector<std::string> words, std::map<std::string, std::string> others) const {
  told()[option_] = {grammar::Value::kWord, words};
  const auto check = [words = std::move(words), others = std::move(others)](const std::string& text) {
    if (std::ranges::find(words, text) != words.end()) return std::string();
    std::vector<std::string> known = words;
    for (const auto& [other, word] : others) known.push_back(other);
    auto meant = base::nearest_word(text, known);
    if (meant && others.contains(*meant)) meant = fmt::format("{} (for {})", others.at(*meant), *meant);
    return meant ? fmt::format("there is no \"{}\"; did you mean {}?", text, *meant)
                 : fmt::format("there is no \"{}\": it takes {}", text, fmt::join(words, ", "));
  };
  return Option(option_->check(CLI::Validator(check, "", "")));
}
Option Option::suggests(std::vector<std::string> words) const {
  const bool is_list = option_->get_delimiter() != '\0';
  told()[option_] = {is_list ? grammar::Value::kWords : grammar::Value::kWord, std::move(words)};
  return *this;
}
Option Option::is_a(grammar::Value value) const {
  told()[option_].value = value;
  // CLI11 makes the largest number of what is beyond it, which nobody typed.
  const auto check = [](const std::string& text) {
    const bool is_number = !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
    const bool is_beyond = is_number && !base::parse_number<std::int64_t>(text);
    return is_beyond ? fmt::format("{}{}; `vramfit runs` lists them", kNoRun, text) : std::string();
  };
  if (value == grammar::Value::kRun) option_->check(CLI::Validator(check, "", ""));
  return *this;
}
Option Option::is_a(grammar::Value value, std::vector<std::string> words) const {
  told()[option_].words = std::move(words);
  return is_a(value);
}
Option Option::existing_file() const { return Option(option_->check(CLI::ExistingFile)); }
Option Option::existing_folder() const { return Option(option_->check(CLI::ExistingDirectory)); }
Option Option::written_file() const {
  told()[option_].value = grammar::Value::kFile;
  const auto check = [](const std::string& text) {
    if (text.empty() || text == "-") return std::string();
    const auto possible = base::check_writable(text);
    return possible ? std::string() : to_string(possible.error());
  };
  return Option(option_->check(CLI::Validator(check, "", "")));
}
Option Option::positive() const {
  return Option(option_->check(number_that("a number above 0", [](double value) { return value > 0; })));
}
Option Option::not_negative() const {
  return Option(option_->check(number_that("0 or a number above it", [](double value) { return value >= 0; })));
}
Option Option::between(int least, int most) const {
  const auto holds = [least, most](double value) { return value >= least && value <= most; };
  return Option(option_->check(number_that(fmt::format("a number from {} to {}", least, most), holds)));
}
Option Option::takes(int fewest, int most) const { return Option(option_->expected(fewest, most)); }
Option Option::one_value_each() const { return Option(option_->allow_extra_args(false)); }
Option Option::keeps_all() const { return Option(option_->take_all()); }
Option Option::separated_by(char sign) const { return Option(option_->delimiter(sign)); }
Option Option::variable(const std::string& name) const { return Option(option_->envname(name)); }
Option Option::excludes(const Option& other) const { return Option(option_->excludes(other.option_)); }
Option Option::hidden() const { return Option(option_->group("")); }
bool Option::was_given() const { return option_->count() > 0; }

Parser Parser::add_verb(const std::string& name, const std::string& help) const {
  return Parser(app_->add_subcommand(name, help));
}
Option Parser::add_option(const std::string& names, std::string& value, const std::string& help) const {
  return Option(app_->add_option(names, value, help));
}
Option Parser::add_option(const std::string& names, std::optional<std::int64_t>& value, const std::string& help) const {
  return Option(app_->add_option(names, value, help));
}
Option Parser::add_option(const std::string& names, int& value, const std::string& help) const {
  return Option(app_->add_option(names, value, help));
}
Option Parser::add_option(const std::string& names, std::int64_t& value, const std::string& help) const {
  return Option(app_->add_option(names, value, help));
}
Option Parser::add_option(const std::string& names, std::size_t& value, const std::string& help) const {
  return Option(app_->add_option(names, value, help));
}
Option Parser::add_option(const std::string& names, std::uint16_t& value, const std::string& help) const {
  return Option(app_->add_option(names, value, help));
}
Option Parser::add_option(const std::string& names, double& value, const std::string& help) const {
  return Option(app_->add_option(names, value, help));
}
Option Parser::add_option(const std::string& names, std::vector<std::string>& values, const std::string& help) const {
  return Option(app_->add_option(names, values, help));
}
Option Parser::add_option(const std::string& names, std::vector<std::int64_t>& values, const std::string& help) const {
  return Option(app_->add_option(names, values, help));
}
Option Parser::add_flag(const std::string& names, bool& value, const std::string& help) const {
  return Option(app_->add_flag(names, value, help));
}
Option Parser::option(const std::string& name) const { return Option(app_->get_option(name)); }
void Parser::requires_a_verb() const { app_->require_subcommand(1); }
void Parser::footer(const std::string& text) const { app_->footer(text); }
void Parser::examples(const std::vector<std::string>& lines) const {
  std::string text = app_->get_footer().empty() ? "" : app_->get_footer() + "\n\n";
  text += "Examples:";
  for (const std::string& line : lines) text += "\n  " + line;
  app_->footer(text);
}
void Parser::takes_command() const { of_commands().insert(app_); }
void Parser::hidden() const { app_->group(""); }
bool Parser::was_chosen() const { return app_->parsed(); }

CommandLine::CommandLine(const std::string& help, const std::string& version, const std::string& footer)
    : app_(new CLI::App(help, "vramfit")) {
  app_->formatter(std::make_shared<PageFormatter>());  // of the verbs that are added too
  app_->set_version_flag("--version", version);
  app_->require_subcommand(1);
  app_->footer(footer);
}

CommandLine::~CommandLine() { delete app_; }

grammar::VerbGrammar CommandLine::grammar() const { return grammar_of(*app_); }

namespace {

int complain(const std::string& mistyped) {
  std::cerr << "vramfit: error: " << mistyped << "\n  `vramfit --help` and `vramfit VERB --help` list what there is\n";
  return 2;
}

}  // namespace

std::optional<int> CommandLine::read(std::vector<std::string> words, bool has_command) const {
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    if (!grammar::explain_mistyped(grammar(), words).empty())
      return complain(grammar::explain_mistyped(grammar(), words));
    words.emplace_back("--help");
  }
  std::vector<std::string> reversed(words.rbegin(), words.rend());  // as CLI11 wants them
  try {
    app_->parse(std::move(reversed));
    return std::nullopt;
  } catch (const CLI::ParseError& problem) {
    const bool asked = problem.get_exit_code() == 0;  // --help, --version
    const bool has_verb = !words.empty() && grammar::find_verb(grammar(), words.front()) != nullptr;
    std::string mistyped = words.empty() || has_verb ? "" : explain_file(words.front());
    if (mistyped.empty()) mistyped = grammar::explain_mistyped(grammar(), words_before(left_over(*app_), words));
    if (mistyped.empty() && !has_command) mistyped = explain_missing_dashes(*app_, words);
    if (mistyped.empty()) mistyped = grammar::explain_mistyped(grammar(), words);
    if (asked) {
      app_->exit(problem, std::cout, std::cerr);
    } else if (mistyped.empty()) {
      std::cerr << "vramfit: error: " << in_our_words(*app_, problem) << "\n  `" << chosen_verb(*app_)
                << " --help` tells what it takes, with examples\n";
    } else {
      complain(mistyped);
    }
    return asked ? 0 : 2;
  }
}

}  // namespace vramfit::cli
