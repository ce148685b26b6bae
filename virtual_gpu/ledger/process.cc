#include "virtual_gpu/ledger/process.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "virtual_gpu/ledger/accounts.h"
#include "virtual_gpu/ledger/visible.h"

namespace vramfit::ledger {
namespace {

// Never destroyed: other libraries' destructors may still call CUDA.
struct Attachment {
  std::mutex attaching;
  std::atomic<State> state{State::kNoLedger};
  pid_t ending_thread = 0;  // set before kEnded
  std::atomic<vf_ledger*> observed{nullptr};
  std::string observed_path;
  std::string why = "no virtual card: VRAMFIT_LEDGER is not set (run the program with `vramfit run`)";
  Process process;
};

Attachment& attachment() {
  static auto* const kAttachment = new Attachment;
  return *kAttachment;
}

// Only a process that had initialised CUDA is spoilt by a fork. Another may get a ledger of its own.
void spoil_child() {
  Attachment& self = attachment();
  new (&self.attaching) std::mutex;  // another thread may have held it
  if (self.state != State::kReady) return;
  self.state = State::kForked;
  self.why = "CUDA was initialised before this process was forked";
}

// Runs before any thread can hold what is made anew: a fork beside a first call would leave its child a lock of
// nobody's.
__attribute__((constructor)) void follow_forks() {
  attachment();
  pthread_atfork(nullptr, nullptr, spoil_child);
}

vf_ledger* map_ledger(const char* path, std::string& why) {
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) {
    why = std::string("no virtual card: cannot open the ledger ") + path;
    return nullptr;
  }
  struct stat status = {};
  void* address = MAP_FAILED;
  if (fstat(file, &status) == 0 && status.st_size >= static_cast<off_t>(sizeof(vf_ledger))) {
    address = mmap(nullptr, sizeof(vf_ledger), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  close(file);
  auto* ledger = address == MAP_FAILED ? nullptr : static_cast<vf_ledger*>(address);
  if (ledger == nullptr || ledger->magic != VF_LEDGER_MAGIC || ledger->version != VF_LEDGER_VERSION) {
    why = std::string("no virtual card: not a ledger of this version: ") + path;
    if (ledger != nullptr) munmap(address, sizeof(vf_ledger));
    return nullptr;
  }
  return ledger;
}

// A forked child may have been given another ledger than the one its parent looked at.
vf_ledger* map_current(Attachment& self) {
  const char* path = std::getenv(VF_ENV_LEDGER);
  if (path == nullptr || *path == '\0') return nullptr;
  if (self.observed != nullptr && self.observed_path == path) return self.observed;
  vf_ledger* ledger = map_ledger(path, self.why);
  if (ledger == nullptr) return nullptr;
  self.observed_path = path;
  self.observed = ledger;  // an older mapping stays: another thread may be reading it
  return ledger;
}

State attach(Attachment& self) {
  vf_ledger* ledger = map_current(self);
  if (ledger == nullptr) return State::kNoLedger;
  std::vector<int> cards = visible_cards(*ledger, std::getenv("CUDA_VISIBLE_DEVICES"));
  if (cards.empty()) {
    self.why = "CUDA_VISIBLE_DEVICES hides every virtual card";
    return State::kNoCard;
  }
  const Lock lock(*ledger);
  const int slot = claim_slot(lock, *ledger, getpid());
  if (slot == kNoSlot) {
    self.why = "too many processes on the virtual card";
    return State::kNoLedger;
  }
  self.process = Process{.ledger = ledger, .slot = slot, .cards = std::move(cards)};
  self.why.clear();
  return State::kReady;
}

// gettid came with glibc 2.30; wheels run on older ones.
pid_t own_thread() { return static_cast<pid_t>(syscall(SYS_gettid)); }

// A process that ends in order gives its memory back at once; of any other, whoever needs room reclaims it. The slot's
// number is kept: a thread that is in the middle of a call writes into a slot that nobody reads, not before all slots.
__attribute__((destructor)) void leave() {
  Attachment& self = attachment();
  if (self.state != State::kReady || self.process.ledger->processes[self.process.slot].pid != getpid()) return;
  self.ending_thread = own_thread();
  self.state = State::kEnded;
  // An end waits for nobody for long: what is not given back is reclaimed as that of a process that was killed.
  const Lock lock(*self.process.ledger, Lock::Wait::kBriefly);
  if (lock.is_held()) release_slot(lock, *self.process.ledger, self.process.slot);
}

// Destructors of libraries run last of all. A thread that is still at work (a watchdog, a loader's pin thread) would
// take any error for a failure of the job and abort it: it waits for the end instead. That doesn't come where a library
// that is unloaded after this one joins the thread: it gets its error then.
State after_end(const Attachment& self) {
  thread_local int naps = 0;
  const timespec length = {.tv_sec = 0, .tv_nsec = kNapNs};
  for (; own_thread() != self.ending_thread && naps < kMostNaps; ++naps) nanosleep(&length, nullptr);
  return State::kEnded;
}

}  // namespace

State state() {
  Attachment& self = attachment();
  State now = self.state.load(std::memory_order_acquire);
  if (now == State::kReady || now == State::kForked) return now;
  if (now == State::kEnded) return after_end(self);
  const std::lock_guard guard(self.attaching);
  now = self.state.load(std::memory_order_acquire);
  if (now == State::kReady || now == State::kForked || self.process.ledger != nullptr) return now;
  now = attach(self);
  self.state.store(now, std::memory_order_release);
  return now;
}

std::string why_unusable() {
  if (state() == State::kReady) return {};
  Attachment& self = attachment();
  const std::lock_guard guard(self.attaching);  // another thread may be finding a new reason
  return self.why;
}

const Process* attached() { return state() == State::kReady ? &attachment().process : nullptr; }

const Process* attached_once() {
  const State now = state();
  return now == State::kReady || now == State::kEnded ? &attachment().process : nullptr;
}

const vf_ledger* observe() { return mapped(); }

vf_ledger* mapped() {
  Attachment& self = attachment();
  if (self.state.load(std::memory_order_acquire) == State::kReady) return self.process.ledger;
  const std::lock_guard guard(self.attaching);
  return map_current(self);
}

}  // namespace vramfit::ledger
