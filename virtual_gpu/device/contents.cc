#include "virtual_gpu/device/contents.h"

#include <dlfcn.h>

#include <atomic>
#include <cstring>

#include "virtual_gpu/device/backing.h"
#include "virtual_gpu/device/ranges.h"
#include "virtual_gpu/device/value_states.h"
#include "virtual_gpu/device/written.h"
#include "virtual_gpu/ledger/ledger.h"
#include "vramfit/recording.h"
#include "vramfit/vramfit.h"

namespace vramfit::device {
namespace {

constexpr size_t kReadByHost = 64;  // .item(), nonzero's count and the like; anything larger is data

std::atomic<uint64_t> device_reads{0};
std::atomic<uint64_t> unknown_reads{0};
std::atomic<uint64_t> small_reads{0};
thread_local uint64_t truths = 0;  // the lowest bit answers the next read
thread_local uint64_t truth_reads = 0;
std::atomic<bool> tracks_values{false};

WrittenBytes& written() {
  static auto* const kWritten = new WrittenBytes;  // outlives other libraries' destructors
  return *kWritten;
}

ValueStates& states() {
  static auto* const kStates = new ValueStates;  // outlives other libraries' destructors
  return *kStates;
}

void on_block(uint64_t address, int64_t size) { clear(reinterpret_cast<void*>(address), static_cast<size_t>(size)); }

// PyTorch hands out memory that it got back from another tensor: without this, a new tensor would show old bytes.
void watch_blocks() {
  using Register = void (*)(vramfit_block_listener);
  static const bool kWatching = [] {
    const auto watch = reinterpret_cast<Register>(dlsym(RTLD_DEFAULT, "vramfit_set_block_listener"));
    if (watch != nullptr) watch(on_block);
    return watch != nullptr;
  }();
  (void)kWatching;
}

Span span_of(const void* address, size_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(address);
  return {begin, begin + bytes};
}

void mark_written(const void* address, size_t bytes) {
  watch_blocks();
  written().add(span_of(address, bytes));
}

void set_state(const void* address, size_t bytes, ValueState state) {
  if (tracks_values.load(std::memory_order_relaxed)) states().set(span_of(address, bytes), state);
}

bool overlap(const void* a, const void* b, size_t bytes) {
  const Span first = span_of(a, bytes);
  const Span second = span_of(b, bytes);
  return first.begin < second.end && second.begin < first.end;
}

void clear_bytes(void* address, size_t bytes) {
  for (const Span& span : written().remove(span_of(address, bytes))) zero(span.begin, span.end);
}

// Moves only what differs from zero, so that copying an empty gigabyte costs nothing.
void copy_on_device(void* to, const void* from, size_t bytes) {
  if (tracks_values.load(std::memory_order_relaxed)) {
    states().copy(reinterpret_cast<uintptr_t>(to), span_of(from, bytes));
  }
  if (overlap(to, from, bytes)) {
    std::memmove(to, from, bytes);
    mark_written(to, bytes);
    return;
  }
  const std::vector<Span> source = written().inside(span_of(from, bytes));
  clear_bytes(to, bytes);
  for (const Span& span : source) {
    char* target = static_cast<char*>(to) + (span.begin - reinterpret_cast<uintptr_t>(from));
    std::memcpy(target, reinterpret_cast<const void*>(span.begin), span.end - span.begin);
    mark_written(target, span.end - span.begin);
  }
}

// What is copied to pinned memory to wait there and comes back unread (activations that are offloaded) costs no pages.
void empty_on_host(void* to, size_t bytes) {
  const auto allocation = find_allocation(to);
  if (!allocation || allocation->origin != Origin::kHost) {
    std::memset(to, 0, bytes);
    return;
  }
  const auto begin = reinterpret_cast<uintptr_t>(to);
  zero(begin, begin + bytes);
}

void copy_to_host(void* to, const void* from, size_t bytes) {
  const std::vector<Span> source = written().inside(span_of(from, bytes));
  if (source.empty()) unknown_reads.fetch_add(1, std::memory_order_relaxed);
  if (bytes <= kReadByHost) small_reads.fetch_add(1, std::memory_order_relaxed);
  if (source.empty() && bytes <= kReadByHost) device_reads.fetch_add(1, std::memory_order_relaxed);
  empty_on_host(to, bytes);
  for (const Span& span : source) {
    char* target = static_cast<char*>(to) + (span.begin - reinterpret_cast<uintptr_t>(from));
    std::memcpy(target, reinterpret_cast<const void*>(span.begin), span.end - span.begin);
  }
}

// A truth value that an operator reads within itself, of a kernel that did nothing: counted, and 1 where the
// operator is asked once more.
void answer_truth(void* to, const void* from, size_t bytes) {
  if (bytes != 1) return;
  if (!ledger::keeps_all_values() && !written().inside(span_of(from, bytes)).empty()) return;
  ++truth_reads;
  if ((truths & 1) != 0) *static_cast<unsigned char*>(to) = 1;
  truths >>= 1;
}

void copy_from_host(void* to, const void* from, size_t bytes) {
  if (bytes > kKeptCopyBytes) return clear(to, bytes);
  std::memcpy(to, from, bytes);
  mark_written(to, bytes);
  set_state(to, bytes, ValueState::kKnown);
}

// enum cudaMemcpyKind, for the recording.
int kind_of(bool from_device, bool to_device) {
  if (from_device) return to_device ? 3 : 2;
  return to_device ? 1 : 0;
}

}  // namespace

void clear(void* address, size_t bytes) {
  clear_bytes(address, bytes);
  set_state(address, bytes, ValueState::kUnknown);
}

void forget(const void* address, size_t bytes) {
  written().remove(span_of(address, bytes));
  set_state(address, bytes, ValueState::kUnknown);
}

void copy(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  const Range source = find_range(from);
  const Range target = find_range(to);
  const bool from_device = source.place == Place::kDevice;
  const bool to_device = target.place == Place::kDevice;
  const int card = to_device ? target.card : from_device ? source.card : -1;
  ledger::emit(VF_RECORD_COPY, card, reinterpret_cast<uint64_t>(to), static_cast<int64_t>(bytes),
               kind_of(from_device, to_device), 0, nullptr);
  if (ledger::keeps_all_values() || (!from_device && !to_device)) {
    std::memmove(to, from, bytes);
  } else if (from_device && to_device) {
    copy_on_device(to, from, bytes);
  } else if (from_device) {
    copy_to_host(to, from, bytes);
  } else {
    copy_from_host(to, from, bytes);
  }
  if (from_device && !to_device) answer_truth(to, from, bytes);
}

void fill(void* to, int byte, size_t bytes) {
  if (bytes == 0) return;
  const bool on_device = find_range(to).place == Place::kDevice;
  if (!on_device || ledger::keeps_all_values()) {
    std::memset(to, byte, bytes);
    return;
  }
  clear(to, bytes);
  if (byte == 0) return set_state(to, bytes, ValueState::kKnown);
  if (bytes > kKeptCopyBytes) return;
  std::memset(to, byte, bytes);
  mark_written(to, bytes);
  set_state(to, bytes, ValueState::kKnown);
}

}  // namespace vramfit::device

void vramfit_gpu_answer_truths(uint64_t answers) { vramfit::device::truths = answers; }

uint64_t vramfit_gpu_truth_reads(void) { return vramfit::device::truth_reads; }

uint64_t vramfit_gpu_device_reads(void) { return vramfit::device::device_reads.load(std::memory_order_relaxed); }

uint64_t vramfit_gpu_unknown_reads(void) { return vramfit::device::unknown_reads.load(std::memory_order_relaxed); }

uint64_t vramfit_gpu_small_reads(void) { return vramfit::device::small_reads.load(std::memory_order_relaxed); }

void vramfit_gpu_track_values(void) {
  vramfit::device::watch_blocks();
  vramfit::device::tracks_values.store(true, std::memory_order_relaxed);
}

uint32_t vramfit_gpu_value_state(const void* address, size_t bytes) {
  return static_cast<uint32_t>(vramfit::device::states().least(vramfit::device::span_of(address, bytes)));
}

void vramfit_gpu_set_value_state(void* address, size_t bytes, uint32_t state) {
  const auto known = static_cast<vramfit::device::ValueState>(state);
  if (known == vramfit::device::ValueState::kUnknown) return vramfit::device::clear(address, bytes);
  vramfit::device::states().set(vramfit::device::span_of(address, bytes), known);
}

void vramfit_gpu_values_written(void* address, size_t bytes, uint32_t state) {
  vramfit::device::mark_written(address, bytes);
  vramfit_gpu_set_value_state(address, bytes, state);
}
