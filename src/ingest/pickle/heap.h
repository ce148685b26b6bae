// The containers of a pickle, by slot. A slot outlives its container: once a Folder has taken the content, the slot
// only says what stands for it, in 8 bytes.
#ifndef VRAMFIT_INGEST_PICKLE_HEAP_H
#define VRAMFIT_INGEST_PICKLE_HEAP_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "ingest/pickle/value.h"

namespace vramfit::ingest::pickle {

enum class ObjectKind : std::uint8_t {
  kList,
  kTuple,
  kDict,  // key, value, key, value
  kSet,
  kFrozenSet,
  kGlobal,      // module, name: a class or function that was named, and never looked up
  kCall,        // what would have been called, its arguments; then what was done to the result (kCallEnd)
  kPersistent,  // the persistent id
  kExtension,   // the code of an extension registry
};

// Values of a kCall after its callable and arguments. A slot each, kNone when unused.
enum CallPart : std::uint8_t { kCallable, kArguments, kKeywords, kState, kListItems, kDictItems, kCallEnd };

struct Object {
  ObjectKind kind = ObjectKind::kList;
  std::vector<Value> items;
};

class Heap {
 public:
  std::uint32_t create(ObjectKind kind);

  // The container of a slot; null when a Folder took it.
  Object* find(std::uint32_t slot) {
    const std::uint64_t word = slots_[slot];
    return (word & kFoldedBit) != 0 ? nullptr : &objects_[word];
  }
  const Object* find(std::uint32_t slot) const { return const_cast<Heap*>(this)->find(slot); }
  // The container that a value names; null for a value of any other kind.
  Object* find(const Value& value) { return value.kind == Kind::kObject ? find(value.slot()) : nullptr; }
  const Object* find(const Value& value) const { return const_cast<Heap*>(this)->find(value); }

  // A kObject whose container was folded becomes what stands for it; every other value stays.
  Value resolve(const Value& value) const {
    if (value.kind != Kind::kObject) return value;
    const std::uint64_t word = slots_[value.slot()];
    if ((word & kFoldedBit) == 0) return value;
    return make_folded(static_cast<std::uint8_t>((word & ~kFoldedBit) >> kTagShift), word & kNumberMask);
  }
  // The container is given up; `folded` stands for it from now on.
  void replace(std::uint32_t slot, const Value& folded);

  void append(Object& object, const Value& value);
  void append(Object& object, std::span<const Value> values);
  std::size_t slot_count() const { return slots_.size(); }
  std::size_t memory_bytes() const;

 private:
  static constexpr std::uint64_t kFoldedBit = std::uint64_t{1} << 63;
  static constexpr int kTagShift = 48;
  static constexpr std::uint64_t kNumberMask = (std::uint64_t{1} << kTagShift) - 1;

  std::vector<std::uint64_t> slots_;  // an index into objects_, or kFoldedBit | tag | number
  std::deque<Object> objects_;
  std::vector<std::uint32_t> unused_;
  std::size_t item_bytes_ = 0;
};

}  // namespace vramfit::ingest::pickle

#endif
