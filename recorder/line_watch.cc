#include "line_watch.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <vector>

#include "python_layout.h"

namespace vramfit::recorder {

namespace {

// The marks of python/vramfit/steer/coverage/within_lines.py.
constexpr char kWanted = 1, kReached = 2, kGivenUp = static_cast<char>(255);
constexpr int kMostInstructions = 40'000'000;  // of one code object: about a second

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
  int (*instruction_of)(void*) = nullptr;  // in bytes; from Python 3.11 on
  int (*set_attribute)(void*, const char*, void*) = nullptr;
  void* byte_array = nullptr;  // its type
  void *yes = nullptr, *no = nullptr;
  char* (*bytes_of)(void*) = nullptr;
  std::ptrdiff_t (*size_of)(void*) = nullptr;

  bool is_complete() const {
    return set_trace != nullptr && code_of != nullptr && line_of != nullptr && call != nullptr && is_true != nullptr &&
           forget_error != nullptr && release != nullptr;
  }
  bool sees_instructions() const {
    return instruction_of != nullptr && set_attribute != nullptr && byte_array != nullptr && yes != nullptr &&
           no != nullptr && bytes_of != nullptr && size_of != nullptr;
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
    find(api.instruction_of, "PyFrame_GetLasti");
    find(api.set_attribute, "PyObject_SetAttrString");
    find(api.bytes_of, "PyByteArray_AsString");
    find(api.size_of, "PyByteArray_Size");
    api.byte_array = dlsym(RTLD_DEFAULT, "PyByteArray_Type");
    api.yes = dlsym(RTLD_DEFAULT, "_Py_TrueStruct");
    api.no = dlsym(RTLD_DEFAULT, "_Py_FalseStruct");
    return api;
  }();
  return found;
}

struct Code {
  bool is_wanted = false;
  std::vector<bool> seen, raised;  // by line
  void* mask = nullptr;            // a bytearray; its reference is kept
  std::ptrdiff_t wanted = 0;       // of its instructions, those still to be seen
  int instructions_left = kMostInstructions;
};

// Code objects by address. A reference keeps each alive, so no address is used twice. All under the GIL.
std::unordered_map<void*, Code>& codes() {
  static auto* known = new std::unordered_map<void*, Code>();  // outlives the process's last line
  return *known;
}

// Whether the object is of the very type.
bool is_a(const void* object, const void* type) {
  return *reinterpret_cast<const void* const*>(static_cast<const char*>(object) + kObjectType) == type;
}

void watch_instructions(void* mask, Code& entry) {
  const Python& api = python();
  const char* bytes = api.bytes_of(mask);
  entry.mask = mask;
  entry.wanted = std::count(bytes, bytes + api.size_of(mask), kWanted);
}

// Asks once for each code object.
void ask_about(void* watch, void* code, Code& entry) {
  const Python& api = python();
  void* answer = api.call(watch, "Oi", code, 0);
  if (answer == nullptr) {
    api.forget_error();
    return;
  }
  entry.is_wanted = api.is_true(answer) == 1;
  if (entry.is_wanted && api.sees_instructions() && is_a(answer, api.byte_array)) {
    watch_instructions(answer, entry);
  } else {
    api.release(answer);
  }
}

void ask(void* watch, void* code, int line) {
  void* answer = python().call(watch, "Oi", code, line);
  if (answer == nullptr) {
    python().forget_error();
    return;
  }
  python().release(answer);
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

// A frame gives its instructions only where it is told to.
void follow(void* frame, bool instructions) {
  const Python& api = python();
  if (api.set_attribute(frame, "f_trace_opcodes", instructions ? api.yes : api.no) != 0) api.forget_error();
}

void on_instruction(void* frame, Code& entry) {
  const Python& api = python();
  char* bytes = api.bytes_of(entry.mask);
  const auto at = static_cast<std::ptrdiff_t>(api.instruction_of(frame)) / kInstructionBytes;
  if (at >= 0 && at < api.size_of(entry.mask) && bytes[at] == kWanted) {
    bytes[at] = kReached;
    --entry.wanted;
  }
  if (--entry.instructions_left == 0 && entry.wanted > 0) {
    bytes[0] = kGivenUp;
    entry.wanted = 0;
  }
  if (entry.wanted == 0) follow(frame, false);
}

bool is_event(int what, void* argument) {
  return what == kCall || what == kLine || what == kInstruction || (what == kException && is_error(argument));
}

int on_event(void* watch, void* frame, int what, void* argument) {
  if (!is_event(what, argument)) return 0;
  void* code = python().code_of(frame);
  const auto [known, is_new] = codes().try_emplace(code);
  if (is_new) {
    ask_about(watch, code, known->second);
  } else {
    python().release(code);
  }
  Code& entry = known->second;
  if (!entry.is_wanted) return 0;
  if (what == kInstruction) {
    if (entry.wanted > 0) on_instruction(frame, entry);
    return 0;
  }
  if (what == kCall) {
    if (entry.wanted > 0) follow(frame, true);
    return 0;
  }
  const int line = python().line_of(frame);
  if (line <= 0) return 0;
  if (what == kException) {
    if (add(entry.raised, line)) ask(watch, code, -line);
  } else if (add(entry.seen, line)) {
    if (entry.wanted > 0) follow(frame, true);  // it may have begun before it was watched
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
