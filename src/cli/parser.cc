#include "cli/parser.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <utility>

namespace vramfit::cli {

Option Option::required(bool is) const { return Option(option_->required(is)); }
Option Option::one_of(std::vector<std::string> words) const {
  return Option(option_->check(CLI::IsMember(std::move(words))));
}
Option Option::existing_file() const { return Option(option_->check(CLI::ExistingFile)); }
Option Option::existing_folder() const { return Option(option_->check(CLI::ExistingDirectory)); }
Option Option::positive() const { return Option(option_->check(CLI::PositiveNumber)); }
Option Option::not_negative() const { return Option(option_->check(CLI::NonNegativeNumber)); }
Option Option::between(int least, int most) const { return Option(option_->check(CLI::Range(least, most))); }
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
bool Parser::was_chosen() const { return app_->parsed(); }

CommandLine::CommandLine(const std::string& help, const std::string& version, const std::string& footer)
    : app_(new CLI::App(help, "vramfit")) {
  app_->set_version_flag("--version", version);
  app_->require_subcommand(1);
  app_->footer(footer);
}

CommandLine::~CommandLine() { delete app_; }

std::optional<int> CommandLine::read(std::vector<std::string> words) const {
  std::ranges::reverse(words);  // as CLI11 wants them
  try {
    app_->parse(std::move(words));
    return std::nullopt;
  } catch (const CLI::ParseError& problem) {
    const bool asked = problem.get_exit_code() == 0;  // --help, --version
    app_->exit(problem, std::cout, std::cerr);
    return asked ? 0 : 2;
  }
}

}  // namespace vramfit::cli
