#include "virtual_gpu/nvml/script.h"

#include <sys/stat.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <sstream>
#include <tuple>

namespace vramfit::nvml {
namespace {

constexpr unsigned kMostSlices = 7;

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

std::string read_file(const char* path) {
  std::string text;
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) return text;
  std::array<char, 4096> piece;
  for (size_t got = 0; (got = std::fread(piece.data(), 1, piece.size(), file)) > 0;) text.append(piece.data(), got);
  std::fclose(file);
  return text;
}

using Stamp = std::tuple<ino_t, off_t, time_t, long>;

// The clock's coarse tick, a few milliseconds: looking at the file more often would cost more than the calls do.
int64_t coarse_now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

struct Cache {
  std::mutex lock;
  int64_t looked_ns = -1;
  Stamp stamp;
  std::shared_ptr<const Script> script = std::make_shared<const Script>();
};

// Never destroyed: other libraries may ask while the process ends.
Cache& cache() {
  static Cache* const kept = new Cache;
  return *kept;
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

std::shared_ptr<const Script> script() {
  static const char* const path = std::getenv("VRAMFIT_NVML_SCRIPT");
  static const auto none = std::make_shared<const Script>();
  if (path == nullptr) return none;
  Cache& kept = cache();
  const std::lock_guard guard(kept.lock);
  const int64_t now = coarse_now_ns();
  if (now == kept.looked_ns) return kept.script;
  kept.looked_ns = now;
  struct stat status {};
  Stamp stamp;
  if (::stat(path, &status) == 0) {
    stamp = {status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
  }
  if (stamp != kept.stamp) {
    kept.stamp = stamp;
    kept.script = std::make_shared<const Script>(parse_script(read_file(path)));
  }
  return kept.script;
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

std::shared_ptr<const ScriptedCard> scripted(int card) {
  static const auto none = std::make_shared<const ScriptedCard>();
  const auto now = script();
  const auto found = now->cards.find(card);
  return found == now->cards.end() ? none : std::shared_ptr<const ScriptedCard>(now, &found->second);
}

int forced_answer(Handle handle) {
  const auto now = script();
  if (now->driver != kSuccess) return ledger_if_initialised() == nullptr ? why_no_ledger() : kUninitialized;
  if (now->cards.empty()) return kSuccess;
  const auto slice = find_slice(handle);
  const auto found = now->cards.find(slice ? slice->card : index_of(handle));
  return found == now->cards.end() ? kSuccess : found->second.answer;
}

std::optional<int64_t> scripted_reading(Handle handle, std::string_view name) {
  const auto now = script();
  const auto found = now->cards.empty() ? now->cards.end() : now->cards.find(index_of(handle));
  return found == now->cards.end() ? std::nullopt : found->second.reading(name);
}

namespace {

// Their addresses are the handles; what they would hold is in the script.
std::array<vf_card, VF_MAX_CARDS * kMostSlices> slice_handles;

}  // namespace

Handle slice_handle(int card, unsigned slice) {
  return &slice_handles[static_cast<size_t>(card) * kMostSlices + slice];
}

std::optional<SliceName> find_slice(Handle handle) {
  const Handle first = slice_handles.data();
  if (handle < first || handle >= first + slice_handles.size()) return std::nullopt;
  const auto at = static_cast<size_t>(handle - first);
  return SliceName{static_cast<int>(at / kMostSlices), static_cast<unsigned>(at % kMostSlices)};
}

}  // namespace vramfit::nvml
