#include "watch/alert.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <mutex>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/nearest_word.h"
#include "base/subprocess.h"

namespace vramfit::watch {

using Quantity = AlertRule::Quantity;

namespace {

struct Named {
  std::string_view name;
  Quantity quantity;
  bool of_host;
  bool in_bytes;   // a limit without a unit is refused unless it is a count
  bool has_whole;  // % makes sense
  std::string_view unit;
};
constexpr std::array kNames = {
    Named{"mem", Quantity::kMemory, false, true, true, ""},
    Named{"free", Quantity::kFree, false, true, true, ""},
    Named{"busy", Quantity::kBusy, false, false, true, " %"},
    Named{"temp", Quantity::kTemperature, false, false, false, " C"},
    Named{"power", Quantity::kPower, false, false, true, " W"},
    Named{"unexplained", Quantity::kUnexplained, false, true, false, ""},
    Named{"ecc", Quantity::kEcc, false, false, false, " errors"},
    Named{"lost", Quantity::kLost, false, false, false, ""},
    Named{"ram", Quantity::kHostMemory, true, true, true, ""},
    Named{"shm", Quantity::kShm, true, true, true, ""},
    Named{"zombies", Quantity::kZombies, true, false, false, " processes"},
};

const Named& named(Quantity quantity) { return *std::ranges::find(kNames, quantity, &Named::quantity); }

std::string_view trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  return text;
}

std::optional<double> take_number(std::string_view& text) {
  double number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{} || !std::isfinite(number) || number < 0) return std::nullopt;  // it reads "nan" and "inf"
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  text = trim(text);
  return number;
}

std::unexpected<base::Error> refuse(std::string_view text, std::string what) {
  return base::fail(
      base::ErrorCode::kUsage, std::move(what), fmt::format("--alert \"{}\"", text),
      "QUANTITY > LIMIT for TIME, as \"mem>90% for 30s\", \"free<2GiB\", \"temp>85 for 1min\"; quantities: "
      "mem free busy temp power unexplained ecc lost ram shm zombies");
}

std::string no_quantity(std::string_view word) {
  std::vector<std::string> known;
  for (const Named& one : kNames) known.emplace_back(one.name);
  return fmt::format("no quantity \"{}\"{}", word, base::did_you_mean(word, known));
}

// The limit of a rule whose quantity is known.
bool read_limit(std::string_view text, const Named& name, AlertRule& rule) {
  std::string_view rest = text;
  const auto number = take_number(rest);
  if (!number) return false;
  rule.limit = *number;
  if (rest == "%") {
    rule.percent = name.has_whole;
    return name.has_whole;
  }
  if (name.quantity == Quantity::kBusy) rule.percent = true;
  if (name.in_bytes) {
    if (rest.empty()) return false;  // "mem>90" could be either
    const auto bytes = base::parse_bytes(text);
    if (bytes) rule.limit = static_cast<double>(bytes->count());
    return bytes.has_value();
  }
  return rest.empty() || rest == trim(name.unit);
}

}  // namespace

base::Result<std::int64_t> parse_duration(std::string_view text) {
  std::string_view rest = trim(text);
  const auto number = take_number(rest);
  static constexpr std::array<std::pair<std::string_view, double>, 9> kUnits = {{{"", 1e9},
                                                                                 {"s", 1e9},
                                                                                 {"ms", 1e6},
                                                                                 {"us", 1e3},
                                                                                 {"m", 60e9},
                                                                                 {"min", 60e9},
                                                                                 {"h", 3600e9},
                                                                                 {"d", 86400e9},
                                                                                 {"sec", 1e9}}};
  const auto unit = std::ranges::find(kUnits, rest, &std::pair<std::string_view, double>::first);
  constexpr double kMostSeconds = 1e9;
  if (!number || unit == kUnits.end() || *number * unit->second > kMostSeconds * 1e9) {
    return base::fail(base::ErrorCode::kUsage, fmt::format("not a duration: \"{}\"", text), "",
                      "a number and ms, s, min or h: 500ms, 2s, 1.5min");
  }
  return static_cast<std::int64_t>(*number * unit->second);
}

base::Result<AlertRule> parse_alert(std::string_view text) {
  AlertRule rule{.text = std::string(trim(text))};
  std::string_view rest = rule.text;
  std::size_t letters = 0;
  while (letters < rest.size() && std::isalpha(static_cast<unsigned char>(rest[letters])) != 0) ++letters;
  const auto name = std::ranges::find(kNames, rest.substr(0, letters), &Named::name);
  if (name == kNames.end()) return refuse(text, no_quantity(rest.substr(0, letters)));
  rule.quantity = name->quantity;
  rest = trim(rest.substr(letters));
  if (const std::size_t at = rest.find(" for "); at != std::string_view::npos) {
    const auto hold = parse_duration(rest.substr(at + 5));
    if (!hold) return refuse(text, hold.error().what);
    rule.hold_ns = *hold;
    rest = trim(rest.substr(0, at));
  }
  if (rest.empty() && rule.quantity == Quantity::kLost) {
    rule.limit = 0;
    return rule;
  }
  if (rest.empty() || (rest.front() != '>' && rest.front() != '<')) return refuse(text, "neither > nor <");
  rule.above = rest.front() == '>';
  rest.remove_prefix(1);
  rule.or_equal = rest.starts_with('=');
  if (rule.or_equal) rest.remove_prefix(1);
  if (!read_limit(trim(rest), *name, rule)) {
    return refuse(text, fmt::format("not a limit for {}: \"{}\"", name->name, trim(rest)));
  }
  return rule;
}

namespace {

std::optional<double> share(const model::Reading& part, const model::Reading& whole, bool percent) {
  if (!part) return std::nullopt;
  if (!percent) return static_cast<double>(*part);
  if (!whole || *whole <= 0) return std::nullopt;
  return 100.0 * static_cast<double>(*part) / static_cast<double>(*whole);
}

std::optional<double> scaled(const std::optional<double>& value, double factor) {
  return value ? std::optional(*value * factor) : value;
}

std::optional<double> of_card(const AlertRule& rule, const model::CardReading& card) {
  switch (rule.quantity) {
    case Quantity::kMemory:
      return share(card.used_bytes, card.total_bytes, rule.percent);
    case Quantity::kFree:
      return share(card.free_bytes, card.total_bytes, rule.percent);
    case Quantity::kBusy:
      return share(card.gpu_percent, {}, false);
    case Quantity::kTemperature:
      return share(card.temperature_celsius, {}, false);
    case Quantity::kPower:
      return rule.percent ? share(card.power_milliwatts, card.power_limit_milliwatts, true)
                          : scaled(share(card.power_milliwatts, {}, false), 1e-3);
    case Quantity::kUnexplained:
      return share(card.unexplained_bytes, {}, false);
    case Quantity::kEcc:
      return share(card.ecc_uncorrected, {}, false);
    case Quantity::kLost:
      return card.problem.empty() ? 0 : 1;
    default:
      return std::nullopt;
  }
}

std::optional<double> of_host(const AlertRule& rule, const model::MachineSample& sample) {
  const model::HostReading& host = sample.host;
  switch (rule.quantity) {
    case Quantity::kHostMemory: {
      if (!host.memory_total_bytes || !host.memory_available_bytes) return std::nullopt;
      return share(*host.memory_total_bytes - *host.memory_available_bytes, host.memory_total_bytes, rule.percent);
    }
    case Quantity::kShm:
      return share(host.shm_used_bytes, host.shm_total_bytes, rule.percent);
    case Quantity::kZombies:
      return static_cast<double>(
          std::ranges::count(sample.processes, model::ProcessState::kZombie, &model::ProcessReading::state));
    default:
      return std::nullopt;
  }
}

bool holds(const AlertRule& rule, double value) {
  if (rule.or_equal && value == rule.limit) return true;
  return rule.above ? value > rule.limit : value < rule.limit;
}

std::string value_text(const AlertRule& rule, double value) {
  const Named& name = named(rule.quantity);
  if (rule.percent) return fmt::format("{:.0f} %", value);
  if (name.in_bytes) return base::to_string(base::Bytes(static_cast<std::int64_t>(value)));
  return fmt::format("{:.0f}{}", value, name.unit);
}

// What a rule looks at: the host once, or each card.
struct Target {
  std::string card, name;
  std::optional<double> value;
};

std::vector<Target> targets_of(const AlertRule& rule, const model::MachineSample& sample) {
  if (named(rule.quantity).of_host) return {{"", "host", of_host(rule, sample)}};
  std::vector<Target> targets;
  if (rule.quantity == Quantity::kLost) targets.push_back({"", "driver", sample.driver.answers ? 0 : 1});
  for (const auto& card : sample.cards) {
    std::string name = card.index ? fmt::format("GPU {}", *card.index) : card.uuid.substr(0, 12);
    targets.push_back({card.uuid, std::move(name), of_card(rule, card)});
  }
  return targets;
}

}  // namespace

std::vector<Alert> AlertWatch::look(const model::MachineSample& sample, std::int64_t now_ns) {
  std::vector<Alert> alerts;
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const AlertRule& rule = rules_[i];
    for (const Target& target : targets_of(rule, sample)) {
      const auto key = std::pair(i, target.card);
      if (target.value && !holds(rule, *target.value)) breaches_.erase(key);
      if (target.value && holds(rule, *target.value)) {
        breaches_.try_emplace(key, Breach{.since_ns = now_ns}).first->second.value = *target.value;
      }
      const auto breach = breaches_.find(key);
      if (breach == breaches_.end() || now_ns - breach->second.since_ns < rule.hold_ns) continue;
      Alert alert{.rule = rule.text, .card = target.card, .name = target.name, .value = breach->second.value};
      alert.is_new = !std::exchange(breach->second.fired, true);
      alert.text = rule.quantity == Quantity::kLost
                       ? fmt::format("{}: does not answer", target.name)
                       : fmt::format("{}: {} is {} ({})", target.name, named(rule.quantity).name,
                                     value_text(rule, alert.value), rule.text);
      alerts.push_back(std::move(alert));
    }
  }
  return alerts;
}

namespace {

std::mutex commands_lock;
std::vector<pid_t> commands;

}  // namespace

base::Result<void> run_alert_command(const std::string& command, const Alert& alert) {
  base::Environment environment = base::current_environment();
  environment["VRAMFIT_ALERT"] = alert.rule;
  environment["VRAMFIT_ALERT_CARD"] = alert.card;
  environment["VRAMFIT_ALERT_NAME"] = alert.name;
  environment["VRAMFIT_ALERT_VALUE"] = fmt::format("{:.10g}", alert.value);
  environment["VRAMFIT_ALERT_TEXT"] = alert.text;
  std::vector<std::string> assignments;
  for (const auto& [name, value] : environment) assignments.push_back(name + "=" + value);
  std::vector<char*> variables;
  for (auto& one : assignments) variables.push_back(one.data());
  variables.push_back(nullptr);
  std::string shell = "sh", option = "-c", text = command;
  char* words[] = {shell.data(), option.data(), text.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // The screen is ours: what the command prints would tear it.
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = -1;
  const int problem = ::posix_spawn(&pid, "/bin/sh", &actions, nullptr, words, variables.data());
  posix_spawn_file_actions_destroy(&actions);
  if (problem != 0) {
    errno = problem;
    return base::fail_errno("cannot run the alert's command", command);
  }
  const std::lock_guard guard(commands_lock);
  commands.push_back(pid);
  return {};
}

void reap_alert_commands() {
  const std::lock_guard guard(commands_lock);
  std::erase_if(commands, [](pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) != 0; });
}

}  // namespace vramfit::watch
