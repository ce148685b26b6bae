#include "report/watch_csv.h"

#include <span>
#include <string_view>
#include <vector>

#include "report/watch_time.h"

namespace vramfit::report {

namespace {

// What a row is about stands first; after it come all card readings and then those of a process's share.
const std::vector<std::string_view> kFirst = {"at",      "what", "card", "name",   "pid",
                                              "process", "user", "rank", "problem"};

std::string in_quotes(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"') result += '"';
    result += c;
  }
  return result + "\"";
}

std::string joined(const std::vector<std::string>& fields) {
  std::string row;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) row += ',';
    row += in_quotes(fields[i]);
  }
  return row + "\n";
}

template <class Owner>
void append(std::vector<std::string>& row, const Owner* owner, std::span<const model::Field<Owner>> fields) {
  for (const auto& field : fields) {
    const bool known = owner != nullptr && (owner->*field.member);
    row.push_back(known ? std::to_string(*(owner->*field.member)) : std::string());
  }
}

std::vector<std::string> to_row(std::vector<std::string> first, const model::CardReading* card,
                                const model::CardUse* use) {
  append(first, card, model::card_fields());
  append(first, use, model::use_fields());
  return first;
}

}  // namespace

std::string csv_heading() {
  std::vector<std::string> names(kFirst.begin(), kFirst.end());
  for (const auto& field : model::card_fields()) names.emplace_back(field.name);
  for (const auto& field : model::use_fields()) names.push_back("process_" + std::string(field.name));
  return joined(names);
}

std::string machine_to_csv(const model::MachineSample& sample) {
  const std::string at = to_rfc3339(sample.at_unix_ns);
  std::string text;
  for (const auto& card : sample.cards) {
    text += joined(to_row({at, "card", card.uuid, card.name, "", "", "", "", card.problem}, &card, nullptr));
  }
  for (const auto& process : sample.processes) {
    for (const auto& use : process.uses) {
      text += joined(
          to_row({at, "process", use.card, "", std::to_string(process.pid), process.name, process.user, process.rank,
                  process.state == model::ProcessState::kRunning ? std::string()
                                                                 : std::string(model::to_string(process.state))},
                 nullptr, &use));
    }
  }
  return text;
}

}  // namespace vramfit::report
