#include "virtual_gpu/nvml/script.h"

#include <sys/stat.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <tuple>

namespace vramfit::nvml {
namespace {

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
