#include "virtual_gpu/host/faults.h"

#include <dlfcn.h>

#include <atomic>
#include <cerrno>
#include <mutex>

namespace vramfit::host {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS};

using Sigaction = int (*)(int, const struct sigaction*, struct sigaction*);

std::atomic<Mend> mending{nullptr};
struct sigaction own_actions[NSIG];  // the program's, indexed by signal

// libc's own: ours stands before it. Not RTLD_NEXT: in the order of symbols libc comes before this library.
Sigaction real_sigaction() {
  static const Sigaction kReal = [] {
    void* libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    return libc != nullptr ? reinterpret_cast<Sigaction>(dlsym(libc, "sigaction")) : nullptr;
  }();
  return kReal;
}

void pass_on(int signal, siginfo_t* info, void* context) {
  const struct sigaction& own = own_actions[signal];
  if ((own.sa_flags & SA_SIGINFO) != 0 && own.sa_sigaction != nullptr) return own.sa_sigaction(signal, info, context);
  if (own.sa_handler == SIG_DFL || own.sa_handler == SIG_IGN) {
    struct sigaction default_action {};
    default_action.sa_handler = SIG_DFL;
    real_sigaction()(signal, &default_action, nullptr);  // the access is tried again, and ends the process
    return;
  }
  own.sa_handler(signal);
}

void on_signal(int signal, siginfo_t* info, void* context) {
  const int kept = errno;
  const Mend mend = mending.load(std::memory_order_acquire);
  const bool is_access = info != nullptr && info->si_code > 0;  // not one that somebody sent
  const bool mended = mend != nullptr && is_access && mend(reinterpret_cast<uintptr_t>(info->si_addr));
  errno = kept;
  if (!mended) pass_on(signal, info, context);
}

bool install() {
  for (const int signal : kSignals) {
    struct sigaction action {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    if (real_sigaction() == nullptr || real_sigaction()(signal, &action, &own_actions[signal]) != 0) return false;
  }
  return true;
}

}  // namespace

bool watch_faults(Mend mend) {
  static std::mutex lock;
  const std::lock_guard guard(lock);
  if (mending.load() != nullptr) return true;
  if (!install()) return false;
  mending = mend;
  return true;
}

bool first_fault_at(uintptr_t address) {
  thread_local uintptr_t last = 0;
  const bool first = last != address;
  last = address;
  return first;
}

bool is_watched(int signal) { return mending.load() != nullptr && (signal == SIGSEGV || signal == SIGBUS); }

int set_own_action(int signal, const struct sigaction* next, struct sigaction* before) {
  if (before != nullptr) *before = own_actions[signal];
  if (next != nullptr) own_actions[signal] = *next;
  return 0;
}

}  // namespace vramfit::host
