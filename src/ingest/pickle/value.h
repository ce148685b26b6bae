// What a pickle's opcodes leave behind: plain data, never Python objects.
//
// A Value is 16 bytes. Text, bytes and big integers lie in a Strings pool, containers in a Heap; a Value names them.
#ifndef VRAMFIT_INGEST_PICKLE_VALUE_H
#define VRAMFIT_INGEST_PICKLE_VALUE_H

#include <bit>
#include <cstdint>

namespace vramfit::ingest::pickle {

enum class Kind : std::uint8_t {
  kNone,
  kBool,
  kInt,     // fits int64
  kBigInt,  // does not: little-endian two's complement bytes in the pool, shortest form
  kFloat,
  kString,     // UTF-8 in the pool (lone surrogates as Python's "surrogatepass" writes them)
  kBytes,      // in the pool
  kByteArray,  // in the pool
  kObject,     // a slot of the heap
  kFolded,     // a container that the Folder took: tag and number are its own
};

struct Value {
  Kind kind = Kind::kNone;
  // Set on the one copy that the creating opcode pushed, not on copies from the memo: when it goes into another
  // container, the container is complete.
  bool is_owner = false;
  std::uint8_t tag = 0;    // of kFolded
  std::uint64_t bits = 0;  // bool, int64, double, a pool id, a heap slot, the Folder's number

  std::int64_t number() const { return static_cast<std::int64_t>(bits); }
  double real() const { return std::bit_cast<double>(bits); }
  std::uint32_t text() const { return static_cast<std::uint32_t>(bits); }
  std::uint32_t slot() const { return static_cast<std::uint32_t>(bits); }
  friend bool operator==(const Value&, const Value&) = default;
};

inline Value make_bool(bool value) { return {Kind::kBool, false, 0, value ? 1u : 0u}; }
inline Value make_int(std::int64_t value) { return {Kind::kInt, false, 0, static_cast<std::uint64_t>(value)}; }
inline Value make_float(double value) { return {Kind::kFloat, false, 0, std::bit_cast<std::uint64_t>(value)}; }
inline Value make_pooled(Kind kind, std::uint32_t id) { return {kind, false, 0, id}; }
inline Value make_folded(std::uint8_t tag, std::uint64_t number) { return {Kind::kFolded, false, tag, number}; }

}  // namespace vramfit::ingest::pickle

#endif
