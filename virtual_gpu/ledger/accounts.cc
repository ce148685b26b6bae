#include "virtual_gpu/ledger/accounts.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

namespace vramfit::ledger {
namespace {

// Recorders read it without the lock.
void set_used(vf_card_use& use, int64_t bytes) { __atomic_store_n(&use.used_bytes, bytes, __ATOMIC_RELAXED); }

void recompute_used(vf_ledger& ledger) {
  for (uint32_t card = 0; card < ledger.card_count; ++card) {
    int64_t sum = ledger.cards[card].occupied_bytes;
    for (const vf_process& process : ledger.processes) sum += process.pid != 0 ? process.used_bytes[card] : 0;
    set_used(ledger.use[card], sum);
  }
}

// Peaks stay readable until the slot is used again.
void empty_slot(vf_ledger& ledger, vf_process& process) {
  for (uint32_t card = 0; card < ledger.card_count; ++card) {
    set_used(ledger.use[card], ledger.use[card].used_bytes - process.used_bytes[card]);
    process.used_bytes[card] = 0;
    process.context_bytes[card] = 0;
    process.library_bytes[card] = 0;
  }
  process.pid = 0;
}

// `living`: a slot that need not be asked about.
int reclaim(vf_ledger& ledger, int living = kNoSlot) {
  int dead = 0;
  for (vf_process& process : ledger.processes) {
    if (process.pid == 0 || (living != kNoSlot && &process == &ledger.processes[living])) continue;
    if (!has_ended(process)) continue;
    empty_slot(ledger, process);
    ++dead;
  }
  return dead;
}

// A slot nobody had yet is better than a used one, whose peaks may still be wanted.
int find_free_slot(const vf_ledger& ledger) {
  int used_before = kNoSlot;
  for (int slot = 0; slot < VF_MAX_PROCESSES; ++slot) {
    if (ledger.processes[slot].pid != 0) continue;
    if (ledger.processes[slot].started == 0) return slot;
    if (used_before == kNoSlot) used_before = slot;
  }
  return used_before;
}

void add(vf_ledger& ledger, int slot, int card, int64_t bytes) {
  vf_process& process = ledger.processes[slot];
  vf_card_use& use = ledger.use[card];
  process.used_bytes[card] += bytes;
  process.peak_used_bytes[card] = std::max(process.peak_used_bytes[card], process.used_bytes[card]);
  set_used(use, use.used_bytes + bytes);
  use.peak_used_bytes = std::max(use.peak_used_bytes, use.used_bytes);
}

void count_refusal(vf_ledger& ledger, int card, int64_t bytes) {
  vf_card_use& use = ledger.use[card];
  const int64_t free = std::max<int64_t>(0, ledger.cards[card].total_bytes - use.used_bytes);
  if (use.refused == 0 || free < use.smallest_free_bytes_at_refusal) use.smallest_free_bytes_at_refusal = free;
  use.largest_refused_bytes = std::max(use.largest_refused_bytes, bytes);
  ++use.refused;
}

timespec end_of_nap() {
  timespec end = {};
  clock_gettime(CLOCK_REALTIME, &end);  // what pthread_mutex_timedlock goes by
  end.tv_nsec += kNapNs;
  if (end.tv_nsec >= 1'000'000'000) {
    end.tv_nsec -= 1'000'000'000;
    ++end.tv_sec;
  }
  return end;
}

int lock_in_naps(pthread_mutex_t& lock) {
  int error = pthread_mutex_trylock(&lock);
  for (int nap = 0; nap < kMostNaps && (error == EBUSY || error == ETIMEDOUT); ++nap) {
    const timespec end = end_of_nap();
    error = pthread_mutex_timedlock(&lock, &end);
  }
  return error;
}

// Tells once in a process. write(): a thread that was interrupted may be waiting for its own lock.
void tell_of_the_wait() {
  static std::atomic<bool> told{false};
  static constexpr char kText[] =
      "vramfit: the virtual card's accounts are locked for long; a process of the job that was stopped "
      "holds them until it goes on (kill -CONT)\n";
  if (told.exchange(true)) return;
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kText, sizeof kText - 1);
}

}  // namespace

Lock::Lock(vf_ledger& ledger, Wait wait) : ledger_(ledger) {
  int error = lock_in_naps(ledger_.lock);
  if (error == ETIMEDOUT) {
    tell_of_the_wait();
    if (wait == Wait::kBriefly) return;
    error = pthread_mutex_lock(&ledger_.lock);
  }
  is_held_ = true;
  if (error != EOWNERDEAD) return;
  pthread_mutex_consistent(&ledger_.lock);
  reclaim(ledger_);
  recompute_used(ledger_);  // the dead owner may have stopped between two sums
}

Lock::~Lock() {
  if (is_held_) pthread_mutex_unlock(&ledger_.lock);
}

uint32_t start_time_of(pid_t pid) {
  char path[32] = "/proc/";
  char text[512];
  char digits[12];
  int length = 0;
  for (pid_t rest = pid; rest > 0; rest /= 10) digits[length++] = static_cast<char>('0' + rest % 10);
  char* end = std::reverse_copy(digits, digits + length, path + 6);
  std::strcpy(end, "/stat");
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno == ENOENT ? 0 : kUnknownStart;
  const ssize_t got = read(file, text, sizeof text - 1);
  const int problem = errno;
  close(file);
  if (got < 0) return problem == ESRCH ? 0 : kUnknownStart;
  if (got == 0) return 0;
  text[got] = '\0';
  const char* field = std::strrchr(text, ')');  // the name before it may hold anything
  if (field == nullptr || field[1] == '\0' || field[2] == 'Z' || field[2] == 'X') return 0;
  for (int skip = 0; skip < 20 && field != nullptr; ++skip) field = std::strchr(field + 1, ' ');
  if (field == nullptr) return 0;
  const auto started = static_cast<uint32_t>(std::strtoull(field, nullptr, 10));
  return started == 0 ? 1 : started;
}

int claim_slot(const Lock&, vf_ledger& ledger, pid_t pid) {
  // exec keeps the process and takes its memory of the card: what an earlier program of this process had is free.
  for (vf_process& process : ledger.processes) {
    if (process.pid == pid) empty_slot(ledger, process);
  }
  int slot = find_free_slot(ledger);
  if (slot == kNoSlot && reclaim(ledger) > 0) slot = find_free_slot(ledger);
  if (slot == kNoSlot) return kNoSlot;
  vf_process& process = ledger.processes[slot];
  process = vf_process{};
  process.pid = pid;
  process.started = start_time_of(pid);
  return slot;
}

void release_slot(const Lock&, vf_ledger& ledger, int slot) { empty_slot(ledger, ledger.processes[slot]); }

bool has_ended(const vf_process& process) {
  const uint32_t now = start_time_of(process.pid);
  if (now == 0) return true;
  return now != process.started && now != kUnknownStart && process.started != kUnknownStart;
}

int64_t living_bytes(const vf_ledger& ledger, int card) {
  int64_t bytes = ledger.use[card].used_bytes;
  for (const vf_process& process : ledger.processes) {
    if (process.pid != 0 && process.used_bytes[card] > 0 && has_ended(process)) bytes -= process.used_bytes[card];
  }
  return bytes;
}

int reclaim_dead(const Lock&, vf_ledger& ledger) { return reclaim(ledger); }

bool take(const Lock&, vf_ledger& ledger, int slot, int card, int64_t bytes) {
  const vf_card_use& use = ledger.use[card];
  const int64_t total = ledger.cards[card].total_bytes;
  const auto fits = [&] { return bytes <= total && use.used_bytes <= total - bytes; };
  // Children of multiprocessing end without a word (os._exit): what they held must not add to a new peak.
  if (!fits() || use.used_bytes + bytes > use.peak_used_bytes) reclaim(ledger, slot);
  if (!fits()) {
    count_refusal(ledger, card, bytes);
    return false;
  }
  add(ledger, slot, card, bytes);
  return true;
}

void take_oversubscribed(const Lock&, vf_ledger& ledger, int slot, int card, int64_t bytes) {
  add(ledger, slot, card, bytes);
}

void give_back(const Lock&, vf_ledger& ledger, int slot, int card, int64_t bytes) {
  ledger.processes[slot].used_bytes[card] -= bytes;
  set_used(ledger.use[card], ledger.use[card].used_bytes - bytes);
}

int64_t free_bytes(const Lock&, const vf_ledger& ledger, int card) {
  return std::max<int64_t>(0, ledger.cards[card].total_bytes - ledger.use[card].used_bytes);
}

}  // namespace vramfit::ledger
