#include "ingest/text/settings_text.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "ingest/text/cursor.h"

namespace vramfit::ingest {

namespace {

constexpr auto kNamesOfSettings = std::to_array<std::string_view>({"batch",        "epochs",
                                                                   "lr",           "learning_rate",
                                                                   "model",        "optim",
                                                                   "dataset",      "seed",
                                                                   "amp",          "fp16",
                                                                   "bf16",         "precision",
                                                                   "workers",      "hidden",
                                                                   "layers",       "dropout",
                                                                   "decay",        "zero",
                                                                   "accumulation", "scheduler",
                                                                   "max_length",   "seq_len",
                                                                   "max_steps",    "warmup",
                                                                   "lora",         "quantization",
                                                                   "tokenizer",    "checkpointing",
                                                                   "architecture", "num_classes",
                                                                   "image_size",   "vocab_size",
                                                                   "mixed",        "trainer",
                                                                   "num_heads",    "num_processes",
                                                                   "distributed",  "compute_environment"});
// What a program counts while it runs: with a number, no setting.
constexpr auto kNamesOfResults = std::to_array<std::string_view>(
    {"loss",        "train_loss", "val_loss", "eval_loss",  "acc",      "accuracy",   "step",    "global_step",
     "epoch",       "iter",       "time",     "timestamp",  "elapsed",  "throughput", "fps",     "peak",
     "allocated",   "reserved",   "free",     "used",       "level",    "msg",        "message", "metrics",
     "log_history", "error",      "ppl",      "perplexity", "grad_norm"});

// Calls `take` with each line that has something in it, without comments; false: one was refused.
template <class Take>
bool every_line(std::string_view text, const Take& take) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string_view words = trim(line);
    if (words.empty() || words.front() == '#' || words.front() == ';') continue;
    if (!take(line, words)) return false;
  }
  return true;
}

// The names that were seen, and what they make of the text.
class Names {
 public:
  // False: a program prints such a name.
  bool add(std::string_view name, bool has_number) {
    std::string low(name);
    std::ranges::transform(low, low.begin(), lower);
    ++count_;
    is_known_ |= std::ranges::any_of(kNamesOfSettings, [&](std::string_view known) {
      return known.size() < 4 ? low == known : low.find(known) != std::string::npos;
    });
    return !has_number || std::ranges::find(kNamesOfResults, low) == kNamesOfResults.end();
  }
  bool are_settings(int least) const { return is_known_ && count_ >= least; }

 private:
  int count_ = 0;
  bool is_known_ = false;
};

bool is_json_settings(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] != '{') return false;
  // Deep nesting is no settings of anybody, and a parser's stack is not for it.
  const auto root = nlohmann::json::parse(
      text, [](int depth, nlohmann::json::parse_event_t, nlohmann::json&) { return depth < 20; },
      /*allow_exceptions=*/false);
  if (!root.is_object()) return false;
  Names names;
  bool prints = false;
  for (const auto& [name, value] : root.items()) {
    prints |= !names.add(name, !value.is_boolean());
    if (!value.is_object()) continue;
    for (const auto& [inner, below] : value.items()) prints |= !names.add(inner, below.is_number());
  }
  return !prints && names.are_settings(1);
}

// "batch_size" of "batch_size: 8" or "batch_size = 8"; empty: the line has no such name.
std::string_view name_before(std::string_view line, char mark) {
  const std::size_t end = line.find(mark);
  if (end == std::string_view::npos) return {};
  const std::string_view name = trim(line.substr(0, end));
  const bool is_name = std::ranges::all_of(
      name, [](char letter) { return is_word(letter) || std::string_view("-.\"'/").contains(letter); });
  return is_name ? name : std::string_view();
}

// In a section a name stands once: what is repeated is printed by a loop.
bool is_toml_settings(std::string_view text) {
  Names names;
  std::set<std::string, std::less<>> seen;
  std::string section;
  const bool all = every_line(text, [&](std::string_view, std::string_view words) {
    if (words.front() == '[' && words.back() == ']') {
      section = words;
      return true;
    }
    const std::string_view name = name_before(words, '=');
    const std::string_view value = name.empty() ? name : trim(words.substr(words.find('=') + 1));
    if (name.empty() || value.empty()) return false;
    return names.add(name, is_digit(value.front())) && seen.insert(section + "." + std::string(name)).second;
  });
  return all && names.are_settings(section.empty() ? 2 : 1);
}

bool is_yaml_settings(std::string_view text) {
  Names names;
  std::set<std::string, std::less<>> seen;  // names of the outermost level
  const bool all = every_line(text, [&](std::string_view line, std::string_view words) {
    if (words == "---" || words == "...") return true;
    const bool is_inner = is_blank(line.front());
    bool is_item = false;
    while (words.starts_with("- ")) {
      words = trim(words.substr(2));
      is_item = true;
    }
    const std::string_view name = name_before(words, ':');
    if (name.empty()) return is_item;
    const std::string_view rest = words.substr(words.find(':') + 1);
    if (!rest.empty() && !is_blank(rest.front())) return is_item;  // "http://"
    const std::string_view value = trim(rest);
    if (!names.add(name, !value.empty() && is_digit(value.front()))) return false;
    return is_inner || is_item || seen.insert(std::string(name)).second;
  });
  return all && names.are_settings(2);
}

// YAML, TOML, INI or one JSON object, whose names are those of trainings and models.
bool is_settings_text(std::string_view text) {
  // argparse's, by itself: "Namespace(lr=0.001, epochs=10)"
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  if (text.starts_with("Namespace(") && text.find(')') == last) return true;
  return is_json_settings(text) || is_toml_settings(text) || is_yaml_settings(text);
}

// What `pip install -r` takes, with a version for one package at least.
bool is_packages_text(std::string_view text) {
  bool has_version = false;
  const bool all = every_line(text, [&](std::string_view, std::string_view words) {
    if (words.starts_with("-") || words.starts_with("git+")) {
      return words.starts_with("-r ") || words.starts_with("-c ") || words.starts_with("-e ") ||
             words.starts_with("--") || words.starts_with("git+");
    }
    const auto of_name = [](char letter) { return is_word(letter) || std::string_view("-.").contains(letter); };
    auto at = std::ranges::find_if_not(words, of_name);
    if (at == words.begin()) return false;
    std::string_view rest = trim(words.substr(static_cast<std::size_t>(at - words.begin())));
    if (rest.starts_with('[')) rest = trim(rest.substr(std::min(rest.find(']'), rest.size() - 1) + 1));
    rest = trim(rest.substr(0, std::min(rest.find_first_of(";#"), rest.size())));
    if (rest.empty()) return true;
    if (rest.starts_with("@ ")) return true;
    const std::size_t version = rest.find_first_not_of("=<>!~ ");
    const bool is_version = version != std::string_view::npos && version > 0 && is_digit(rest[version]) &&
                            rest.find_first_of(" ", version) == std::string_view::npos &&
                            rest.substr(0, version).find_first_of("=<>") != std::string_view::npos &&
                            trim(rest.substr(0, version)) != "=";
    has_version |= is_version;
    return is_version;
  });
  return all && has_version;
}

}  // namespace

model::SettingsIn judge_settings(std::string_view text) {
  if (is_packages_text(text)) return model::SettingsIn::kPackages;
  return is_settings_text(text) ? model::SettingsIn::kSettings : model::SettingsIn::kNone;
}

}  // namespace vramfit::ingest
