#include "virtual_gpu/host/late_fill.h"

#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "virtual_gpu/device/backing.h"
#include "virtual_gpu/host/faults.h"
#include "virtual_gpu/host/mersenne.h"

namespace vramfit::host {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kLarge = size_t{1} << 20;       // what PyTorch allocates below this stays with it
constexpr size_t kMostKept = size_t{256} << 20;  // freed allocations that wait for the next of their size

enum class State { kPlain, kPending, kFilling };

struct Allocation {
  size_t bytes = 0;  // whole pages
  std::atomic<State> state{State::kPlain};
  uintptr_t reserved = 0;
  uint64_t program = 0;
  std::vector<vf_host_call> calls;
};

struct Memory {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
  std::map<uintptr_t, Allocation> allocations;
  std::multimap<size_t, uintptr_t> kept;
  size_t kept_bytes = 0;
  std::vector<uint64_t> over;
  size_t filling = 0;  // programs that run just now, without the lock
  uint64_t programs = 0;
  uint64_t deferred_bytes = 0, filled_bytes = 0;
};

std::atomic<bool> enabled{false};
std::atomic<size_t> allocation_count{0};
std::atomic<size_t> pending_count{0};

Memory& memory();

// A child has no thread that would carry on with a program: whoever looked there would wait for good.
void before_fork() {
  pthread_mutex_lock(&memory().lock);
  while (memory().filling > 0) pthread_cond_wait(&memory().filled, &memory().lock);
}
void after_fork() { pthread_mutex_unlock(&memory().lock); }

Memory& memory() {
  static auto* const kMemory = [] {  // outlives other libraries' destructors
    return new Memory;
  }();
  return *kMemory;
}

class Guard {
 public:
  Guard() { pthread_mutex_lock(&memory().lock); }
  ~Guard() { pthread_mutex_unlock(&memory().lock); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
};

// The allocation that holds the first byte of [begin, end) or, of those that begin in it, the first.
std::map<uintptr_t, Allocation>::iterator first_in(uintptr_t begin, uintptr_t end) {
  auto& all = memory().allocations;
  auto after = all.upper_bound(begin);
  if (after != all.begin()) {
    const auto before = std::prev(after);
    if (begin < before->first + before->second.bytes) return before;
  }
  return after != all.end() && after->first < end ? after : all.end();
}

// c10::Scalar (c10/core/Scalar.h): which kind, then room for a complex number of doubles.
struct alignas(16) Scalar {
  int32_t tag = 0;  // 0 = double, 1 = integer
  int32_t padding[3] = {};
  uint64_t bits = 0;
  uint64_t imaginary = 0;
};
struct OptionalScalar {
  Scalar value;
  bool has = true;
};

Scalar scalar(double number) { return {.tag = 0, .bits = std::bit_cast<uint64_t>(number)}; }

void* slot_of(void*& pointer) { return &pointer; }  // what a reference to a Tensor or a Generator is: one pointer

void run(const vf_host_call& call) {
  void* self = call.self;
  void* other = call.other;
  switch (call.signature) {
    case VF_HOST_SIGNATURE_RANDOM: {
      // std::optional<at::Generator>: not trivial, so it is passed by address; the callee copies it.
      struct {
        void* generator;
        bool has;
      } generator{call.generator, true};
      using Random = void* (*)(void*, double, double, void*);
      reinterpret_cast<Random>(call.function)(slot_of(self), call.first, call.second, &generator);
      break;
    }
    case VF_HOST_SIGNATURE_UNARY:
      reinterpret_cast<void* (*)(void*)>(call.function)(slot_of(self));
      break;
    case VF_HOST_SIGNATURE_BINARY:
      reinterpret_cast<void* (*)(void*, void*)>(call.function)(slot_of(self), slot_of(other));
      break;
    case VF_HOST_SIGNATURE_COPY:
      reinterpret_cast<void* (*)(void*, void*, bool)>(call.function)(slot_of(self), slot_of(other), false);
      break;
    case VF_HOST_SIGNATURE_ADD: {
      Scalar one{.tag = 1, .bits = 1};
      reinterpret_cast<void* (*)(void*, void*, void*)>(call.function)(slot_of(self), slot_of(other), &one);
      break;
    }
    case VF_HOST_SIGNATURE_CLAMP: {
      OptionalScalar low{scalar(call.first)};
      OptionalScalar high{scalar(call.second)};
      reinterpret_cast<void* (*)(void*, void*, void*)>(call.function)(slot_of(self), &low, &high);
      break;
    }
    default:
      break;
  }
}

void* run_program(void* calls) {
  for (const vf_host_call& call : *static_cast<const std::vector<vf_host_call>*>(calls)) run(call);
  return nullptr;
}

// Runs on a thread of its own: the one that waits may hold any of PyTorch's modes, and in a forked child it is the only
// one.
void run_elsewhere(std::vector<vf_host_call>& calls) {
  pthread_t thread{};
  if (pthread_create(&thread, nullptr, run_program, &calls) == 0) {
    pthread_join(thread, nullptr);
  } else {
    run_program(&calls);
  }
}

void end_program(Allocation& allocation) {
  memory().over.push_back(allocation.program);
  allocation.program = 0;
  allocation.reserved = 0;
  allocation.calls.clear();
  allocation.state = State::kPlain;
  --pending_count;
}

// Runs under the lock, which is let go of while the program runs.
void carry_out(uintptr_t begin, Allocation& allocation) {
  allocation.state = State::kFilling;
  std::vector<vf_host_call> calls = allocation.calls;
  const uintptr_t reserved = allocation.reserved;
  const size_t bytes = allocation.bytes;
  ++memory().filling;
  pthread_mutex_unlock(&memory().lock);
  run_elsewhere(calls);
  pthread_mutex_lock(&memory().lock);
  --memory().filling;
  // In one step for every other thread: before it the pages can't be touched, after it they are full.
  void* moved = mremap(reinterpret_cast<void*>(reserved), bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
                       reinterpret_cast<void*>(begin));
  if (moved == MAP_FAILED) {  // too many mappings: the slow way
    mprotect(reinterpret_cast<void*>(begin), bytes, PROT_READ | PROT_WRITE);
    std::memcpy(reinterpret_cast<void*>(begin), reinterpret_cast<void*>(reserved), bytes);
    device::unmap(reinterpret_cast<void*>(reserved), bytes);
  }
  memory().filled_bytes += bytes;
  end_program(allocation);
  pthread_cond_broadcast(&memory().filled);
}

void drop_program(Allocation& allocation) {
  if (allocation.state == State::kPlain) return;
  device::unmap(reinterpret_cast<void*>(allocation.reserved), allocation.bytes);
  end_program(allocation);
}

bool fill(uintptr_t begin, uintptr_t end) {
  if (pending_count.load(std::memory_order_acquire) == 0) return false;
  const Guard guard;
  bool found = false;
  for (auto it = first_in(begin, end); it != memory().allocations.end();) {
    Allocation& allocation = it->second;
    if (allocation.state == State::kPending) {
      carry_out(it->first, allocation);
      found = true;
    } else if (allocation.state == State::kFilling) {
      pthread_cond_wait(&memory().filled, &memory().lock);
      found = true;
      it = first_in(begin, end);
      continue;
    }
    const uintptr_t next = it->first + allocation.bytes;
    if (next >= end) break;
    it = first_in(next, end);
  }
  return found;
}

// A fault that another thread's fill has just healed is also one of ours.
bool on_fault(uintptr_t address) {
  if (fill(address, address + 1)) return true;
  if (allocation_count.load(std::memory_order_acquire) == 0) return false;
  const Guard guard;
  const auto found = first_in(address, address + 1);
  return found != memory().allocations.end() && found->second.state == State::kPlain && first_fault_at(address);
}

void* map_pages(size_t bytes) {
  const char* huge = std::getenv("THP_MEM_ALLOC_ENABLE");  // as PyTorch's own allocator: c10/core/impl/alloc_cpu.cpp
  const bool wants_huge = huge != nullptr && *huge == '1' && bytes >= kHugePage;
  void* address = device::map_lazily(bytes, wants_huge ? kHugePage : kPage);
  if (address != nullptr) madvise(address, bytes, wants_huge ? MADV_HUGEPAGE : MADV_NORMAL);
  return address;
}

uintptr_t take_kept(size_t bytes) {
  Memory& all = memory();
  const auto found = all.kept.find(bytes);
  if (found == all.kept.end()) return 0;
  const uintptr_t address = found->second;
  all.kept.erase(found);
  all.kept_bytes -= bytes;
  return address;
}

}  // namespace

void* allocate(size_t bytes) {
  if (bytes < kLarge || bytes > SIZE_MAX / 2 || !enabled.load(std::memory_order_acquire)) return nullptr;
  bytes = device::round_up(bytes, kPage);
  const Guard guard;
  uintptr_t address = take_kept(bytes);
  if (address == 0) address = reinterpret_cast<uintptr_t>(map_pages(bytes));
  if (address == 0) return nullptr;
  memory().allocations[address].bytes = bytes;
  ++allocation_count;
  return reinterpret_cast<void*>(address);
}

bool release(void* address) {
  const auto begin = reinterpret_cast<uintptr_t>(address);
  if (begin % kPage != 0 || allocation_count.load(std::memory_order_acquire) == 0) return false;
  const Guard guard;
  Memory& all = memory();
  const auto found = all.allocations.find(begin);
  if (found == all.allocations.end()) return false;
  Allocation& allocation = found->second;
  const size_t bytes = allocation.bytes;
  const bool was_touched = allocation.state == State::kPlain;
  drop_program(allocation);
  all.allocations.erase(found);
  --allocation_count;
  if (was_touched && all.kept_bytes + bytes <= kMostKept) {
    all.kept.emplace(bytes, begin);
    all.kept_bytes += bytes;
  } else {
    device::unmap(address, bytes);
  }
  return true;
}

}  // namespace vramfit::host

namespace vh = vramfit::host;

void vramfit_host_enable(int on) {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(vh::before_fork, vh::after_fork, vh::after_fork); });
  vh::enabled = on != 0;
}

uint64_t vramfit_host_allocation(uint64_t address) {
  if (vh::allocation_count == 0) return 0;
  const vh::Guard guard;
  const auto found = vh::memory().allocations.find(address);
  return found != vh::memory().allocations.end() ? found->second.bytes : 0;
}

uint64_t vramfit_host_reserve(uint64_t bytes) {
  return reinterpret_cast<uint64_t>(vh::map_pages(vramfit::device::round_up(bytes, vh::kPage)));
}

void vramfit_host_release(uint64_t address, uint64_t bytes) {
  vramfit::device::unmap(reinterpret_cast<void*>(address), bytes);
}

uint64_t vramfit_host_defer(uint64_t address, uint64_t reserved, const vf_host_call* calls, uint64_t count) {
  if (!vh::watch_faults(vh::on_fault)) return 0;
  const vh::Guard guard;
  const auto found = vh::memory().allocations.find(address);
  if (found == vh::memory().allocations.end() || found->second.state == vh::State::kFilling) return 0;
  vh::Allocation& allocation = found->second;
  vh::drop_program(allocation);
  if (!vramfit::device::make_inaccessible(reinterpret_cast<void*>(address), allocation.bytes)) return 0;
  allocation.reserved = reserved;
  allocation.calls.assign(calls, calls + count);
  allocation.program = ++vh::memory().programs;
  allocation.state = vh::State::kPending;
  vh::memory().deferred_bytes += allocation.bytes;
  ++vh::pending_count;
  return allocation.program;
}

int vramfit_host_append(uint64_t address, const vf_host_call* call) {
  const vh::Guard guard;
  const auto found = vh::memory().allocations.find(address);
  if (found == vh::memory().allocations.end() || found->second.state != vh::State::kPending) return 0;
  found->second.calls.push_back(*call);
  return 1;
}

int vramfit_host_fill(uint64_t address, uint64_t bytes) { return vh::fill(address, address + bytes) ? 1 : 0; }

uint64_t vramfit_host_over(uint64_t* numbers, uint64_t most) {
  const vh::Guard guard;
  auto& over = vh::memory().over;
  uint64_t told = 0;
  for (; told < most && !over.empty(); ++told) {
    numbers[told] = over.back();
    over.pop_back();
  }
  return told;
}

uint64_t vramfit_host_deferred_bytes(void) {
  const vh::Guard guard;
  return vh::memory().deferred_bytes;
}

uint64_t vramfit_host_filled_bytes(void) {
  const vh::Guard guard;
  return vh::memory().filled_bytes;
}

// The layout of the state is PyTorch's format for saved generators (aten/src/ATen/CPUGeneratorImpl.cpp,
// CPUGeneratorImplStateLegacy), which old checkpoints hold it to.
void vramfit_host_skip(void* state, uint64_t draws) {
  struct Legacy {
    uint64_t seed;
    int32_t left, seeded;
    uint64_t next;
    uint64_t words[vh::kMersenneWords];
  };
  Legacy legacy;
  std::memcpy(&legacy, state, sizeof legacy);
  vh::Mersenne engine;
  engine.used = static_cast<uint32_t>(vh::kMersenneWords + 1 - legacy.left);  // a fresh one has one left, and no next
  for (int i = 0; i < vh::kMersenneWords; ++i) engine.words[i] = static_cast<uint32_t>(legacy.words[i]);
  vh::skip(engine, draws);
  legacy.left = vh::kMersenneWords + 1 - static_cast<int32_t>(engine.used);
  legacy.next = engine.used;
  for (int i = 0; i < vh::kMersenneWords; ++i) legacy.words[i] = engine.words[i];
  std::memcpy(state, &legacy, sizeof legacy);
}
