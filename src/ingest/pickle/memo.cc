#include "ingest/pickle/memo.h"

namespace vramfit::ingest::pickle {
namespace {

// A word: kind + 1 (0 is "nothing there") in the top byte, the tag of a folded value below it, 48 bits of payload.
constexpr int kKindShift = 56;
constexpr int kTagShift = 48;
constexpr std::uint64_t kPayloadMask = (std::uint64_t{1} << kTagShift) - 1;
constexpr std::uint64_t kWide = std::uint64_t{255} << kKindShift;
// Numbers this far past the dense part go to the map: a hostile LONG_BINPUT can't make us allocate 2^32 words.
constexpr std::uint64_t kMaxGap = 4096;

}  // namespace

std::uint64_t Memo::pack(const Value& value) {
  if (value.bits <= kPayloadMask) {
    return (static_cast<std::uint64_t>(value.kind) + 1) << kKindShift | std::uint64_t{value.tag} << kTagShift |
           value.bits;
  }
  wide_.push_back(value);
  return kWide | (wide_.size() - 1);
}

Value Memo::unpack(std::uint64_t word) const {
  if ((word & kWide) == kWide) return wide_[word & kPayloadMask];
  return {static_cast<Kind>((word >> kKindShift) - 1), false, static_cast<std::uint8_t>(word >> kTagShift),
          word & kPayloadMask};
}

void Memo::put(std::uint64_t number, const Value& value) {
  Value copy = value;
  copy.is_owner = false;
  const std::uint64_t word = pack(copy);
  if (number >= dense_.size() + kMaxGap) {
    if (sparse_.insert_or_assign(number, word).second) ++count_;
    return;
  }
  if (number >= dense_.size()) dense_.resize(number + 1);
  if (dense_[number] == 0 && !sparse_.contains(number)) ++count_;
  dense_[number] = word;
}

std::optional<Value> Memo::find(std::uint64_t number) const {
  if (number < dense_.size() && dense_[number] != 0) return unpack(dense_[number]);
  const auto found = sparse_.find(number);
  if (found == sparse_.end()) return std::nullopt;
  return unpack(found->second);
}

std::size_t Memo::memory_bytes() const {
  constexpr std::size_t kNode = 48;  // of libstdc++'s unordered_map, with its bucket
  return dense_.capacity() * sizeof(std::uint64_t) + sparse_.size() * kNode + wide_.capacity() * sizeof(Value);
}

}  // namespace vramfit::ingest::pickle
