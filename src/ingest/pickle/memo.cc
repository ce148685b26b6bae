#include "ingest/pickle/memo.h"

namespace vramfit::ingest::pickle {
namespace {

// Numbers this far past the dense part go to the map: a hostile LONG_BINPUT can't make us allocate 2^32 words.
constexpr std::uint64_t kMaxGap = 4096;

}  // namespace

std::uint64_t Memo::pack_wide(const Value& value) {
  wide_.push_back({value.kind, false, value.tag, value.bits});
  return kWide | (wide_.size() - 1);
}

void Memo::put(std::uint64_t number, const Value& value) {
  const std::uint64_t word = pack(value);
  if (number >= dense_.size() + kMaxGap) {
    if (sparse_.insert_or_assign(number, word).second) ++count_;
    return;
  }
  if (number >= dense_.size()) dense_.resize(number + 1);
  if (dense_[number] == 0 && !sparse_.contains(number)) ++count_;
  dense_[number] = word;
}

std::optional<Value> Memo::find_sparse(std::uint64_t number) const {
  const auto found = sparse_.find(number);
  if (found == sparse_.end()) return std::nullopt;
  return unpack(found->second);
}

std::size_t Memo::memory_bytes() const {
  constexpr std::size_t kNode = 48;  // of libstdc++'s unordered_map, with its bucket
  return dense_.capacity() * sizeof(std::uint64_t) + sparse_.size() * kNode + wide_.capacity() * sizeof(Value);
}

}  // namespace vramfit::ingest::pickle
