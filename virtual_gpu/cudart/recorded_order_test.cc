// The order in which allocations and frees of several threads are recorded: a recording is replayed in it.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <unistd.h>

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
  int frees = 0, freed_after_unmapping = 0;
  int64_t given_back = -1;  // what the card still counted when a free was told, beyond what it is told to count then
};

int64_t used_now() {
  size_t free = 0, total = 0;
  return cudaMemGetInfo(&free, &total) == cudaSuccess ? static_cast<int64_t>(total - free) : -1;
}

// The kernel is asked by a system call, which fails where an access would end the process.
bool is_mapped(uint64_t address) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  const bool is_read = write(ends[1], reinterpret_cast<const void*>(address), 1) == 1;
  close(ends[0]);
  close(ends[1]);
  return is_read;
}

Recorded& recorded() {
  static Recorded all;
  return all;
}

}  // namespace

// Stands in place of the recorder's: the ledger finds it by its name (ledger/emit.cc).
extern "C" __attribute__((visibility("default"))) void vramfit_emit(uint8_t kind, uint8_t, uint64_t address, int64_t,
                                                                    int64_t used_bytes, int64_t, const char*) {
  Recorded& all = recorded();
  const std::lock_guard guard(all.lock);
  if (kind == VF_RECORD_SEGMENT_ALLOC) {
    ++all.allocations;
    all.taken_while_live += all.live.insert(address).second ? 0 : 1;
  } else if (kind == VF_RECORD_SEGMENT_FREE) {
    all.freed_while_free += all.live.erase(address) == 1 ? 0 : 1;
    ++all.frees;
    all.freed_after_unmapping += is_mapped(address) ? 0 : 1;
    all.given_back = used_now() - used_bytes;
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

// Threads would meet only now and then between the record and the unmapping, so it is looked at which comes first.
class RecordedFree : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cudaFree(nullptr), cudaSuccess);
    recorded().frees = recorded().freed_after_unmapping = 0;
  }
  void TearDown() override {
    EXPECT_EQ(recorded().frees, 1);
    EXPECT_EQ(recorded().freed_after_unmapping, 0);
  }
};

TEST_F(RecordedFree, of_an_allocation_is_told_before_others_can_take_its_bytes) {
  void* address = nullptr;
  ASSERT_EQ(cudaMalloc(&address, size_t{4} << 20), cudaSuccess);
  ASSERT_EQ(cudaFree(address), cudaSuccess);
  EXPECT_EQ(recorded().given_back, int64_t{4} << 20);
}

TEST_F(RecordedFree, of_a_small_allocation_is_told_before_others_can_take_its_pages) {
  void* address = nullptr;
  ASSERT_EQ(cudaMalloc(&address, 4096), cudaSuccess);
  ASSERT_EQ(cudaFree(address), cudaSuccess);
  EXPECT_EQ(recorded().given_back, int64_t{2} << 20);
}

TEST_F(RecordedFree, of_a_pool_is_told_before_its_memory_is_unmapped) {
  void* address = nullptr;
  ASSERT_EQ(cudaMallocAsync(&address, size_t{4} << 20, nullptr), cudaSuccess);
  ASSERT_EQ(cudaFreeAsync(address, nullptr), cudaSuccess);
  cudaMemPool_t pool = nullptr;
  ASSERT_EQ(cudaDeviceGetDefaultMemPool(&pool, 0), cudaSuccess);
  ASSERT_EQ(cudaMemPoolTrimTo(pool, 0), cudaSuccess);
  EXPECT_EQ(recorded().given_back, int64_t{32} << 20);
}

TEST_F(RecordedFree, of_physical_memory_is_told_before_it_is_unmapped) {
  constexpr size_t kBytes = size_t{2} << 20;
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemGenericAllocationHandle handle = 0;
  ASSERT_EQ(cuMemCreate(&handle, kBytes, &properties, 0), CUDA_SUCCESS);
  CUdeviceptr address = 0;
  ASSERT_EQ(cuMemAddressReserve(&address, kBytes, 0, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemMap(address, kBytes, 0, handle, 0), CUDA_SUCCESS);
  CUmemAccessDesc access = {};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  ASSERT_EQ(cuMemSetAccess(address, kBytes, &access, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuMemRelease(handle), CUDA_SUCCESS);  // the mapping keeps it
  ASSERT_EQ(cuMemUnmap(address, kBytes), CUDA_SUCCESS);
  EXPECT_EQ(recorded().given_back, static_cast<int64_t>(kBytes));
  EXPECT_EQ(cuMemAddressFree(address, kBytes), CUDA_SUCCESS);
}

}  // namespace
