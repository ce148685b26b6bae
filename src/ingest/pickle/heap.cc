#include "ingest/pickle/heap.h"

namespace vramfit::ingest::pickle {
namespace {

// A reused container keeps room for this many values.
constexpr std::size_t kKeptRoom = 64;

}  // namespace

std::uint32_t Heap::create(ObjectKind kind) {
  std::uint32_t index;
  if (unused_.empty()) {
    index = static_cast<std::uint32_t>(objects_.size());
    objects_.emplace_back();
  } else {
    index = unused_.back();
    unused_.pop_back();
  }
  objects_[index].kind = kind;
  slots_.push_back(index);
  return static_cast<std::uint32_t>(slots_.size() - 1);
}

void Heap::replace(std::uint32_t slot, const Value& folded) {
  const std::uint64_t index = slots_[slot];
  if ((index & kFoldedBit) == 0) {
    Object& object = objects_[index];
    item_bytes_ -= object.items.capacity() * sizeof(Value);
    object.items.clear();
    if (object.items.capacity() > kKeptRoom) object.items = {};
    item_bytes_ += object.items.capacity() * sizeof(Value);
    unused_.push_back(static_cast<std::uint32_t>(index));
  }
  slots_[slot] = kFoldedBit | (std::uint64_t{folded.tag} << kTagShift) | (folded.bits & kNumberMask);
}

void Heap::append(Object& object, const Value& value) {
  item_bytes_ -= object.items.capacity() * sizeof(Value);
  object.items.push_back(value);
  object.items.back().is_owner = false;
  item_bytes_ += object.items.capacity() * sizeof(Value);
}

void Heap::append(Object& object, std::span<const Value> values) {
  item_bytes_ -= object.items.capacity() * sizeof(Value);
  object.items.insert(object.items.end(), values.begin(), values.end());
  item_bytes_ += object.items.capacity() * sizeof(Value);
}

std::size_t Heap::memory_bytes() const {
  return slots_.capacity() * sizeof(std::uint64_t) + objects_.size() * sizeof(Object) +
         unused_.capacity() * sizeof(std::uint32_t) + item_bytes_;
}

}  // namespace vramfit::ingest::pickle
