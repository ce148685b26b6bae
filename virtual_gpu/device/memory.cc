#include "virtual_gpu/device/memory.h"

#include <mutex>
#include <unordered_map>

#include "virtual_gpu/device/address_space.h"
#include "virtual_gpu/device/backing.h"
#include "virtual_gpu/device/contents.h"
#include "virtual_gpu/device/small_blocks.h"
#include "virtual_gpu/ledger/ledger.h"
#include "vramfit/recording.h"

namespace vramfit::device {
namespace {

struct SmallMemory {
  std::mutex lock;
  std::unordered_map<int, SmallBlocks> by_card;
};

SmallMemory& small_memory() {
  static auto* const kSmall = new SmallMemory;  // outlives other libraries' destructors
  return *kSmall;
}

// One address space for each card, as each has its own context.
struct Addresses {
  std::mutex lock;
  std::unordered_map<int, AddressSpace> by_card;
};

Addresses& addresses() {
  static auto* const kAddresses = new Addresses;  // outlives other libraries' destructors
  return *kAddresses;
}

AddressSpace& space_of(Addresses& all, int card) {
  const auto found = all.by_card.find(card);
  if (found != all.by_card.end()) return found->second;
  AddressSpace made(kLinuxChunk, 0, kSystemAddresses);
  if (ledger::address_order() == VF_ADDRESSES_WSL) {
    // Twice the card: room for what stays between pieces.
    const size_t area = round_up(2 * static_cast<size_t>(ledger::card(card)->total_bytes), kLinuxChunk);
    made = AddressSpace(area, kWslLead, kSystemAddresses);
  }
  return all.by_card.emplace(card, std::move(made)).first->second;
}

void release_addresses(int card, uintptr_t begin, size_t bytes) {
  make_inaccessible(reinterpret_cast<void*>(begin), bytes);
  Addresses& all = addresses();
  const std::lock_guard guard(all.lock);
  space_of(all, card).give_back(begin, bytes);
}

// Zeros in whole granules. Null: no address space.
void* take_addresses(int card, size_t bytes) {
  Addresses& all = addresses();
  const std::lock_guard guard(all.lock);
  AddressSpace& space = space_of(all, card);
  const uintptr_t begin = space.take(bytes);
  if (begin == 0) return nullptr;
  auto* address = reinterpret_cast<void*>(begin);
  if (make_accessible(address, bytes)) {
    if (ledger::keeps_all_values()) expect_all_written(address, bytes);
    return address;
  }
  space.give_back(begin, bytes);
  return nullptr;
}

void record(uint8_t kind, const Allocation& allocation, int64_t used_bytes) {
  const Range& range = allocation.range;
  ledger::emit(kind, range.card, range.begin, static_cast<int64_t>(range.bytes), used_bytes, 0, nullptr);
}

// Called before `bytes` can be taken by another thread: in the recording its allocation comes behind, and the card
// never holds more than it has.
void record_free(const Allocation& allocation, int64_t bytes) {
  const int card = allocation.range.card;
  record(VF_RECORD_SEGMENT_FREE, allocation, ledger::used_bytes(card) - bytes);
  if (bytes > 0) ledger::give_back(card, bytes);
}

void* take_charged(int card, size_t bytes) {
  if (!ledger::take(card, static_cast<int64_t>(bytes))) return nullptr;
  void* address = take_addresses(card, bytes);
  if (address == nullptr) ledger::give_back(card, static_cast<int64_t>(bytes));
  return address;
}

uintptr_t allocate_small(int card, size_t bytes) {
  SmallMemory& small = small_memory();
  const std::lock_guard guard(small.lock);
  SmallBlocks& blocks = small.by_card[card];
  if (const uintptr_t found = blocks.allocate(bytes)) return found;
  void* granule = take_charged(card, kGranularity);
  if (granule == nullptr) return 0;
  blocks.add_granule(reinterpret_cast<uintptr_t>(granule));
  return blocks.allocate(bytes);
}

// The record is made before the address can be taken again: another thread's allocation there comes behind it.
void release_small(const Allocation& allocation) {
  const Range& range = allocation.range;
  clear(reinterpret_cast<void*>(range.begin), range.bytes);
  SmallMemory& small = small_memory();
  const std::lock_guard guard(small.lock);
  const uintptr_t granule = small.by_card[range.card].release(range.begin, range.bytes);
  record_free(allocation, granule != 0 ? static_cast<int64_t>(kGranularity) : 0);
  if (granule != 0) release_addresses(range.card, granule, kGranularity);
}

void release_mapped(const Allocation& allocation) {
  const Range& range = allocation.range;
  forget(reinterpret_cast<void*>(range.begin), range.bytes);
  if (allocation.origin == Origin::kAllocation) {
    record_free(allocation, allocation.charged_bytes);
    release_addresses(range.card, range.begin, round_up(range.bytes, kGranularity));
  } else {
    if (allocation.charged_bytes > 0) ledger::give_back(range.card, allocation.charged_bytes);
    unmap(reinterpret_cast<void*>(range.begin), range.bytes);
  }
}

Error publish(Allocation allocation, void** address) {
  add_range(allocation);
  *address = reinterpret_cast<void*>(allocation.range.begin);
  return Error::kNone;
}

// The address must begin a range of one of the given origins, or nothing is taken.
std::optional<Allocation> take_if(void* address, std::initializer_list<Origin> origins) {
  const auto found = find_allocation(address);
  if (!found || found->range.begin != reinterpret_cast<uintptr_t>(address)) return std::nullopt;
  for (const Origin origin : origins) {
    if (found->origin == origin) return take_range(address);
  }
  return std::nullopt;
}

void release_of_card(const Allocation& allocation) {
  auto* address = reinterpret_cast<void*>(allocation.range.begin);
  if (allocation.origin == Origin::kImport) {
    release_import(address);
  } else {
    release_device(address);  // refuses what pools, mappings and the host own
  }
}

}  // namespace

Error allocate_device(int card, size_t bytes, void** address) {
  *address = nullptr;
  if (bytes == 0) return Error::kNone;
  if (bytes > SIZE_MAX / 2) return Error::kOutOfMemory;
  const bool is_small = bytes <= kLargestSmallBlock;
  const size_t charged = round_up(bytes, kGranularity);
  const uintptr_t begin =
      is_small ? allocate_small(card, bytes) : reinterpret_cast<uintptr_t>(take_charged(card, charged));
  if (begin == 0) return Error::kOutOfMemory;
  Allocation allocation;
  allocation.range = {Place::kDevice, card, begin, bytes};
  allocation.origin = is_small ? Origin::kSmall : Origin::kAllocation;
  allocation.charged_bytes = is_small ? 0 : static_cast<int64_t>(charged);
  record(VF_RECORD_SEGMENT_ALLOC, allocation, ledger::used_bytes(allocation.range.card));
  return publish(allocation, address);
}

Error release_device(void* address) {
  if (address == nullptr) return Error::kNone;
  const auto taken = take_if(address, {Origin::kAllocation, Origin::kSmall, Origin::kManaged});
  if (!taken) return Error::kInvalidValue;
  if (taken->origin == Origin::kSmall) {
    release_small(*taken);
  } else {
    release_mapped(*taken);
  }
  return Error::kNone;
}

Error allocate_host(size_t bytes, unsigned flags, void** address) {
  *address = nullptr;
  if (bytes == 0) return Error::kNone;
  void* mapped = map_lazily(bytes, 4096);
  if (mapped == nullptr) return Error::kOutOfMemory;
  ledger::emit(VF_RECORD_PIN, -1, reinterpret_cast<uint64_t>(mapped), static_cast<int64_t>(bytes), 0, 0, nullptr);
  Allocation allocation;
  allocation.range = {Place::kPinned, ledger::current_card(), reinterpret_cast<uintptr_t>(mapped), bytes};
  allocation.origin = Origin::kHost;
  allocation.flags = flags;
  return publish(allocation, address);
}

Error release_host(void* address) {
  if (address == nullptr) return Error::kNone;
  const auto taken = take_if(address, {Origin::kHost});
  if (!taken) return Error::kInvalidValue;
  unmap(address, taken->range.bytes);
  ledger::emit(VF_RECORD_PIN, -1, taken->range.begin, -static_cast<int64_t>(taken->range.bytes), 0, 0, nullptr);
  return Error::kNone;
}

Error register_host(void* address, size_t bytes, unsigned flags) {
  if (address == nullptr || bytes == 0) return Error::kInvalidValue;
  Allocation allocation;
  allocation.range = {Place::kPinned, ledger::current_card(), reinterpret_cast<uintptr_t>(address), bytes};
  allocation.origin = Origin::kRegistered;
  allocation.flags = flags;
  if (!add_range(allocation)) return Error::kAlreadyRegistered;
  ledger::emit(VF_RECORD_PIN, -1, allocation.range.begin, static_cast<int64_t>(bytes), 0, 0, nullptr);
  return Error::kNone;
}

Error unregister_host(void* address) {
  const auto taken = take_if(address, {Origin::kRegistered});
  if (!taken) return Error::kNotRegistered;
  ledger::emit(VF_RECORD_PIN, -1, taken->range.begin, -static_cast<int64_t>(taken->range.bytes), 0, 0, nullptr);
  return Error::kNone;
}

Error allocate_managed(int card, size_t bytes, unsigned flags, void** address) {
  *address = nullptr;
  if (bytes == 0) return Error::kInvalidValue;
  const size_t charged = round_up(bytes, kGranularity);
  if (!ledger::take_oversubscribed(card, static_cast<int64_t>(charged))) return Error::kOutOfMemory;
  void* mapped = map_lazily(bytes, kGranularity);
  if (mapped == nullptr) {
    ledger::give_back(card, static_cast<int64_t>(charged));
    return Error::kOutOfMemory;
  }
  Allocation allocation;
  allocation.range = {Place::kManaged, card, reinterpret_cast<uintptr_t>(mapped), bytes};
  allocation.origin = Origin::kManaged;
  allocation.charged_bytes = static_cast<int64_t>(charged);
  allocation.flags = flags;
  return publish(allocation, address);
}

Error import_device(int card, size_t bytes, void** address) {
  *address = nullptr;
  if (!ledger::touch(card)) return Error::kOutOfMemory;
  void* mapped = map_lazily(bytes, kGranularity);
  if (mapped == nullptr) return Error::kOutOfMemory;
  ledger::note_assumed("memory shared between processes: each process sees its own contents, zeros at first");
  Allocation allocation;
  allocation.range = {Place::kDevice, card, reinterpret_cast<uintptr_t>(mapped), bytes};
  allocation.origin = Origin::kImport;
  return publish(allocation, address);
}

Error release_import(void* address) {
  const auto taken = take_if(address, {Origin::kImport});
  if (!taken) return Error::kInvalidValue;
  release_mapped(*taken);
  return Error::kNone;
}

void release_all_on(int card) {
  for (const Allocation& allocation : ranges_on_card(card)) {
    if (allocation.context == nullptr) release_of_card(allocation);
  }
}

void release_memory_of(const void* context) {
  for (const Allocation& allocation : ranges_of_context(context)) {
    if (allocation.origin == Origin::kHost) {
      release_host(reinterpret_cast<void*>(allocation.range.begin));
    } else {
      release_of_card(allocation);
    }
  }
}

void* allocate(int card, size_t bytes) {
  void* address = nullptr;
  allocate_device(card, bytes, &address);
  return address;
}

bool release(void* address) { return release_device(address) == Error::kNone; }

}  // namespace vramfit::device
