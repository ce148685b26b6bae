#include "virtual_gpu/device/physical.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "virtual_gpu/device/backing.h"
#include "virtual_gpu/device/contents.h"
#include "virtual_gpu/device/ranges.h"
#include "virtual_gpu/ledger/ledger.h"
#include "vramfit/recording.h"

namespace vramfit::device {
namespace {

struct Physical {
  PhysicalProperties properties;
  int references = 1;  // handles
  int mappings = 0;
  bool is_imported = false;
};

struct Mapping {
  size_t bytes = 0;
  Handle handle = 0;
  unsigned access = 0;
};

struct Memory {
  std::mutex lock;
  Handle next_handle = 0x100000000;  // not a pointer, so that a mixed-up argument shows
  std::unordered_map<Handle, Physical> physical;
  std::map<uintptr_t, size_t> reserved;   // begin -> bytes
  std::map<uintptr_t, Mapping> mappings;  // begin -> what is there
};

Memory& memory() {
  static auto* const kMemory = new Memory;  // outlives other libraries' destructors
  return *kMemory;
}

// What travels through an exported file descriptor. The card is the ledger's index: ordinals differ by process.
struct Exported {
  char magic[8] = {'V', 'F', 'I', 'T', 'M', 'E', 'M', '1'};
  int32_t card_index = 0;
  uint32_t handle_types = 0;
  uint64_t bytes = 0;
};

constexpr unsigned kPosixFileDescriptor = 1;  // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

bool is_whole(size_t bytes) { return bytes != 0 && bytes % kGranularity == 0; }

// The bytes that the card has again when it goes.
int64_t charged_bytes(const Physical& physical) {
  const auto [card, bytes, types] = physical.properties;
  return card != kOnHost && !physical.is_imported ? static_cast<int64_t>(bytes) : 0;
}

bool is_unused(const Physical& physical) { return physical.references == 0 && physical.mappings == 0; }

void drop_if_unused(Memory& all, Handle handle) {
  const auto found = all.physical.find(handle);
  const Physical& physical = found->second;
  if (!is_unused(physical)) return;
  if (const int64_t bytes = charged_bytes(physical); bytes > 0) ledger::give_back(physical.properties.card, bytes);
  all.physical.erase(found);
}

bool is_reserved(const Memory& all, uintptr_t begin, size_t bytes) {
  auto found = all.reserved.upper_bound(begin);
  if (found == all.reserved.begin()) return false;
  --found;
  return begin + bytes <= found->first + found->second;
}

// The mappings that tile [begin, begin + bytes) exactly; empty when they don't.
std::vector<uintptr_t> mappings_tiling(const Memory& all, uintptr_t begin, size_t bytes) {
  std::vector<uintptr_t> tiles;
  uintptr_t at = begin;
  for (auto found = all.mappings.find(begin); at < begin + bytes; ++found) {
    if (found == all.mappings.end() || found->first != at) return {};
    tiles.push_back(at);
    at += found->second.bytes;
  }
  return at == begin + bytes ? tiles : std::vector<uintptr_t>{};
}

void record(uint8_t kind, const Physical& physical, uintptr_t begin, int64_t given_back) {
  const auto [card, bytes, types] = physical.properties;
  ledger::emit(kind, card, begin, static_cast<int64_t>(bytes), ledger::used_bytes(card) - given_back, 0, nullptr);
}

void unmap_one(Memory& all, uintptr_t begin) {
  const auto found = all.mappings.find(begin);
  const Mapping mapping = found->second;
  all.mappings.erase(found);
  auto* address = reinterpret_cast<void*>(begin);
  forget(address, mapping.bytes);
  Physical& physical = all.physical.at(mapping.handle);
  --physical.mappings;
  // It is recorded before anybody can see the bytes or the addresses free.
  record(VF_RECORD_SEGMENT_FREE, physical, begin, is_unused(physical) ? charged_bytes(physical) : 0);
  drop_if_unused(all, mapping.handle);
  take_range(address);
  make_inaccessible(address, mapping.bytes);
}

Handle adopt(Memory& all, const Physical& physical) {
  const Handle handle = all.next_handle++;
  all.physical.emplace(handle, physical);
  return handle;
}

}  // namespace

Error create_physical(const PhysicalProperties& properties, Handle* handle) {
  if (!is_whole(properties.bytes)) return Error::kInvalidValue;
  const auto bytes = static_cast<int64_t>(properties.bytes);
  if (properties.card != kOnHost && !ledger::take(properties.card, bytes)) return Error::kOutOfMemory;
  Memory& all = memory();
  const std::lock_guard guard(all.lock);
  *handle = adopt(all, Physical{.properties = properties});
  return Error::kNone;
}

Error release_physical(Handle handle) {
  Memory& all = memory();
  const std::lock_guard guard(all.lock);
  const auto found = all.physical.find(handle);
  if (found == all.physical.end() || found->second.references == 0) return Error::kInvalidValue;
  --found->second.references;
  drop_if_unused(all, handle);
  return Error::kNone;
}

Error properties_of(Handle handle, PhysicalProperties* properties) {
  Memory& all = memory();
  const std::lock_guard guard(all.lock);
  const auto found = all.physical.find(handle);
  if (found == all.physical.end()) return Error::kInvalidValue;
  *properties = found->second.properties;
  return Error::kNone;
}

Error retain_mapped(const void* address, Handle* handle) {
  Memory& all = memory();
  const std::lock_guard guard(all.lock);
  const auto at = reinterpret_cast<uintptr_t>(address);
  auto found = all.mappings.upper_bound(at);
  if (found == all.mappings.begin()) return Error::kInvalidValue;
  --found;
  if (at - found->first >= found->second.bytes) return Error::kInvalidValue;
  ++all.physical.at(found->second.handle).references;
  *handle = found->second.handle;
  return Error::kNone;
}

Error reserve_range(size_t bytes, size_t alignment, uintptr_t hint, uintptr_t* begin) {
  if (!is_whole(bytes) || (alignment & (alignment - 1)) != 0) return Error::kInvalidValue;
  void* address = reserve_addresses(bytes, alignment, reinterpret_cast<void*>(hint));
  if (address == nullptr) return Error::kOutOfMemory;
  Memory& all = memory();
  const std::lock_guard guard(all.lock);
  *begin = reinterpret_cast<uintptr_t>(address);
  all.reserved[*begin] = bytes;
  return Error::kNone;
}

Error free_range(uintptr_t begin, size_t bytes) {
  Memory& all = memory();
  const std::lock_guard guard(all.lock);
  const auto found = all.reserved.find(begin);
  if (found == all.reserved.end() || found->second != bytes) return Error::kInvalidValue;
  const auto mapped = all.mappings.lower_bound(begin);
  if (mapped != all.mappings.end() && mapped->first < begin + bytes) return Error::kInvalidValue;
  all.reserved.erase(found);
  unmap(reinterpret_cast<void*>(begin), bytes);
  return Error::kNone;
}

Error map_physical(uintptr_t begin, size_t bytes, size_t offset, Handle handle) {
  Memory& all = memory();
  const std::lock_guard guard(all.lock);
  const auto found = all.physical.find(handle);
  if (found == all.physical.end() || found->second.references == 0) return Error::kInvalidValue;
  if (offset != 0 || bytes != found->second.properties.bytes) return Error::kInvalidValue;  // as documented: whole
  if (begin % kGranularity != 0 || !is_reserved(all, begin, bytes)) return Error::kInvalidValue;
  Physical& physical = found->second;
  Allocation allocation;
  const int card = physical.properties.card;
  allocation.range = {card == kOnHost ? Place::kPinned : Place::kDevice, card, begin, bytes};
  allocation.origin = Origin::kMapping;
  if (!add_range(allocation)) return Error::kInvalidValue;
  all.mappings[begin] = Mapping{.bytes = bytes, .handle = handle, .access = 0};
  ++physical.mappings;
  record(VF_RECORD_SEGMENT_ALLOC, physical, begin, 0);
  return Error::kNone;
}

Error unmap_physical(uintptr_t begin, size_t bytes) {
  Memory& all = memory();
  const std::lock_guard guard(all.lock);
  const std::vector<uintptr_t> tiles = mappings_tiling(all, begin, bytes);
  if (tiles.empty()) return Error::kInvalidValue;
  for (const uintptr_t tile : tiles) unmap_one(all, tile);
  return Error::kNone;
}

Error set_access(uintptr_t begin, size_t bytes, unsigned flags) {
  Memory& all = memory();
  const std::lock_guard guard(all.lock);
  const std::vector<uintptr_t> tiles = mappings_tiling(all, begin, bytes);
  if (tiles.empty()) return Error::kInvalidValue;
  for (const uintptr_t tile : tiles) all.mappings.at(tile).access = flags;
  if (flags == 0) return Error::kNone;
  return make_accessible(reinterpret_cast<void*>(begin), bytes) ? Error::kNone : Error::kOutOfMemory;
}

Error get_access(uintptr_t at, unsigned* flags) {
  Memory& all = memory();
  const std::lock_guard guard(all.lock);
  auto found = all.mappings.upper_bound(at);
  if (found == all.mappings.begin()) return Error::kInvalidValue;
  --found;
  if (at - found->first >= found->second.bytes) return Error::kInvalidValue;
  *flags = found->second.access;
  return Error::kNone;
}

Error export_to_fd(Handle handle, int* file) {
  PhysicalProperties properties;
  if (properties_of(handle, &properties) != Error::kNone) return Error::kInvalidValue;
  if ((properties.handle_types & kPosixFileDescriptor) == 0) return Error::kInvalidValue;
  Exported exported;
  exported.card_index = ledger::index_in_ledger(properties.card);
  exported.handle_types = properties.handle_types;
  exported.bytes = properties.bytes;
  const int made = memfd_create("vramfit-memory", MFD_CLOEXEC);
  if (made < 0) return Error::kOutOfMemory;
  if (pwrite(made, &exported, sizeof exported, 0) != sizeof exported) {
    close(made);
    return Error::kOutOfMemory;
  }
  *file = made;
  return Error::kNone;
}

Error import_from_fd(int file, Handle* handle) {
  Exported exported;
  if (pread(file, &exported, sizeof exported, 0) != sizeof exported) return Error::kInvalidValue;
  const Exported expected;
  if (std::memcmp(exported.magic, expected.magic, sizeof expected.magic) != 0) return Error::kInvalidValue;
  int card = 0;
  while (card < ledger::card_count() && ledger::index_in_ledger(card) != exported.card_index) ++card;
  if (card == ledger::card_count()) return Error::kInvalidDevice;
  ledger::note_assumed("memory shared between processes: each process sees its own contents, zeros at first");
  Physical physical;
  physical.properties = {.card = card, .bytes = exported.bytes, .handle_types = exported.handle_types};
  physical.is_imported = true;
  Memory& all = memory();
  const std::lock_guard guard(all.lock);
  *handle = adopt(all, physical);
  return Error::kNone;
}

}  // namespace vramfit::device
