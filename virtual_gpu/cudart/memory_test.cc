// Memory through the runtime's public interface, on one card with 1 GiB.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstring>
#include <vector>

#include "virtual_gpu/device/device.h"
#include "virtual_gpu/testing/card_fixture.h"

namespace {

using vramfit::testing::CardEnvironment;
using vramfit::testing::in_child;
using vramfit::testing::kMiB;

constexpr size_t kTotal = 1024 * kMiB;
constexpr size_t kContext = 100 * kMiB;

vramfit::testing::SessionOptions small_card() {
  vramfit::testing::SessionOptions options;
  options.cards[0].total_bytes = kTotal;
  options.cards[0].context_bytes = kContext;
  return options;
}

const auto* const kEnvironment = ::testing::AddGlobalTestEnvironment(new CardEnvironment(small_card()));

size_t free_bytes() {
  size_t free = 0;
  size_t total = 0;
  EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  EXPECT_EQ(total, kTotal);
  return free;
}

TEST(CudaMalloc, charges_the_context_first) {
  // Also when this is not the process's first call: the context stays.
  EXPECT_EQ(free_bytes(), kTotal - kContext);
}

TEST(CudaMalloc, charges_whole_granules) {
  const size_t before = free_bytes();
  void* block = nullptr;
  ASSERT_EQ(cudaMalloc(&block, 3 * kMiB), cudaSuccess);
  EXPECT_EQ(free_bytes(), before - 4 * kMiB);
  ASSERT_EQ(cudaFree(block), cudaSuccess);
  EXPECT_EQ(free_bytes(), before);
}

TEST(CudaMalloc, small_blocks_share_a_granule) {
  const size_t before = free_bytes();
  std::vector<void*> blocks(100);
  for (void*& block : blocks) ASSERT_EQ(cudaMalloc(&block, 1000), cudaSuccess);
  EXPECT_EQ(free_bytes(), before - 2 * kMiB);
  for (void* block : blocks) ASSERT_EQ(cudaFree(block), cudaSuccess);
  EXPECT_EQ(free_bytes(), before);
}

TEST(CudaMalloc, runs_out_exactly_at_the_limit) {
  void* all = nullptr;
  void* more = &all;
  ASSERT_EQ(cudaMalloc(&all, free_bytes()), cudaSuccess);
  EXPECT_EQ(free_bytes(), 0u);
  EXPECT_EQ(cudaMalloc(&more, 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(more, nullptr);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  ASSERT_EQ(cudaFree(all), cudaSuccess);
}

TEST(CudaMalloc, of_nothing_is_null_and_no_error) {
  void* block = &block;
  EXPECT_EQ(cudaMalloc(&block, 0), cudaSuccess);
  EXPECT_EQ(block, nullptr);
  EXPECT_EQ(cudaMalloc(nullptr, 1), cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST(CudaFree, refuses_what_it_did_not_give) {
  int on_stack = 0;
  EXPECT_EQ(cudaFree(&on_stack), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
  cudaGetLastError();
}

TEST(CudaPointerGetAttributes, tells_device_pinned_and_ordinary_memory) {
  void* on_device = nullptr;
  void* pinned = nullptr;
  int ordinary = 0;
  ASSERT_EQ(cudaMalloc(&on_device, 4 * kMiB), cudaSuccess);
  ASSERT_EQ(cudaMallocHost(&pinned, 4096), cudaSuccess);
  cudaPointerAttributes attributes;
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, static_cast<char*>(on_device) + kMiB), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, pinned), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, &ordinary), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  cudaFree(on_device);
  cudaFreeHost(pinned);
}

TEST(CudaMemcpy, keeps_what_the_host_wrote_and_reads_zeros_elsewhere) {
  char* block = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&block), 4 * kMiB), cudaSuccess);
  const char text[] = "abc";
  char back[8] = "zzzzzzz";
  ASSERT_EQ(cudaMemcpy(block + 100, text, 3, cudaMemcpyHostToDevice), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(block + 2 * kMiB, block + 98, 6, cudaMemcpyDeviceToDevice), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(back, block + 2 * kMiB, 6, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(std::memcmp(back, "\0\0abc\0", 6), 0);
  cudaFree(block);
}

TEST(CudaMemcpy, what_waits_in_pinned_memory_reads_as_it_was_on_the_card) {
  char *block = nullptr, *pinned = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&block), 4 * kMiB), cudaSuccess);
  ASSERT_EQ(cudaMallocHost(reinterpret_cast<void**>(&pinned), 4 * kMiB), cudaSuccess);
  std::memset(pinned, 'z', 4 * kMiB);
  ASSERT_EQ(cudaMemcpy(block + kMiB, "abc", 3, cudaMemcpyHostToDevice), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(pinned + 100, block, 2 * kMiB, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(pinned[99], 'z');
  EXPECT_EQ(pinned[100], 0);
  EXPECT_EQ(std::memcmp(pinned + 100 + kMiB, "abc", 4), 0);
  EXPECT_EQ(pinned[99 + 2 * kMiB], 0);
  EXPECT_EQ(pinned[100 + 2 * kMiB], 'z');
  cudaFreeHost(pinned);
  cudaFree(block);
}

TEST(CudaMemcpy, from_the_host_above_a_mebibyte_reads_as_zeros) {
  char* block = nullptr;
  std::vector<char> host(2 * kMiB, 'x');
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&block), 2 * kMiB), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(block, host.data(), 100, cudaMemcpyHostToDevice), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(block, host.data(), host.size(), cudaMemcpyHostToDevice), cudaSuccess);
  char back = 'y';
  ASSERT_EQ(cudaMemcpy(&back, block + 50, 1, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(back, 0);
  cudaFree(block);
}

TEST(CudaMemcpy, counts_small_reads_of_what_nobody_wrote) {
  float* block = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&block), 1024), cudaSuccess);
  const uint64_t before = vramfit_gpu_device_reads();
  float value = 1;
  ASSERT_EQ(cudaMemcpy(&value, block, sizeof value, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(vramfit_gpu_device_reads(), before + 1);
  ASSERT_EQ(cudaMemcpy(block, &value, sizeof value, cudaMemcpyHostToDevice), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(&value, block, sizeof value, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(vramfit_gpu_device_reads(), before + 1);
  cudaFree(block);
}

TEST(CudaMemcpy, truth_values_of_nobody_have_the_answers_that_were_given) {
  char* block = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&block), 1024), cudaSuccess);
  const char no = 0;
  ASSERT_EQ(cudaMemcpy(block, &no, 1, cudaMemcpyHostToDevice), cudaSuccess);
  char known = 7, wide[2] = {7, 7}, unknown[4] = {7, 7, 7, 7};
  const uint64_t before = vramfit_gpu_truth_reads();
  vramfit_gpu_answer_truths(0b101);
  ASSERT_EQ(cudaMemcpy(&known, block, 1, cudaMemcpyDeviceToHost), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(wide, block + 512, 2, cudaMemcpyDeviceToHost), cudaSuccess);
  for (char& one : unknown) ASSERT_EQ(cudaMemcpy(&one, block + 512, 1, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(vramfit_gpu_truth_reads(), before + 4);
  EXPECT_EQ(known, 0);
  EXPECT_EQ(wide[0], 0);
  EXPECT_EQ(std::vector<int>(unknown, unknown + 4), (std::vector<int>{1, 0, 1, 0}));
  cudaFree(block);
}

// States as in ValueState: nothing known, chosen, known.
constexpr uint32_t kUnknown = 0, kAssumed = 2, kKnown = 3;

TEST(CudaMemcpy, tracked_values_are_known_where_the_host_wrote_them) {
  vramfit_gpu_track_values();
  char* block = nullptr;
  std::vector<char> host(kMiB, 'x');
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&block), 4 * kMiB), cudaSuccess);
  EXPECT_EQ(vramfit_gpu_value_state(block, 8), kUnknown);
  ASSERT_EQ(cudaMemcpy(block, host.data(), host.size(), cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(vramfit_gpu_value_state(block, host.size()), kKnown);
  vramfit_gpu_values_written(block + 8, 8, kAssumed);
  ASSERT_EQ(cudaMemcpy(block + 3 * kMiB, block, 32, cudaMemcpyDeviceToDevice), cudaSuccess);
  EXPECT_EQ(vramfit_gpu_value_state(block + 3 * kMiB, 8), kKnown);
  EXPECT_EQ(vramfit_gpu_value_state(block + 3 * kMiB, 16), kAssumed) << "a copy is known no better";
  EXPECT_EQ(vramfit_gpu_value_state(block + 3 * kMiB, 33), kUnknown);
  vramfit_gpu_set_value_state(block, 16, kUnknown);
  char back = 'y';
  ASSERT_EQ(cudaMemcpy(&back, block + 9, 1, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(back, 0);
  ASSERT_EQ(cudaMemset(block, 0, 16), cudaSuccess);
  EXPECT_EQ(vramfit_gpu_value_state(block, 16), kKnown) << "zeros that were asked for";
  cudaFree(block);
}

TEST(CudaMemset, writes_bytes_and_new_owners_see_none) {
  char* block = nullptr;
  char back = 0;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&block), 1024), cudaSuccess);
  ASSERT_EQ(cudaMemset(block, 7, 1024), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(&back, block + 1000, 1, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(back, 7);
  void* keep = nullptr;
  ASSERT_EQ(cudaMalloc(&keep, 512), cudaSuccess);  // so that the granule stays
  cudaFree(block);
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&block), 1024), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(&back, block + 1000, 1, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(back, 0);
  cudaFree(block);
  cudaFree(keep);
}

TEST(CudaMallocManaged, may_exceed_the_card) {
  void* block = nullptr;
  ASSERT_EQ(cudaMallocManaged(&block, 2 * kTotal, cudaMemAttachGlobal), cudaSuccess);
  EXPECT_EQ(free_bytes(), 0u);
  ASSERT_EQ(cudaFree(block), cudaSuccess);
  EXPECT_EQ(free_bytes(), kTotal - kContext);
}

TEST(CudaMallocAsync, reuses_what_its_pool_keeps_and_gives_back_at_a_synchronisation) {
  const size_t before = free_bytes();
  void* block = nullptr;
  ASSERT_EQ(cudaMallocAsync(&block, 10 * kMiB, nullptr), cudaSuccess);
  EXPECT_EQ(free_bytes(), before - 32 * kMiB);
  cudaMemPool_t pool = nullptr;
  ASSERT_EQ(cudaDeviceGetDefaultMemPool(&pool, 0), cudaSuccess);
  uint64_t used = 0;
  uint64_t reserved = 0;
  ASSERT_EQ(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used), cudaSuccess);
  ASSERT_EQ(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved), cudaSuccess);
  EXPECT_EQ(used, 10u * kMiB);
  EXPECT_EQ(reserved, 32u * kMiB);
  ASSERT_EQ(cudaFreeAsync(block, nullptr), cudaSuccess);
  EXPECT_EQ(free_bytes(), before - 32 * kMiB);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(free_bytes(), before);
  ASSERT_EQ(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemHigh, &reserved), cudaSuccess);
  EXPECT_GE(reserved, 32u * kMiB);
}

TEST(CudaMemPool, tells_who_may_reach_it_and_knows_no_other_handle) {
  cudaMemPool_t pool = nullptr;
  ASSERT_EQ(cudaDeviceGetDefaultMemPool(&pool, 0), cudaSuccess);
  cudaMemAccessDesc wanted = {};
  wanted.location = {.type = cudaMemLocationTypeDevice, .id = 0};
  wanted.flags = cudaMemAccessFlagsProtReadWrite;
  EXPECT_EQ(cudaMemPoolSetAccess(pool, &wanted, 1), cudaSuccess);
  EXPECT_EQ(cudaMemPoolSetAccess(pool, nullptr, 1), cudaErrorInvalidValue);
  cudaMemAccessFlags flags = {};
  EXPECT_EQ(cudaMemPoolGetAccess(&flags, pool, &wanted.location), cudaSuccess);
  EXPECT_EQ(flags, cudaMemAccessFlagsProtReadWrite);

  int stranger = 0;
  auto* const nobodys = reinterpret_cast<cudaMemPool_t>(&stranger);
  EXPECT_EQ(cudaMemPoolGetAccess(&flags, nobodys, &wanted.location), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemPoolSetAccess(nobodys, &wanted, 1), cudaErrorInvalidValue);
  wanted.location.id = 99;
  EXPECT_EQ(cudaMemPoolGetAccess(&flags, pool, &wanted.location), cudaErrorInvalidDevice);
}

TEST(Fork, spoils_cuda_in_the_child_when_the_parent_has_used_it) {
  ASSERT_EQ(cudaFree(nullptr), cudaSuccess);
  const int status = in_child([] {
    int count = -1;
    if (cudaGetDeviceCount(&count) != cudaErrorInitializationError || count != 0) return 1;
    void* block = &count;
    return cudaMalloc(&block, 1024) == cudaErrorInitializationError && block == nullptr ? 0 : 2;
  });
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
