#include "line_watch.h"

#include <dlfcn.h>

#include <cstddef>
#include <unordered_map>
#include <vector>

namespace vramfit::recorder {

namespace {

// Of cpython/pystate.h: the events of a trace function.
constexpr int kException = 1, kLine = 2;

using TraceFunction = int (*)(void* watch, void* frame, int what, void* argument);

struct Python {
  void (*set_trace)(TraceFunction, void*) = nullptr;
  void* (*code_of)(void*) = nullptr;  // a new reference
  int (*line_of)(void*) = nullptr;
  void* (*call)(void*, const char*, ...) = nullptr;
  int (*is_true)(void*) = nullptr;
  void (*forget_error)() = nullptr;
  void (*release)(void*) = nullptr;
  void* (*item_of)(void*, std::ptrdiff_t) = nullptr;  // of a tuple; a borrowed reference
  void** stop_iteration = nullptr;

  bool is_complete() const {
    return set_trace != nullptr && code_of != nullptr && line_of != nullptr && call != nullptr && is_true != nullptr &&
           forget_error != nullptr && release != nullptr;
  }
};

template <typename Function>
void find(Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

const Python& python() {
  static const Python found = [] {
    Python api;
    find(api.set_trace, "PyEval_SetTrace");
    find(api.code_of, "PyFrame_GetCode");
    find(api.line_of, "PyFrame_GetLineNumber");
    find(api.call, "PyObject_CallFunction");
    find(api.is_true, "PyObject_IsTrue");
    find(api.forget_error, "PyErr_Clear");
    find(api.release, "Py_DecRef");
    find(api.item_of, "PyTuple_GetItem");
    api.stop_iteration = static_cast<void**>(dlsym(RTLD_DEFAULT, "PyExc_StopIteration"));
    return api;
  }();
  return found;
}

struct Code {
  bool is_wanted = false;
  std::vector<bool> seen, raised;  // by line
};

// By address, which stays its own: the reference to each code object is kept. All under the GIL.
std::unordered_map<void*, Code>& codes() {
  static auto* known = new std::unordered_map<void*, Code>();  // outlives the process's last line
  return *known;
}

bool ask(void* watch, void* code, int line) {
  void* answer = python().call(watch, "Oi", code, line);
  if (answer == nullptr) {
    python().forget_error();
    return false;
  }
  const bool is_true = python().is_true(answer) == 1;
  python().release(answer);
  return is_true;
}

// Whether the place is a new one of these.
bool add(std::vector<bool>& places, int line) {
  const auto place = static_cast<std::size_t>(line);
  if (place < places.size() && places[place]) return false;
  if (place >= places.size()) places.resize(place + 1);
  places[place] = true;
  return true;
}

// The end of an iterator is no error: it comes with every pass over a loader.
bool is_error(void* exception) {
  const Python& api = python();
  if (exception == nullptr || api.item_of == nullptr || api.stop_iteration == nullptr) return false;
  return api.item_of(exception, 0) != *api.stop_iteration;
}

int on_event(void* watch, void* frame, int what, void* argument) {
  if (what != kLine && (what != kException || !is_error(argument))) return 0;
  void* code = python().code_of(frame);
  const auto [known, is_new] = codes().try_emplace(code);
  if (is_new) {
    known->second.is_wanted = ask(watch, code, 0);
  } else {
    python().release(code);
  }
  Code& entry = known->second;
  if (!entry.is_wanted) return 0;
  const int line = python().line_of(frame);
  if (line <= 0) return 0;
  if (what == kException) {
    if (add(entry.raised, line)) ask(watch, code, -line);
  } else if (add(entry.seen, line)) {
    ask(watch, code, line);
  }
  return 0;
}

}  // namespace

bool watch_lines(void* watch) {
  if (!python().is_complete()) return false;
  python().set_trace(watch != nullptr ? on_event : nullptr, watch);
  return true;
}

}  // namespace vramfit::recorder
