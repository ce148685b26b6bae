#include "sweep/variables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>
#include <string_view>

#include "base/file.h"
#include "base/nearest_word.h"
#include "base/parse_number.h"
#include "ingest/plan_file.h"

namespace vramfit::sweep {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

// Options by which training scripts at large set the samples of one step on one card.
constexpr std::array<std::string_view, 8> kBatchOptions = {"--batch-size",
                                                           "--batch_size",
                                                           "--per_device_train_batch_size",
                                                           "--train_batch_size",
                                                           "--train-batch-size",
                                                           "--bs",
                                                           "--batch",
                                                           "-b"};
constexpr std::array<std::string_view, 8> kRunOptions = {"gpu",      "steps", "within", "values",
                                                         "occupied", "torch", "cudnn",  "address-order"};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  std::string part;
  while (std::getline(stream, part, separator)) parts.push_back(part);
  return parts;
}

bool is_option(std::string_view word) { return word.size() > 1 && word[0] == '-' && (word[1] < '0' || word[1] > '9'); }

// Puts the value behind the option, in place of all the words it had, or glued on where it was glued on.
bool replace_option(std::vector<std::string>& command, std::string_view option, const std::string& value) {
  for (std::size_t i = 0; i < command.size(); ++i) {
    if (command[i].starts_with(std::string(option) + "=")) {
      command[i] = fmt::format("{}={}", option, value);
      return true;
    }
    if (command[i] != option) continue;
    const std::vector<std::string> words = split(value, ' ');
    const auto first = command.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    // Replaces as many words as the new value has: those behind may be arguments of their own.
    auto last = first;
    for (std::size_t k = 0; k < words.size() && last != command.end() && !is_option(*last); ++k) ++last;
    const auto at = command.erase(first, last);
    command.insert(at, words.begin(), words.end());
    return true;
  }
  return false;
}

bool replace_placeholder(std::vector<std::string>& command, const std::string& name, const std::string& value) {
  const std::string placeholder = "{" + name + "}";
  bool found = false;
  for (std::string& word : command) {
    for (std::size_t at = word.find(placeholder); at != std::string::npos;
         at = word.find(placeholder, at + value.size())) {
      word.replace(at, placeholder.size(), value);
      found = true;
    }
  }
  return found;
}

// The option that the script itself takes for it: its name stands in the script, in quotes.
std::optional<std::string_view> option_of_script(const std::vector<std::string>& command) {
  const auto script = std::ranges::find_if(command, [](const std::string& word) { return word.ends_with(".py"); });
  if (script == command.end()) return std::nullopt;
  const auto text = base::read_file(*script);
  if (!text) return std::nullopt;
  for (const std::string_view option : kBatchOptions) {
    if (option.size() == 2) continue;  // of a letter, which may be anything
    if (text->contains(fmt::format("\"{}\"", option)) || text->contains(fmt::format("'{}'", option))) return option;
  }
  if (text->contains("HfArgumentParser")) return "--per_device_train_batch_size";
  return std::nullopt;
}

Result<void> set_batch(TrialCommand& trial, const std::string& value) {
  for (const std::string_view option : kBatchOptions) {
    if (replace_option(trial.command, option, value)) return {};
  }
  if (const auto option = option_of_script(trial.command)) {
    trial.command.emplace_back(*option);
    trial.command.push_back(value);
    return {};
  }
  const auto samples = base::parse_number<std::int64_t>(value);
  if (!samples || *samples < 1) {
    return fail(
        ErrorCode::kUsage,
        fmt::format("the command does not say its batch size in a way that is known, and \"{}\" is no number", value),
        "batch",
        fmt::format("write {{batch}} where it stands, as in: -- python train.py --samples {{batch}}; known are {}",
                    fmt::join(kBatchOptions, ", ")));
  }
  trial.plan.changes.push_back({"batch_size", {{"batch_size", *samples}, {"loaders", std::vector<std::int64_t>{0}}}});
  return {};
}

Result<void> set_amp(TrialCommand& trial, const std::string& value) {
  if (value == "off") return {};
  if (value != "bf16" && value != "fp16") {
    return fail(ErrorCode::kUsage, fmt::format("\"{}\" is no mixed precision", value), "amp", "off, bf16 or fp16");
  }
  const bool half = value == "fp16";
  trial.plan.changes.push_back({"autocast", {{"dtype", std::string(half ? "float16" : "bfloat16")}, {"scaler", half}}});
  return {};
}

Result<void> set_plan(TrialCommand& trial, const std::string& value) {
  if (value == "off") return {};
  const auto plan = ingest::read_plan(value);
  if (!plan) return std::unexpected(plan.error());
  trial.plan.changes.insert(trial.plan.changes.end(), plan->changes.begin(), plan->changes.end());
  return {};
}

Result<void> apply(TrialCommand& trial, const std::string& name, const std::string& value) {
  if (is_option(name)) {
    if (!replace_option(trial.command, name, value)) {
      trial.command.push_back(name);
      for (const std::string& word : split(value, ' ')) trial.command.push_back(word);
    }
    return {};
  }
  if (replace_placeholder(trial.command, name, value)) return {};
  if (name == "batch") return set_batch(trial, value);
  if (name == "amp") return set_amp(trial, value);
  if (name == "plan") return set_plan(trial, value);
  if (name == "alloc") {
    if (value != "off") trial.plan.changes.push_back({"allocator", {{"conf", value}}});
    return {};
  }
  if (std::ranges::find(kRunOptions, name) != kRunOptions.end()) {
    trial.run_options.push_back("--" + name);
    trial.run_options.push_back(value);
    return {};
  }
  std::vector<std::string> known;
  for (const std::string& word : words_to_vary()) known.push_back(word.substr(0, word.find('=')));
  return fail(
      ErrorCode::kUsage, fmt::format("there is nothing called {} to vary{}", name, base::did_you_mean(name, known)),
      "--vary",
      fmt::format("an option of the script (\"--name=a,b\"), {{{}}} in its command, batch, amp, alloc, plan, {}", name,
                  fmt::join(kRunOptions, ", ")));
}

Result<std::int64_t> parse_whole(std::string_view text, const std::string& where) {
  const auto number = base::parse_number<std::int64_t>(text);
  if (!number || *number < 1) {
    return fail(ErrorCode::kUsage, fmt::format("\"{}\" is no whole number from 1 on", text), where,
                "--find-max batch=1..512");
  }
  return *number;
}

}  // namespace

Result<model::SweepVariable> parse_variable(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return fail(ErrorCode::kUsage, fmt::format("\"{}\" names no values", text), "--vary",
                "--vary batch=1,2,4 or --vary \"--crop-size=512,768\"");
  }
  const std::string values = text.substr(equals + 1);
  const char separator = values.find(';') != std::string::npos ? ';' : ',';
  model::SweepVariable variable{text.substr(0, equals), split(values, separator)};
  if (std::ranges::find(variable.values, "") != variable.values.end()) {
    return fail(ErrorCode::kUsage, fmt::format("\"{}\" has an empty value", text), "--vary");
  }
  std::vector<std::string> sorted = variable.values;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end()) {
    return fail(ErrorCode::kUsage, fmt::format("\"{}\" has the value {} twice", text, *twice), "--vary");
  }
  return variable;
}

std::vector<std::string> words_to_vary() {
  std::vector<std::string> words = {"batch=", "amp=off", "amp=bf16", "amp=fp16", "alloc=off", "plan=off"};
  for (const std::string_view option : kRunOptions) words.push_back(fmt::format("{}=", option));
  return words;
}

Result<model::SweepGoal> parse_goal(const std::string& text) {
  model::SweepGoal goal;
  const std::size_t equals = text.find('=');
  goal.name = text.substr(0, equals);
  if (goal.name.empty()) return fail(ErrorCode::kUsage, "what is to be searched?", "--find-max", "--find-max batch");
  if (equals == std::string::npos) return goal;
  const std::string range = text.substr(equals + 1);
  const std::size_t dots = range.find("..");
  const auto low = parse_whole(range.substr(0, dots), "--find-max");
  if (!low) return std::unexpected(low.error());
  goal.low = *low;
  if (dots == std::string::npos) return goal;
  const auto high = parse_whole(range.substr(dots + 2), "--find-max");
  if (!high) return std::unexpected(high.error());
  goal.high = *high;
  if (goal.high < goal.low) return fail(ErrorCode::kUsage, fmt::format("{} is no range", range), "--find-max");
  return goal;
}

std::vector<std::vector<std::string>> combine(const std::vector<model::SweepVariable>& variables) {
  std::vector<std::vector<std::string>> all = {{}};
  for (const model::SweepVariable& variable : variables) {
    std::vector<std::vector<std::string>> longer;
    for (const auto& values : all) {
      for (const std::string& value : variable.values) {
        longer.push_back(values);
        longer.back().push_back(value);
      }
    }
    all = std::move(longer);
  }
  return all;
}

Result<TrialCommand> build_trial(const model::SweepSpec& spec, const std::vector<std::string>& values) {
  TrialCommand trial;
  trial.command = spec.command;
  bool varies_card = false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string& name = i < spec.variables.size() ? spec.variables[i].name : spec.goal->name;
    varies_card = varies_card || name == "gpu";
    if (auto done = apply(trial, name, values[i]); !done) return std::unexpected(done.error());
    trial.plan.name += fmt::format("{}{}={}", trial.plan.name.empty() ? "" : ", ", name, values[i]);
  }
  if (!varies_card) {
    for (const std::string& gpu : spec.gpus) {
      trial.run_options.push_back("--gpu");
      trial.run_options.push_back(gpu);
    }
  }
  trial.run_options.insert(trial.run_options.end(), spec.options.begin(), spec.options.end());
  return trial;
}

namespace {

// A trial on a real card writes to the user's own files: whole trainings may take days, and cut ones leave checkpoints
// of half a training. Neither is for us to choose.
Result<void> check_steps(const std::vector<std::string>& run_options) {
  const auto gpu = std::ranges::find(run_options, "--gpu");
  const bool is_real = gpu != run_options.end() && std::next(gpu) != run_options.end() && *std::next(gpu) == "real";
  if (!is_real || std::ranges::find(run_options, "--steps") != run_options.end()) return {};
  return fail(ErrorCode::kUsage, "trials on real cards write to your own files: say how far each is to run", "--steps",
              "--steps auto cuts each short, and what it saves is of a shortened training; --steps all runs it whole");
}

}  // namespace

Result<void> check_trials(const model::SweepSpec& spec) {
  for (std::vector<std::string> values : combine(spec.variables)) {
    if (spec.goal) values.push_back(std::to_string(spec.goal->low));
    const auto trial = build_trial(spec, values);
    if (!trial) return std::unexpected(trial.error());
    if (auto said = check_steps(trial->run_options); !said) return said;
  }
  return {};
}

}  // namespace vramfit::sweep
