// NVTX 2 needs no card and no ledger.
#include <gtest/gtest.h>

#include <cstdint>
#include <thread>

extern "C" {
int nvtxRangePushA(const char*);
int nvtxRangePop();
uint64_t nvtxRangeStartA(const char*);
void nvtxRangeEnd(uint64_t);
void nvtxMarkA(const char*);
void* nvtxDomainCreateA(const char*);
void nvtxDomainDestroy(void*);
int nvtxDomainRangePushEx(void*, const void*);
int nvtxDomainRangePop(void*);
void* nvtxDomainRegisterStringA(void*, const char*);
const void* nvtxGetExportTable(uint32_t);
}

namespace {

TEST(Nvtx, levels_count_from_zero_and_come_back) {
  EXPECT_EQ(nvtxRangePushA("step"), 0);
  EXPECT_EQ(nvtxRangePushA("forward"), 1);
  EXPECT_EQ(nvtxRangePop(), 1);
  EXPECT_EQ(nvtxRangePop(), 0);
  EXPECT_LT(nvtxRangePop(), 0);
  EXPECT_EQ(nvtxRangePushA("after too many pops"), 0);
  EXPECT_EQ(nvtxRangePop(), 0);
}

TEST(Nvtx, a_thread_has_levels_of_its_own) {
  EXPECT_EQ(nvtxRangePushA("here"), 0);
  std::thread([] { EXPECT_EQ(nvtxRangePushA("there"), 0); }).join();
  EXPECT_EQ(nvtxRangePop(), 0);
}

TEST(Nvtx, a_domain_has_levels_of_its_own) {
  void* domain = nvtxDomainCreateA("library");
  ASSERT_NE(domain, nullptr);
  EXPECT_EQ(nvtxRangePushA("outside"), 0);
  EXPECT_EQ(nvtxDomainRangePushEx(domain, nullptr), 0);
  EXPECT_EQ(nvtxDomainRangePop(domain), 0);
  EXPECT_EQ(nvtxRangePop(), 0);
  EXPECT_NE(nvtxDomainRegisterStringA(domain, "name"), nullptr);
  nvtxDomainDestroy(domain);
}

TEST(Nvtx, ranges_across_threads_have_ids_of_their_own) {
  nvtxMarkA("a mark");
  const uint64_t first = nvtxRangeStartA("one");
  const uint64_t second = nvtxRangeStartA("two");
  EXPECT_NE(first, 0u);
  EXPECT_NE(first, second);
  nvtxRangeEnd(first);
  nvtxRangeEnd(second);
  EXPECT_EQ(nvtxGetExportTable(1), nullptr);
}

}  // namespace
