#include "virtual_gpu/device/pool.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "virtual_gpu/device/backing.h"
#include "virtual_gpu/device/contents.h"
#include "virtual_gpu/device/memory.h"
#include "virtual_gpu/ledger/ledger.h"
#include "vramfit/recording.h"

namespace vramfit::device {

// One stretch of a chunk; the spans of a chunk tile it.
struct PoolSpan {
  size_t bytes = 0;
  bool is_free = true;
};

struct PoolChunk {
  size_t bytes = 0;
  std::map<uintptr_t, PoolSpan> spans;
};

struct Pool {
  int card = 0;
  size_t max_bytes = 0;
  bool is_default = false;
  bool is_destroyed = false;  // keeps its memory until the last block comes back
  uint64_t flags[4] = {0, 1, 1, 1};
  uint64_t release_threshold = 0;
  uint64_t reserved = 0;
  uint64_t reserved_high = 0;
  uint64_t used = 0;
  uint64_t used_high = 0;
  std::map<uintptr_t, PoolChunk> chunks;
};

namespace {

constexpr size_t kChunk = size_t{32} << 20;
constexpr size_t kAlignment = 512;

struct Pools {
  std::mutex lock;
  std::set<std::unique_ptr<Pool>> all;
  Pool* by_default[VF_MAX_CARDS] = {};
  Pool* current[VF_MAX_CARDS] = {};
};

Pools& pools() {
  static auto* const kPools = new Pools;  // outlives other libraries' destructors
  return *kPools;
}

Pool* add_pool(Pools& every, int card) {
  auto made = std::make_unique<Pool>();
  made->card = card;
  Pool* pool = made.get();
  every.all.insert(std::move(made));
  return pool;
}

Pool* default_of(Pools& every, int card) {
  if (ledger::card(card) == nullptr) return nullptr;
  if (every.by_default[card] == nullptr) {
    every.by_default[card] = every.current[card] = add_pool(every, card);
    every.by_default[card]->is_default = true;
  }
  return every.by_default[card];
}

bool is_known(const Pools& every, const Pool* pool) {
  return pool != nullptr && std::ranges::any_of(every.all, [&](const auto& one) { return one.get() == pool; });
}

void record(uint8_t kind, const Pool& pool, uintptr_t begin, size_t bytes, int64_t used_bytes) {
  ledger::emit(kind, pool.card, begin, static_cast<int64_t>(bytes), used_bytes, 0, nullptr);
}

bool grow(Pool& pool, size_t bytes) {
  const size_t chunk_bytes = round_up(bytes, kChunk);
  if (pool.max_bytes != 0 && pool.reserved + chunk_bytes > pool.max_bytes) return false;
  if (!ledger::take(pool.card, static_cast<int64_t>(chunk_bytes))) return false;
  const auto begin = reinterpret_cast<uintptr_t>(map_lazily(chunk_bytes, kGranularity));
  if (begin == 0) {
    ledger::give_back(pool.card, static_cast<int64_t>(chunk_bytes));
    return false;
  }
  ledger::note_assumed("cudaMallocAsync: pools grow in 32 MiB steps, as drivers 525 to 580 were seen to do");
  pool.chunks[begin] = PoolChunk{.bytes = chunk_bytes, .spans = {{begin, PoolSpan{chunk_bytes, true}}}};
  pool.reserved += chunk_bytes;
  pool.reserved_high = std::max(pool.reserved_high, pool.reserved);
  record(VF_RECORD_SEGMENT_ALLOC, pool, begin, chunk_bytes, ledger::used_bytes(pool.card));
  return true;
}

// Best fit over all chunks. 0: nothing free is large enough.
uintptr_t place(Pool& pool, size_t bytes) {
  PoolChunk* best_chunk = nullptr;
  std::map<uintptr_t, PoolSpan>::iterator best;
  for (auto& [begin, chunk] : pool.chunks) {
    for (auto span = chunk.spans.begin(); span != chunk.spans.end(); ++span) {
      if (!span->second.is_free || span->second.bytes < bytes) continue;
      if (best_chunk != nullptr && best->second.bytes <= span->second.bytes) continue;
      best_chunk = &chunk;
      best = span;
    }
  }
  if (best_chunk == nullptr) return 0;
  const size_t rest = best->second.bytes - bytes;
  best->second = {bytes, false};
  if (rest > 0) best_chunk->spans.emplace(best->first + bytes, PoolSpan{rest, true});
  return best->first;
}

void merge_free(std::map<uintptr_t, PoolSpan>& spans, std::map<uintptr_t, PoolSpan>::iterator span) {
  if (const auto next = std::next(span); next != spans.end() && next->second.is_free) {
    span->second.bytes += next->second.bytes;
    spans.erase(next);
  }
  if (span == spans.begin() || !std::prev(span)->second.is_free) return;
  std::prev(span)->second.bytes += span->second.bytes;
  spans.erase(span);
}

void trim_locked(Pool& pool, size_t keep_bytes) {
  for (auto chunk = pool.chunks.begin(); chunk != pool.chunks.end() && pool.reserved > keep_bytes;) {
    const auto& [begin, contents] = *chunk;
    if (contents.spans.size() != 1 || !contents.spans.begin()->second.is_free) {
      ++chunk;
      continue;
    }
    const size_t bytes = contents.bytes;
    pool.reserved -= bytes;
    // It is recorded before another thread can be given the bytes or the addresses.
    const int64_t left = ledger::used_bytes(pool.card) - static_cast<int64_t>(bytes);
    record(VF_RECORD_SEGMENT_FREE, pool, begin, bytes, left);
    ledger::give_back(pool.card, static_cast<int64_t>(bytes));
    unmap(reinterpret_cast<void*>(begin), bytes);
    chunk = pool.chunks.erase(chunk);
  }
}

void erase_if_done(Pools& every, Pool* pool) {
  if (!pool->is_destroyed || pool->used != 0) return;
  trim_locked(*pool, 0);
  std::erase_if(every.all, [&](const auto& one) { return one.get() == pool; });
}

}  // namespace

Pool* default_pool(int card) {
  Pools& every = pools();
  const std::lock_guard guard(every.lock);
  return default_of(every, card);
}

Pool* current_pool(int card) {
  Pools& every = pools();
  const std::lock_guard guard(every.lock);
  return default_of(every, card) == nullptr ? nullptr : every.current[card];
}

Error set_current_pool(int card, Pool* pool) {
  Pools& every = pools();
  const std::lock_guard guard(every.lock);
  if (default_of(every, card) == nullptr) return Error::kInvalidDevice;
  if (!is_known(every, pool) || pool->card != card) return Error::kInvalidValue;
  every.current[card] = pool;
  return Error::kNone;
}

Error create_pool(int card, size_t max_bytes, Pool** pool) {
  if (!ledger::touch(card)) return ledger::card(card) == nullptr ? Error::kInvalidDevice : Error::kOutOfMemory;
  Pools& every = pools();
  const std::lock_guard guard(every.lock);
  *pool = add_pool(every, card);
  (*pool)->max_bytes = max_bytes;
  return Error::kNone;
}

Error destroy_pool(Pool* pool) {
  Pools& every = pools();
  const std::lock_guard guard(every.lock);
  if (!is_known(every, pool) || pool->is_default) return Error::kInvalidValue;
  if (every.current[pool->card] == pool) every.current[pool->card] = every.by_default[pool->card];
  pool->is_destroyed = true;
  erase_if_done(every, pool);
  return Error::kNone;
}

Error allocate_from(Pool* pool, size_t bytes, void** address) {
  *address = nullptr;
  if (bytes == 0) return Error::kNone;
  if (bytes > SIZE_MAX / 2) return Error::kOutOfMemory;
  const size_t rounded = round_up(bytes, kAlignment);
  Pools& every = pools();
  const std::lock_guard guard(every.lock);
  if (!is_known(every, pool)) return Error::kInvalidValue;
  uintptr_t begin = place(*pool, rounded);
  if (begin == 0 && !grow(*pool, rounded)) {
    trim_locked(*pool, 0);  // the driver gives unused memory back before it refuses
    if (!grow(*pool, rounded)) return Error::kOutOfMemory;
  }
  if (begin == 0) begin = place(*pool, rounded);
  pool->used += rounded;
  pool->used_high = std::max(pool->used_high, pool->used);
  Allocation allocation;
  allocation.range = {Place::kDevice, pool->card, begin, bytes};
  allocation.origin = Origin::kPool;
  allocation.owner = pool;
  add_range(allocation);
  *address = reinterpret_cast<void*>(begin);
  return Error::kNone;
}

Error release_to_pool(void* address) {
  const auto found = find_allocation(address);
  if (!found || found->range.begin != reinterpret_cast<uintptr_t>(address)) return Error::kInvalidValue;
  if (found->origin != Origin::kPool) return release_device(address);
  Pools& every = pools();
  const std::lock_guard guard(every.lock);
  if (!take_range(address)) return Error::kInvalidValue;
  auto* pool = static_cast<Pool*>(found->owner);
  clear(address, found->range.bytes);
  PoolChunk& chunk = std::prev(pool->chunks.upper_bound(found->range.begin))->second;
  const auto span = chunk.spans.find(found->range.begin);
  pool->used -= span->second.bytes;
  span->second.is_free = true;
  merge_free(chunk.spans, span);
  erase_if_done(every, pool);
  return Error::kNone;
}

Error trim(Pool* pool, size_t keep_bytes) {
  Pools& every = pools();
  const std::lock_guard guard(every.lock);
  if (!is_known(every, pool)) return Error::kInvalidValue;
  trim_locked(*pool, keep_bytes);
  return Error::kNone;
}

void trim_to_thresholds(int card) {
  Pools& every = pools();
  const std::lock_guard guard(every.lock);
  for (const auto& pool : every.all) {
    if (pool->card == card && pool->reserved > pool->release_threshold) trim_locked(*pool, pool->release_threshold);
  }
}

Error get_attribute(Pool* pool, PoolAttribute attribute, uint64_t* value) {
  Pools& every = pools();
  const std::lock_guard guard(every.lock);
  if (!is_known(every, pool)) return Error::kInvalidValue;
  switch (attribute) {
    case PoolAttribute::kReuseFollowEventDependencies:
    case PoolAttribute::kReuseAllowOpportunistic:
    case PoolAttribute::kReuseAllowInternalDependencies:
      *value = pool->flags[static_cast<int>(attribute)];
      return Error::kNone;
    case PoolAttribute::kReleaseThreshold:
      *value = pool->release_threshold;
      return Error::kNone;
    case PoolAttribute::kReservedBytes:
      *value = pool->reserved;
      return Error::kNone;
    case PoolAttribute::kReservedBytesHigh:
      *value = pool->reserved_high;
      return Error::kNone;
    case PoolAttribute::kUsedBytes:
      *value = pool->used;
      return Error::kNone;
    case PoolAttribute::kUsedBytesHigh:
      *value = pool->used_high;
      return Error::kNone;
  }
  return Error::kInvalidValue;
}

Error set_attribute(Pool* pool, PoolAttribute attribute, uint64_t value) {
  Pools& every = pools();
  const std::lock_guard guard(every.lock);
  if (!is_known(every, pool)) return Error::kInvalidValue;
  if (is_flag(attribute)) {
    pool->flags[static_cast<int>(attribute)] = value;
  } else if (attribute == PoolAttribute::kReleaseThreshold) {
    pool->release_threshold = value;
  } else if (attribute == PoolAttribute::kReservedBytesHigh && value == 0) {
    pool->reserved_high = pool->reserved;  // a high-water mark can only be reset, with 0
  } else if (attribute == PoolAttribute::kUsedBytesHigh && value == 0) {
    pool->used_high = pool->used;
  } else {
    return Error::kInvalidValue;
  }
  return Error::kNone;
}

bool is_pool(const Pool* pool) {
  Pools& every = pools();
  const std::lock_guard guard(every.lock);
  return is_known(every, pool);
}

}  // namespace vramfit::device
