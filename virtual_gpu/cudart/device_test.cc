// What needs two cards, and the host's own pages, through the runtime's public interface.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <vector>

#include "virtual_gpu/testing/card_fixture.h"

namespace {

using vramfit::testing::CardEnvironment;

vramfit::testing::SessionOptions two_cards() {
  vramfit::testing::SessionOptions options;
  options.cards.push_back(options.cards[0]);
  return options;
}

const auto* const kEnvironment = ::testing::AddGlobalTestEnvironment(new CardEnvironment(two_cards()));

TEST(Cards, reach_each_other_but_not_themselves) {
  int can = -1;
  ASSERT_EQ(cudaDeviceCanAccessPeer(&can, 0, 1), cudaSuccess);
  EXPECT_EQ(can, 1);
  ASSERT_EQ(cudaDeviceCanAccessPeer(&can, 1, 1), cudaSuccess);
  EXPECT_EQ(can, 0);
  EXPECT_EQ(cudaDeviceCanAccessPeer(&can, 0, 2), cudaErrorInvalidDevice);
}

TEST(Cards, enable_access_once) {
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
  ASSERT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaSuccess);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
  EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaSuccess);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaErrorInvalidDevice);
}

TEST(Cards, tell_how_they_are_connected) {
  int value = -1;
  ASSERT_EQ(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 1), cudaSuccess);
  EXPECT_EQ(value, 1);
  EXPECT_NE(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 0), cudaSuccess);
}

TEST(HostMemory, pinned_is_known_and_freed_once) {
  void* pinned = nullptr;
  ASSERT_EQ(cudaHostAlloc(&pinned, 4096, cudaHostAllocPortable), cudaSuccess);
  unsigned flags = ~0u;
  ASSERT_EQ(cudaHostGetFlags(&flags, pinned), cudaSuccess);
  EXPECT_NE(flags & cudaHostAllocPortable, 0u);
  void* seen = nullptr;
  ASSERT_EQ(cudaHostGetDevicePointer(&seen, pinned, 0), cudaSuccess);
  EXPECT_EQ(seen, pinned);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(pinned), cudaErrorInvalidValue);
}

TEST(HostMemory, the_callers_pages_are_registered_once) {
  std::vector<char> pages(1 << 16);
  ASSERT_EQ(cudaHostRegister(pages.data(), pages.size(), cudaHostRegisterDefault), cudaSuccess);
  cudaPointerAttributes attributes;
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, pages.data()), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  EXPECT_EQ(cudaHostRegister(pages.data(), pages.size(), cudaHostRegisterDefault),
            cudaErrorHostMemoryAlreadyRegistered);
  EXPECT_EQ(cudaHostUnregister(pages.data()), cudaSuccess);
  EXPECT_EQ(cudaHostUnregister(pages.data()), cudaErrorHostMemoryNotRegistered);
}

}  // namespace
