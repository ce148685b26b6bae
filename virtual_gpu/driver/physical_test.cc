// Virtual memory management and functions by name, through the driver's public interface.
#include <cuda.h>
#include <fcntl.h>
#include <gtest/gtest.h>

#include <cstring>

#include "virtual_gpu/testing/card_fixture.h"
#include "virtual_gpu/testing/driver_context.h"

namespace {

using vramfit::testing::CardEnvironment;
using vramfit::testing::kMiB;

const auto* const kEnvironment = ::testing::AddGlobalTestEnvironment(new CardEnvironment);

class PhysicalMemory : public vramfit::testing::DriverContext {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(DriverContext::SetUp());
    ASSERT_EQ(cuMemAddressReserve(&range_, 64 * kMiB, 0, 0, 0), CUDA_SUCCESS);
    before_ = used();
  }
  void TearDown() override { EXPECT_EQ(cuMemAddressFree(range_, 64 * kMiB), CUDA_SUCCESS); }

  static long long used() { return CardEnvironment::ledger().use[0].used_bytes; }
  static CUmemGenericAllocationHandle create(size_t bytes) {
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_EQ(cuMemCreate(&handle, bytes, &properties, 0), CUDA_SUCCESS);
    return handle;
  }
  static CUresult allow(CUdeviceptr address, size_t bytes) {
    CUmemAccessDesc access = {};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return cuMemSetAccess(address, bytes, &access, 1);
  }

  CUdeviceptr range_ = 0;
  long long before_ = 0;
};

TEST_F(PhysicalMemory, is_charged_when_created_and_addresses_are_not) {
  const auto handle = create(2 * kMiB);
  EXPECT_EQ(used(), before_ + 2 * kMiB);
  EXPECT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
  EXPECT_EQ(used(), before_);
  EXPECT_EQ(cuMemRelease(handle), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(PhysicalMemory, released_while_mapped_stays_until_it_is_unmapped) {
  const auto handle = create(2 * kMiB);
  ASSERT_EQ(cuMemMap(range_, 2 * kMiB, 0, handle, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
  EXPECT_EQ(used(), before_ + 2 * kMiB);
  ASSERT_EQ(cuMemUnmap(range_, 2 * kMiB), CUDA_SUCCESS);
  EXPECT_EQ(used(), before_);
}

TEST_F(PhysicalMemory, unmapped_while_held_stays_until_it_is_released) {
  const auto handle = create(2 * kMiB);
  ASSERT_EQ(cuMemMap(range_, 2 * kMiB, 0, handle, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemUnmap(range_, 2 * kMiB), CUDA_SUCCESS);
  EXPECT_EQ(used(), before_ + 2 * kMiB);
  ASSERT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
  EXPECT_EQ(used(), before_);
}

TEST_F(PhysicalMemory, a_retained_handle_keeps_it_too) {
  const auto handle = create(2 * kMiB);
  ASSERT_EQ(cuMemMap(range_, 2 * kMiB, 0, handle, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
  CUmemGenericAllocationHandle again = 0;
  ASSERT_EQ(cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(range_ + kMiB)), CUDA_SUCCESS);
  EXPECT_EQ(again, handle);
  ASSERT_EQ(cuMemUnmap(range_, 2 * kMiB), CUDA_SUCCESS);
  EXPECT_EQ(used(), before_ + 2 * kMiB);
  ASSERT_EQ(cuMemRelease(again), CUDA_SUCCESS);
  EXPECT_EQ(used(), before_);
}

TEST_F(PhysicalMemory, one_call_unmaps_several_but_never_a_part) {
  const auto first = create(2 * kMiB);
  const auto second = create(4 * kMiB);
  ASSERT_EQ(cuMemMap(range_, 2 * kMiB, 0, first, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuMemMap(range_ + 2 * kMiB, 4 * kMiB, 0, second, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemUnmap(range_, 4 * kMiB), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAddressFree(range_, 64 * kMiB), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemUnmap(range_, 6 * kMiB), CUDA_SUCCESS);
  cuMemRelease(first);
  cuMemRelease(second);
  EXPECT_EQ(used(), before_);
}

TEST_F(PhysicalMemory, can_be_written_once_access_is_set_and_is_zero_when_mapped_again) {
  const auto handle = create(2 * kMiB);
  ASSERT_EQ(cuMemMap(range_, 2 * kMiB, 0, handle, 0), CUDA_SUCCESS);
  ASSERT_EQ(allow(range_, 2 * kMiB), CUDA_SUCCESS);
  int value = 42;
  ASSERT_EQ(cuMemcpyHtoD(range_ + 64, &value, sizeof value), CUDA_SUCCESS);
  value = 0;
  ASSERT_EQ(cuMemcpyDtoH(&value, range_ + 64, sizeof value), CUDA_SUCCESS);
  EXPECT_EQ(value, 42);
  ASSERT_EQ(cuMemUnmap(range_, 2 * kMiB), CUDA_SUCCESS);
  ASSERT_EQ(cuMemMap(range_, 2 * kMiB, 0, handle, 0), CUDA_SUCCESS);
  ASSERT_EQ(allow(range_, 2 * kMiB), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyDtoH(&value, range_ + 64, sizeof value), CUDA_SUCCESS);
  EXPECT_EQ(value, 0);
  ASSERT_EQ(cuMemUnmap(range_, 2 * kMiB), CUDA_SUCCESS);
  cuMemRelease(handle);
}

TEST_F(PhysicalMemory, exported_and_imported_is_charged_once) {
  const auto handle = create(2 * kMiB);
  int file = -1;
  ASSERT_EQ(cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0), CUDA_SUCCESS);
  CUmemGenericAllocationHandle imported = 0;
  ASSERT_EQ(cuMemImportFromShareableHandle(&imported, reinterpret_cast<void*>(static_cast<intptr_t>(file)),
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
            CUDA_SUCCESS);
  EXPECT_EQ(used(), before_ + 2 * kMiB);
  ASSERT_EQ(cuMemRelease(imported), CUDA_SUCCESS);
  EXPECT_EQ(used(), before_ + 2 * kMiB);
  ASSERT_EQ(cuMemRelease(handle), CUDA_SUCCESS);
  EXPECT_EQ(used(), before_);
  close(file);
}

TEST_F(PhysicalMemory, sizes_below_a_granule_and_foreign_files_are_refused) {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemGenericAllocationHandle handle = 1;
  EXPECT_EQ(cuMemCreate(&handle, kMiB, &properties, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(handle, 0u);
  const int file = open("/dev/null", O_RDONLY);
  EXPECT_EQ(cuMemImportFromShareableHandle(&handle, reinterpret_cast<void*>(static_cast<intptr_t>(file)),
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
            CUDA_ERROR_INVALID_VALUE);
  close(file);
}

TEST(CuGetProcAddress, answers_the_form_of_the_version_asked_for) {
  void* function = nullptr;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  ASSERT_EQ(cuGetProcAddress("cuMemAlloc", &function, 12000, 0, &status), CUDA_SUCCESS);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SUCCESS);
  EXPECT_EQ(function, reinterpret_cast<void*>(&cuMemAlloc));  // cuda.h calls cuMemAlloc_v2 so
  EXPECT_NE(cuGetProcAddress("cuNoSuchThing", &function, 13000, 0, &status), CUDA_SUCCESS);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  EXPECT_EQ(function, nullptr);
  EXPECT_NE(cuGetProcAddress("cuMemCreate", &function, 9000, 0, &status), CUDA_SUCCESS);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
}

TEST(CuContext, the_stack_gives_back_what_was_current) {
  ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
  CUcontext primary = nullptr;
  CUcontext current = nullptr;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&primary, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxPushCurrent(primary), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxGetCurrent(&current), CUDA_SUCCESS);
  EXPECT_EQ(current, primary);
  ASSERT_EQ(cuCtxPopCurrent(&current), CUDA_SUCCESS);
  EXPECT_EQ(current, primary);
}

TEST(CuModule, machine_code_for_another_card_is_refused) {
  char elf[64] =
      "\x7f"
      "ELF";
  elf[8] = 7;
  elf[48] = 90;  // sm_90, on a card of 8.6
  CUmodule module = nullptr;
  EXPECT_EQ(cuModuleLoadData(&module, elf), CUDA_ERROR_NO_BINARY_FOR_GPU);
  elf[48] = 80;
  ASSERT_EQ(cuModuleLoadData(&module, elf), CUDA_SUCCESS);
  CUfunction function = nullptr;
  ASSERT_EQ(cuModuleGetFunction(&function, module, "add"), CUDA_SUCCESS);
  EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 128, 1, 1, 0, nullptr, nullptr, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 2048, 1, 1, 0, nullptr, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
}

TEST(CuDeviceGetAttribute, knows_the_card_and_refuses_what_it_does_not_know) {
  int value = -1;
  ASSERT_EQ(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0), CUDA_SUCCESS);
  EXPECT_EQ(value, 6);
  EXPECT_EQ(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(value, 0);
  EXPECT_EQ(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 7), CUDA_ERROR_INVALID_DEVICE);
}

}  // namespace
