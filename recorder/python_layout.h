#ifndef VRAMFIT_RECORDER_PYTHON_LAYOUT_H
#define VRAMFIT_RECORDER_PYTHON_LAYOUT_H

#include <cstddef>
#include <cstdint>

namespace vramfit::recorder {

// Byte offsets of CPython's structures on 64-bit Linux, by minor version: taken with offsetof() from the headers
// of 3.9.18, 3.10.13, 3.11.7 and 3.12.1 (cpython/pystate.h, internal/pycore_frame.h, cpython/code.h,
// cpython/unicodeobject.h; frames are PyFrameObject up to 3.10). They are stable within a minor version: they are part
// of its ABI to debuggers. From 3.13 on the interpreter itself tells them (python_offsets.h). What the hooks need of
// objects is in python/vramfit/private/python_layout.py; what both need says the same
// (tests/project/test_platforms.py).
struct PythonLayout {
  int minor;
  size_t thread_frame;  // PyThreadState: current_frame (from 3.13), cframe (3.11, 3.12), frame (3.9, 3.10)
  bool has_cframe;      // one more step: cframe->current_frame at cframe_frame
  size_t cframe_frame;
  size_t frame_code;
  size_t frame_outer;
  size_t frame_instruction;   // a pointer into the code's instructions; up to 3.10 an int: f_lasti
  bool instruction_is_index;  // 3.9, 3.10
  int index_bytes;            // bytes an f_lasti counts: 1 in 3.9, 2 in 3.10
  size_t frame_owner;         // 0 = none; from owner 3 on a frame is the interpreter's own
  size_t code_file;
  size_t code_function;       // co_qualname from 3.11 on, co_name before
  size_t code_instructions;   // co_code_adaptive
  size_t unicode_ascii;       // sizeof(PyASCIIObject): where the bytes of an ASCII string begin
  size_t unicode_compact;     // sizeof(PyCompactUnicodeObject): where the others begin
  unsigned unicode_kind = 2;  // the first bit of `kind` in the state; `compact` and `ascii` follow its three
};

inline constexpr PythonLayout kPythonLayouts[] = {
    {9, 24, false, 0, 32, 24, 104, true, 1, 0, 104, 112, 0, 48, 72},
    {10, 24, false, 0, 32, 24, 96, true, 2, 0, 104, 112, 0, 48, 72},
    {11, 56, true, 8, 32, 48, 56, false, 0, 0, 112, 128, 184, 48, 72},
    {12, 56, true, 0, 0, 8, 56, false, 0, 70, 112, 128, 192, 40, 56},
};

inline constexpr int kFirstToTell = 13;
// The place of `kind` is not told: behind the marks of interned strings, a byte since 3.13 or two, which have grown.
inline constexpr unsigned kUnicodeKinds[] = {16, 8};

// PyObject, the same in all of them: a count of references and ob_type.
inline constexpr size_t kObjectType = 8;
inline constexpr size_t kObjectHead = 16;
// PyASCIIObject likewise: the length in code points and the state's bit field.
inline constexpr size_t kUnicodeLength = kObjectHead;
inline constexpr size_t kUnicodeState = 32;
inline constexpr unsigned kUnicodeKindMask = 7;
inline constexpr unsigned kUnicodeCompactBit = 8;  // above `kind`
inline constexpr unsigned kUnicodeAsciiBit = 16;
// FRAME_OWNED_BY_CSTACK (3.12, 3.13), FRAME_OWNED_BY_INTERPRETER (from 3.14) and what lies above it.
inline constexpr unsigned char kOwnedByInterpreter = 3;
// From 3.14 on a frame refers to its code by a _PyStackRef, whose low bits are marks.
inline constexpr uintptr_t kReferenceMarks = 7;

// The events of a trace function in cpython/pystate.h, the same in all of them. An instruction is two bytes.
inline constexpr int kCall = 0, kException = 1, kLine = 2, kInstruction = 7;
inline constexpr int kInstructionBytes = 2;

}  // namespace vramfit::recorder

#endif
