#include "real_watch.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <optional>
#include <string>

#include "real_card.h"
#include "reserved_book.h"
#include "vramfit/recording.h"

namespace vramfit::recorder {

namespace {

constexpr int kMostCards = 64;
// A look takes a driver some 10 us to some ms. All of them together take no more than this share of the job's time...
constexpr int64_t kShare = 50;
// ... but for those at a new height of the reservation: some 700 of them between the first segment and a full card.
constexpr int64_t kNewHeight = 64;

using Emit = void (*)(uint8_t, uint8_t, uint64_t, int64_t, int64_t, int64_t, const char*);
using Note = void (*)(const char*);

int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::string quoted(const std::string& text) {
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') json += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) json += c;
  }
  return json + '"';
}

// Guarded by `Watch::lock`, but for the two that every block looks at.
struct WatchedCard {
  std::atomic<int64_t> told_reserved{-1};
  std::atomic<bool> has_news{false};  // something was given or taken back since

  ReservedBook book;
  std::optional<RealCard> card;  // none yet, or the driver does not tell
  bool was_asked = false;
  bool tells_own = false;          // NVML lists this process
  std::optional<int64_t> outside;  // of PyTorch's memory, held by this process; as it was recorded last
  int64_t used = -1;
  int64_t highest = -1;  // reservation that was looked at
  int64_t next_look_ns = 0;
};

struct Watch {
  std::mutex lock;
  std::array<WatchedCard, kMostCards> cards;
  std::atomic<int> mallocs_under_way{0};
  std::atomic<int64_t> mallocs{0};
  pid_t process = getpid();  // NVML and the driver do not follow a fork
};

// A process that no card was used by has no watch yet, and its forks may use one.
constinit std::atomic<bool> knows_card{false};

// Never destroyed: PyTorch may free memory while the process ends.
Watch& watch() {
  static auto* const the_watch = new Watch;
  return *the_watch;
}

void emit(uint8_t kind, int device, int64_t size, int64_t used, const char* text) {
  static const auto call = reinterpret_cast<Emit>(dlsym(RTLD_DEFAULT, "vramfit_emit"));
  if (call != nullptr) call(kind, static_cast<uint8_t>(device), 0, size, used, 0, text);
}

void tell(int device, const RealCard& card, bool tells_own) {
  static const auto note = reinterpret_cast<Note>(dlsym(RTLD_DEFAULT, "vramfit_note"));
  if (note == nullptr) return;
  const std::string json = R"({"kind":"real_card","device":)" + std::to_string(device) + R"(,"name":)" +
                           quoted(card.name) + R"(,"uuid":)" + quoted(card.uuid) + R"(,"driver":)" +
                           quoted(card.driver) + R"(,"total_bytes":)" + std::to_string(card.total_bytes) +
                           R"(,"tells_own":)" + (tells_own ? "true" : "false") + "}";
  note(json.c_str());
}

void last_look();

// What PyTorch has reserved by the time of the look may not be known yet: then the look tells nothing.
std::optional<CardLook> look_undisturbed(const WatchedCard& of) {
  const int64_t before = watch().mallocs.load();
  if (watch().mallocs_under_way.load() > 0) return std::nullopt;
  auto found = look_at(*of.card);
  if (watch().mallocs.load() != before || watch().mallocs_under_way.load() > 0) return std::nullopt;
  return found;
}

void record(int device, WatchedCard& of, const CardLook& look) {
  const bool is_used_anew = look.used != of.used;
  of.used = look.used;
  const int64_t outside = look.own.value_or(-1) - of.book.reserved();
  if (!of.tells_own || outside < 0) {
    if (is_used_anew) emit(VF_RECORD_LIBRARY, device, 0, look.used, nullptr);
    return;
  }
  if (!of.outside) {
    emit(VF_RECORD_CONTEXT, device, outside, look.used, nullptr);
  } else if (outside != *of.outside || is_used_anew) {
    emit(VF_RECORD_LIBRARY, device, outside - *of.outside, look.used, "kernels and libraries");
  }
  of.outside = outside;
}

void ask(int device, WatchedCard& of) {
  of.was_asked = true;
  of.card = find_real_card(device);
  if (!of.card) return;
  const auto first = look_at(*of.card);
  // Less than PyTorch's memory: a number that is another process's, in another namespace.
  of.tells_own = first && first->own && *first->own >= of.book.reserved();
  tell(device, *of.card, of.tells_own);
  if (!knows_card.exchange(true)) std::atexit(last_look);
}

void look(int device, WatchedCard& of) {
  const int64_t begun = now_ns();
  if (!of.was_asked) ask(device, of);
  of.highest = std::max(of.highest, of.book.reserved());
  if (!of.card || of.card->handle == nullptr) return;
  if (const auto found = look_undisturbed(of)) record(device, of, *found);
  const int64_t ended = now_ns();
  of.next_look_ns = ended + kShare * (ended - begun);
}

void look_at_all(bool at_any_cost) {
  for (int device = 0; device < kMostCards; ++device) {
    WatchedCard& of = watch().cards[static_cast<size_t>(device)];
    if (!of.was_asked) continue;
    if (at_any_cost || (of.book.is_settled() && now_ns() >= of.next_look_ns)) look(device, of);
  }
}

// Kernels that were loaded since the last step. Registered after CUDA's own handlers, so called before them.
void last_look() {
  if (getpid() != watch().process) return;
  const std::unique_lock guard(watch().lock, std::try_to_lock);
  if (guard.owns_lock()) look_at_all(true);
}

WatchedCard* card_of(int device) {
  if (device < 0 || device >= kMostCards || getpid() != watch().process) return nullptr;
  return &watch().cards[static_cast<size_t>(device)];
}

}  // namespace

void malloc_begins() {
  watch().mallocs_under_way.fetch_add(1);
  watch().mallocs.fetch_add(1);
}

void malloc_ends(int device, uint64_t address, int64_t size) {
  if (WatchedCard* of = size > 0 ? card_of(device) : nullptr) {
    const std::lock_guard guard(watch().lock);
    of->book.given(address, size);
    of->has_news.store(true);
  }
  watch().mallocs_under_way.fetch_sub(1);
}

void segment_freed(int device, uint64_t address, int64_t size) {
  WatchedCard* of = card_of(device);
  if (of == nullptr) return;
  const std::lock_guard guard(watch().lock);
  of->book.taken_back(address, size);
  of->has_news.store(true);
}

}  // namespace vramfit::recorder

using vramfit::recorder::WatchedCard;

extern "C" __attribute__((visibility("default"))) void vramfit_real_block(uint32_t device, int64_t reserved) {
  namespace recorder = vramfit::recorder;
  if (device >= recorder::kMostCards) return;
  WatchedCard& of = recorder::watch().cards[device];
  if (of.told_reserved.load(std::memory_order_relaxed) == reserved && !of.has_news.load(std::memory_order_relaxed)) {
    return;
  }
  if (getpid() != recorder::watch().process) return;
  const std::lock_guard guard(recorder::watch().lock);
  of.has_news.store(false);
  of.told_reserved.store(reserved);
  of.book.report(reserved);
  const bool is_new_height = reserved > of.highest + std::max<int64_t>(of.highest, 0) / recorder::kNewHeight;
  if (is_new_height || recorder::now_ns() >= of.next_look_ns) recorder::look(static_cast<int>(device), of);
}

extern "C" __attribute__((visibility("default"))) void vramfit_real_moment() {
  namespace recorder = vramfit::recorder;
  if (!recorder::knows_card.load(std::memory_order_relaxed)) return;
  if (getpid() != recorder::watch().process) return;
  const std::lock_guard guard(recorder::watch().lock);
  recorder::look_at_all(false);
}
