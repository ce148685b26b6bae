// Reads a pickle, protocols 0 to 5, and executes nothing: what would be imported or called stays a kGlobal or a kCall
// on the heap. There is no recursion, so no nesting is too deep; lengths are believed only as far as bytes arrive.
#ifndef VRAMFIT_INGEST_PICKLE_MACHINE_H
#define VRAMFIT_INGEST_PICKLE_MACHINE_H

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "ingest/pickle/folder.h"
#include "ingest/pickle/heap.h"
#include "ingest/pickle/input.h"
#include "ingest/pickle/memo.h"
#include "ingest/pickle/strings.h"
#include "ingest/pickle/value.h"

namespace vramfit::ingest::pickle {

inline Value make_object(std::uint32_t slot) { return {Kind::kObject, true, 0, slot}; }

struct Limits {
  std::uint64_t memory_bytes = std::uint64_t{8} << 30;  // what the machine and its Folder may hold
  std::uint64_t read_bytes = std::uint64_t{1} << 40;    // how much may come out of the source, unpacked
};

class Machine {
 public:
  Machine(Input& input, Folder& folder, Limits limits = {});

  // One pickle, from the current position up to its STOP. An error says the offset of the opcode; it is kCorrupt, or
  // kUnsupported at a limit. The memo and the
  // stack start empty; strings and heap go on, so that several pickles in one file can be read.
  base::Result<Value> run();

  // Closes, after run() failed, what was open, innermost first, as if the pickle had ended properly there, and gives
  // what the outermost container became. Dicts that were not complete are given to the Folder with `is_cut`.
  Value salvage();

  Strings& strings() { return strings_; }
  const Strings& strings() const { return strings_; }
  Heap& heap() { return heap_; }
  const Heap& heap() const { return heap_; }
  int protocol() const { return protocol_; }
  std::size_t memory_bytes() const;

 private:
  // Each handles some of the opcodes; false: failed, and failure_ says why.
  bool step(unsigned char opcode);
  bool step_scalar(unsigned char opcode);
  bool step_text(unsigned char opcode);
  bool step_container(unsigned char opcode);
  bool step_memo(unsigned char opcode);
  bool step_object(unsigned char opcode);

  bool fail(std::string what);
  bool ends_early();
  bool check_limits();

  bool push_memo(std::uint64_t number);
  bool read_number(int size, std::uint64_t& number);
  bool take(std::uint64_t size, std::string_view& bytes);
  bool take_line(std::string_view& line);
  bool push_integer(std::string_view bytes);
  bool push_pooled(Kind kind, std::string_view bytes);
  bool push_old_string(std::string_view bytes);
  bool push_line_integer(bool is_long);

  void push(const Value& value) { stack_.push_back(value); }
  // Least stack size that this opcode may reach down to: nothing below the last mark is touched.
  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  bool need(std::size_t count);
  bool pop_mark(std::size_t& first);
  void push_container(ObjectKind kind, std::size_t first);
  bool push_tuple(std::size_t first);
  void collapse(std::size_t base);
  void align_pairs(std::size_t first);

  // A value on its way into another container: what it becomes.
  Value settle(const Value& value, bool is_cut = false) {
    const Value settled = heap_.resolve(value);
    if (settled.kind == Kind::kObject && settled.is_owner) return settle_owner(settled, is_cut);
    return {settled.kind, false, settled.tag, settled.bits};
  }
  Value settle_owner(const Value& value, bool is_cut);
  bool append_items(std::size_t list_at, std::size_t first);
  bool set_items(std::size_t dict_at, std::size_t first, bool is_cut = false);
  bool append_one(Value& list, const Value& item);
  bool add_to_set(std::size_t first);
  bool set_one(Value& dict, const Value& key, const Value& item);
  Object& call_part(std::uint32_t call, CallPart part, ObjectKind kind);

  void push_global(std::string_view module, std::string_view name);
  void push_call(const Value& callable, const Value& arguments, const Value& keywords);

  Input& input_;
  Folder& folder_;
  Limits limits_;
  Strings strings_;
  Heap heap_;
  Memo memo_;
  std::vector<Value> stack_;
  std::vector<std::size_t> marks_;
  std::int64_t opcode_at_ = 0;
  int protocol_ = 0;
  std::uint32_t steps_ = 0;
  base::Error failure_;
};

}  // namespace vramfit::ingest::pickle

#endif
