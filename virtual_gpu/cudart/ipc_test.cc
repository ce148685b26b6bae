// Memory shared between two processes. The test's own process never uses CUDA: a fork after that would spoil it.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "virtual_gpu/testing/card_fixture.h"

namespace {

using vramfit::testing::CardEnvironment;
using vramfit::testing::in_child;
using vramfit::testing::kMiB;

const auto* const kEnvironment = ::testing::AddGlobalTestEnvironment(new CardEnvironment);

size_t free_bytes() {
  size_t free = 0;
  size_t total = 0;
  return cudaMemGetInfo(&free, &total) == cudaSuccess ? free : 0;
}

// What each process does; the number says where it went wrong.
int export_memory(int to_importer, int from_importer) {
  void* block = nullptr;
  void* again = nullptr;
  char byte = 0;
  cudaIpcMemHandle_t handle;
  if (cudaMalloc(&block, 8 * kMiB) != cudaSuccess) return 1;
  if (cudaIpcGetMemHandle(&handle, block) != cudaSuccess) return 2;
  if (cudaIpcOpenMemHandle(&again, handle, 0) == cudaSuccess) return 3;  // never in its own process
  if (write(to_importer, &handle, sizeof handle) != sizeof handle) return 4;
  return read(from_importer, &byte, 1) == 1 ? 0 : 5;
}

int import_memory(int from_exporter, int to_exporter) {
  void* block = nullptr;
  cudaIpcMemHandle_t handle;
  if (read(from_exporter, &handle, sizeof handle) != sizeof handle) return 11;
  const size_t before = free_bytes();
  if (cudaIpcOpenMemHandle(&block, handle, cudaIpcMemLazyEnablePeerAccess) != cudaSuccess) return 12;
  if (before == 0 || free_bytes() != before) return 13;
  static_cast<char*>(block)[8 * kMiB - 1] = 1;  // mapped to its last byte
  if (cudaIpcCloseMemHandle(block) != cudaSuccess) return 14;
  if (cudaIpcCloseMemHandle(block) == cudaSuccess) return 15;
  return write(to_exporter, "x", 1) == 1 ? 0 : 16;
}

TEST(CudaIpc, another_process_maps_the_memory_and_pays_only_for_its_context) {
  int there[2];
  int back[2];
  ASSERT_EQ(pipe(there), 0);
  ASSERT_EQ(pipe(back), 0);
  const pid_t exporter = fork();
  if (exporter == 0) {
    alarm(20);
    _exit(export_memory(there[1], back[0]));
  }
  const int status = in_child([&] {
    alarm(20);
    return import_memory(there[0], back[1]);
  });
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  int exported = -1;
  waitpid(exporter, &exported, 0);
  EXPECT_TRUE(WIFEXITED(exported));
  EXPECT_EQ(WEXITSTATUS(exported), 0);
}

TEST(CudaIpc, a_handle_of_garbage_is_refused) {
  const int status = in_child([] {
    void* block = nullptr;
    cudaIpcMemHandle_t handle = {};
    return cudaIpcOpenMemHandle(&block, handle, 0) == cudaErrorInvalidValue && block == nullptr ? 0 : 1;
  });
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
