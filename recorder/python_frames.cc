#include "python_frames.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

#include "python_layout.h"
#include "python_offsets.h"

namespace vramfit::recorder {

namespace {

template <typename T>
T read(const void* base, size_t offset) {
  T value;
  std::memcpy(&value, static_cast<const unsigned char*>(base) + offset, sizeof value);
  return value;
}

template <typename Function>
bool find(Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

// Finds the layout of this process' Python, by its version "3.11.7 (main, ...)".
std::optional<PythonLayout> find_layout(std::string_view version) {
  if (!version.starts_with("3.")) return std::nullopt;
  if (version.find("free-threading") != std::string_view::npos) return std::nullopt;
  const int minor = std::atoi(version.data() + 2);
  for (const PythonLayout& layout : kPythonLayouts) {
    if (layout.minor == minor) return layout;
  }
  const void* runtime = minor >= kFirstToTell ? dlsym(RTLD_DEFAULT, "_PyRuntime") : nullptr;
  if (runtime == nullptr) return std::nullopt;
  return read_python_offsets({static_cast<const uint64_t*>(runtime), kPythonOffsetsWords});
}

void append_utf8(std::string& text, uint32_t point) {
  const auto put = [&](uint32_t byte) { text += static_cast<char>(byte); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xC0 | (point >> 6)), put(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    put(0xE0 | (point >> 12)), put(0x80 | ((point >> 6) & 0x3F)), put(0x80 | (point & 0x3F));
  } else {
    put(0xF0 | (point >> 18)), put(0x80 | ((point >> 12) & 0x3F)), put(0x80 | ((point >> 6) & 0x3F)),
        put(0x80 | (point & 0x3F));
  }
}

enum class State : int { kUnknown, kRight, kUnusable };
std::atomic<State> state{State::kUnknown};

}  // namespace

struct PythonFrames::Api {
  std::optional<PythonLayout> layout;
  const void* code_type = nullptr;
  int (*is_initialized)() = nullptr;
  void* (*this_thread_state)() = nullptr;
  int (*code_line)(const void* code, int byte_offset) = nullptr;
  // Only check() uses these, with the GIL held.
  int (*gil_check)() = nullptr;
  void* (*eval_frame)() = nullptr;
  void* (*frame_code)(void* frame) = nullptr;
  int (*frame_line)(void* frame) = nullptr;
  void* (*attribute)(void* object, const char* name) = nullptr;
  const char* (*as_utf8)(void* unicode) = nullptr;
  void (*decrement)(void* object) = nullptr;
  void (*clear_error)() = nullptr;
};

PythonFrames& PythonFrames::instance() {
  static PythonFrames frames;
  return frames;
}

bool PythonFrames::load() {
  static Api api;
  const char* (*version)() = nullptr;
  if (!find(version, "Py_GetVersion")) return false;
  api.layout = find_layout(version());
  api.code_type = dlsym(RTLD_DEFAULT, "PyCode_Type");
  const bool found = api.layout && api.code_type != nullptr && find(api.is_initialized, "Py_IsInitialized") &&
                     find(api.this_thread_state, "PyGILState_GetThisThreadState") &&
                     find(api.code_line, "PyCode_Addr2Line") && find(api.gil_check, "PyGILState_Check") &&
                     find(api.eval_frame, "PyEval_GetFrame") && find(api.frame_code, "PyFrame_GetCode") &&
                     find(api.frame_line, "PyFrame_GetLineNumber") && find(api.attribute, "PyObject_GetAttrString") &&
                     find(api.as_utf8, "PyUnicode_AsUTF8") && find(api.decrement, "Py_DecRef") &&
                     find(api.clear_error, "PyErr_Clear");
  if (found) api_ = &api;
  return found;
}

bool PythonFrames::ready() {
  const State known = state.load(std::memory_order_acquire);
  if (known != State::kUnknown) return known == State::kRight;
  // Two threads can't both get past the GIL check below; before it, load() only stores what is the same for both.
  static std::atomic<bool> loading{false};
  if (loading.exchange(true)) return false;
  bool right = false;
  if (api_ == nullptr && !load()) {
    // No Python in this process, or not one we know. A Python that is loaded later would be an embedding: not ours.
    state.store(State::kUnusable, std::memory_order_release);
  } else if (api_->is_initialized() && api_->gil_check() && api_->eval_frame() != nullptr) {
    right = check();
    for (const unsigned kind : kUnicodeKinds) {
      if (right || api_->layout->minor < kFirstToTell) break;
      api_->layout->unicode_kind = kind;
      right = check();
    }
    state.store(right ? State::kRight : State::kUnusable, std::memory_order_release);
  }
  loading.store(false);
  return right;
}

bool PythonFrames::check() const {
  const Frame raw = innermost();
  if (raw == nullptr) return false;
  const Site found = site(raw);
  void* frame = api_->eval_frame();
  void* code = api_->frame_code(frame);
  bool same = code == found.code && code != nullptr && api_->frame_line(frame) == line(found);
  for (const char* name : {"co_filename", api_->layout->minor >= 11 ? "co_qualname" : "co_name"}) {
    void* value = same ? api_->attribute(code, name) : nullptr;
    const char* utf8 = value != nullptr ? api_->as_utf8(value) : nullptr;
    if (utf8 == nullptr) {
      api_->clear_error();
      same = false;
    } else {
      same = (name == std::string_view("co_filename") ? file(code) : function(code)) == utf8;
    }
    if (value != nullptr) api_->decrement(value);
  }
  if (code != nullptr) api_->decrement(code);
  return same;
}

PythonFrames::Frame PythonFrames::innermost() const {
  const void* thread = api_->this_thread_state();
  if (thread == nullptr) return nullptr;
  const PythonLayout& layout = *api_->layout;
  auto frame = read<Frame>(thread, layout.thread_frame);
  if (layout.has_cframe && frame != nullptr) frame = read<Frame>(frame, layout.cframe_frame);
  return frame;
}

PythonFrames::Frame PythonFrames::outer(Frame frame) const { return read<Frame>(frame, api_->layout->frame_outer); }

PythonFrames::Site PythonFrames::site(Frame frame) const {
  const PythonLayout& layout = *api_->layout;
  if (layout.frame_owner != 0 && read<unsigned char>(frame, layout.frame_owner) >= kOwnedByInterpreter) return {};
  const auto* code = reinterpret_cast<const void*>(read<uintptr_t>(frame, layout.frame_code) & ~kReferenceMarks);
  if (code == nullptr || read<const void*>(code, kObjectType) != api_->code_type) return {};
  if (!layout.instruction_is_index) return {code, read<const void*>(frame, layout.frame_instruction)};
  const auto index = static_cast<intptr_t>(read<int>(frame, layout.frame_instruction));
  return {code, reinterpret_cast<const void*>(index)};
}

int PythonFrames::line(const Site& site) const {
  const PythonLayout& layout = *api_->layout;
  const auto place = reinterpret_cast<intptr_t>(site.instruction);
  if (layout.instruction_is_index) return api_->code_line(site.code, static_cast<int>(place) * layout.index_bytes);
  const auto start = reinterpret_cast<intptr_t>(site.code) + static_cast<intptr_t>(layout.code_instructions);
  return api_->code_line(site.code, static_cast<int>(place - start));
}

std::string PythonFrames::text(const void* unicode) const {
  constexpr size_t kMaxPoints = 2048;
  const auto bits = read<uint32_t>(unicode, kUnicodeState) >> api_->layout->unicode_kind;
  if ((bits & kUnicodeCompactBit) == 0) return {};
  const size_t length = std::min(read<size_t>(unicode, kUnicodeLength), kMaxPoints);
  const auto* bytes = static_cast<const unsigned char*>(unicode);
  if ((bits & kUnicodeAsciiBit) != 0) {
    return {reinterpret_cast<const char*>(bytes + api_->layout->unicode_ascii), length};
  }
  const unsigned kind = bits & kUnicodeKindMask;  // bytes a code point
  std::string text;
  for (size_t i = 0; i < length; ++i) {
    const size_t at = api_->layout->unicode_compact + i * kind;
    append_utf8(text, kind == 1   ? read<uint8_t>(bytes, at)
                      : kind == 2 ? read<uint16_t>(bytes, at)
                                  : read<uint32_t>(bytes, at));
  }
  return text;
}

const void* PythonFrames::file_identity(const void* code) const {
  return read<const void*>(code, api_->layout->code_file);
}
std::string PythonFrames::file(const void* code) const { return text(file_identity(code)); }
std::string PythonFrames::function(const void* code) const {
  return text(read<const void*>(code, api_->layout->code_function));
}

}  // namespace vramfit::recorder
