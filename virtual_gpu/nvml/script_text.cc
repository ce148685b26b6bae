// The text of a script: lines to values. The file and the moment are script.cc's.
#include <charconv>
#include <sstream>

#include "virtual_gpu/nvml/script.h"

namespace vramfit::nvml {
namespace {

std::optional<uint64_t> to_number(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

std::vector<std::string> split(const std::string& text, char mark) {
  std::vector<std::string> pieces;
  std::istringstream in(text);
  for (std::string piece; std::getline(in, piece, mark);) {
    if (!piece.empty()) pieces.push_back(piece);
  }
  return pieces;
}

void read_slices(const std::vector<std::string>& words, ScriptedCard& card) {
  for (size_t i = 2; i < words.size() && card.slices.size() < kMostSlices; ++i) {
    const auto parts = split(words[i], ':');
    if (parts.size() != 3) continue;
    card.slices.push_back({parts[0], to_number(parts[1]).value_or(0), to_number(parts[2]).value_or(0)});
  }
}

void read_process(const std::vector<std::string>& words, ScriptedCard& card) {
  if (words.size() < 4 || !to_number(words[2])) return;
  ScriptedProcess process{.pid = static_cast<uint32_t>(*to_number(words[2]))};
  process.used_bytes = words[3] == "unknown" ? ~uint64_t{0} : to_number(words[3]).value_or(0);
  if (words.size() >= 6) {
    process.gpu_instance = static_cast<uint32_t>(to_number(words[4]).value_or(0));
    process.compute_instance = static_cast<uint32_t>(to_number(words[5]).value_or(0));
  }
  card.processes.push_back(process);
}

void read_card(const std::vector<std::string>& words, ScriptedCard& card) {
  const std::string& what = words[1];
  const bool has_number = words.size() > 2 && to_number(words[2]).has_value();
  const int64_t number = has_number ? static_cast<int64_t>(to_number(words[2]).value_or(0)) : 0;
  if (what == "lost") {
    card.answer = kGpuIsLost;
  } else if (what == "reset") {
    card.answer = kResetRequired;
  } else if (what == "denied") {
    card.process_answer = kNoPermission;
  } else if (what == "old") {
    card.old = true;
  } else if (what == "mig") {
    read_slices(words, card);
  } else if (what == "process") {
    read_process(words, card);
  } else if (what == "hidden" && has_number) {
    card.hidden_bytes = number;
  } else if (has_number) {
    card.readings[what] = number;
  }
}

}  // namespace

Script parse_script(std::string_view text) {
  Script script;
  for (const std::string& line : split(std::string(text), '\n')) {
    const auto words = split(line, ' ');
    if (words.size() < 2) continue;
    if (words[0] == "driver") script.driver = words[1] == "mismatch" ? kVersionMismatch : kDriverNotLoaded;
    const auto card = to_number(words[0]);
    if (card && *card < VF_MAX_CARDS) read_card(words, script.cards[static_cast<int>(*card)]);
  }
  return script;
}

int64_t ScriptedCard::extra_bytes() const {
  int64_t bytes = hidden_bytes;
  for (const ScriptedProcess& process : processes) {
    if (process.used_bytes != ~uint64_t{0}) bytes += static_cast<int64_t>(process.used_bytes);
  }
  return bytes;
}

std::optional<int64_t> ScriptedCard::reading(std::string_view name) const {
  const auto found = readings.find(name);
  return found == readings.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace vramfit::nvml
