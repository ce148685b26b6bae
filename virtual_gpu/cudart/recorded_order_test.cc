// The order in which allocations and frees of several threads are recorded: a recording is replayed in it.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "virtual_gpu/testing/card_fixture.h"
#include "vramfit/recording.h"

namespace {

struct Recorded {
  std::mutex lock;
  std::set<uint64_t> live;
  int allocations = 0, taken_while_live = 0, freed_while_free = 0;
};

Recorded& recorded() {
  static Recorded all;
  return all;
}

}  // namespace

// In place of the recorder's: the ledger finds it by its name (ledger/emit.cc).
extern "C" __attribute__((visibility("default"))) void vramfit_emit(uint8_t kind, uint8_t, uint64_t address, int64_t,
                                                                    int64_t, int64_t, const char*) {
  Recorded& all = recorded();
  const std::lock_guard guard(all.lock);
  if (kind == VF_RECORD_SEGMENT_ALLOC) {
    ++all.allocations;
    all.taken_while_live += all.live.insert(address).second ? 0 : 1;
  } else if (kind == VF_RECORD_SEGMENT_FREE) {
    all.freed_while_free += all.live.erase(address) == 1 ? 0 : 1;
  }
}

namespace {

const auto* const kEnvironment = ::testing::AddGlobalTestEnvironment(new vramfit::testing::CardEnvironment());

class RecordedOrder : public ::testing::TestWithParam<size_t> {};

TEST_P(RecordedOrder, no_address_is_given_out_before_it_is_free) {
  constexpr int kThreads = 4, kRounds = 2000;
  recorded().live.clear();
  const int before = recorded().allocations;
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([] {
      for (int round = 0; round < kRounds; ++round) {
        void* address = nullptr;
        if (cudaMalloc(&address, GetParam()) == cudaSuccess) cudaFree(address);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(recorded().allocations - before, kThreads * kRounds);
  EXPECT_EQ(recorded().taken_while_live, 0);
  EXPECT_EQ(recorded().freed_while_free, 0);
}

INSTANTIATE_TEST_SUITE_P(sizes, RecordedOrder, ::testing::Values(size_t{4096}, size_t{4} << 20));

}  // namespace
