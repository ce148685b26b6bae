#include "rise_watch.h"

#include <dlfcn.h>

#include <atomic>
#include <limits>

#include "record_file.h"

namespace vramfit::recorder {

namespace {

struct Interpreter {
  int (*call_later)(int (*)(void*), void*) = nullptr;
  void* (*call)(void*, const char*, ...) = nullptr;
  void (*forget_error)() = nullptr;
  void (*release)(void*) = nullptr;

  bool is_complete() const {
    return call_later != nullptr && call != nullptr && forget_error != nullptr && release != nullptr;
  }
};

template <typename Function>
void look_up(Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

const Interpreter& interpreter() {
  static const Interpreter found = [] {
    Interpreter api;
    look_up(api.call_later, "Py_AddPendingCall");
    look_up(api.call, "PyObject_CallFunction");
    look_up(api.forget_error, "PyErr_Clear");
    look_up(api.release, "Py_DecRef");
    return api;
  }();
  return found;
}

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

constinit std::atomic<void*> watcher{nullptr};
constinit std::atomic<int64_t> wanted{kNever}, wanted_late{kNever}, late_from{0};

// Runs in the main thread, with the GIL.
int tell(void*) {
  void* watch = watcher.load();
  if (watch == nullptr) return 0;
  void* answer = interpreter().call(watch, nullptr);
  if (answer == nullptr) {
    interpreter().forget_error();
  } else {
    interpreter().release(answer);
  }
  return 0;
}

}  // namespace

bool watch_rise(void* watch, int64_t bytes, int64_t late_bytes, double seconds) {
  if (!interpreter().is_complete()) return false;
  watcher.store(watch);
  wanted_late.store(kNever);
  late_from.store(monotonic_ns() + static_cast<int64_t>(seconds * 1e9));
  wanted.store(watch != nullptr ? bytes : kNever);
  wanted_late.store(watch != nullptr ? late_bytes : kNever);
  return true;
}

void rises_to(size_t allocated) {
  const auto level = static_cast<int64_t>(allocated);
  const int64_t late = wanted_late.load(std::memory_order_relaxed);
  if (level <= late && level <= wanted.load(std::memory_order_relaxed)) return;
  if (level <= wanted.load(std::memory_order_relaxed) && monotonic_ns() < late_from.load(std::memory_order_relaxed))
    return;
  if (wanted.exchange(kNever) == kNever) return;  // another thread was first
  wanted_late.store(kNever);
  interpreter().call_later(tell, nullptr);
}

}  // namespace vramfit::recorder
