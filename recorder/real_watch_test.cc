// The library that watches a real card, on a driver and an NVML whose answers are set here.
#include "real_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "testing/fake_card.h"
#include "vramfit/recording.h"

namespace {

struct Emitted {
  int kind;
  int64_t size, used;
  friend bool operator==(const Emitted&, const Emitted&) = default;
};

std::vector<Emitted> emitted;
std::vector<std::string> notes;

}  // namespace

// The recorder's part.
#define EXPORTED extern "C" __attribute__((visibility("default")))
EXPORTED void vramfit_emit(uint8_t kind, uint8_t, uint64_t, int64_t size, int64_t a, int64_t, const char*) {
  emitted.push_back({kind, size, a});
}
EXPORTED void vramfit_note(const char* json) { notes.emplace_back(json); }

extern "C" void vramfit_real_block(uint32_t device, int64_t reserved);
extern "C" void vramfit_real_moment();

namespace vramfit::recorder {
namespace {

constexpr int64_t kMib = 1 << 20;
// An H200's figures; what NVML lists for the process is less than what its context takes of the card.
constexpr int64_t kContext = 543162368, kDriversOwn = 9240576;

// A job on a card that nothing has used yet: each test has one of its own.
class RealWatch : public ::testing::Test {
 protected:
  RealWatch() {
    emitted.clear();
    notes.clear();
  }

  void hold(int64_t bytes) {
    held_ = bytes;
    card().used = bytes + kDriversOwn + others;
    const auto own = static_cast<uint32_t>(getpid());
    card().processes = {{own + 1, static_cast<uint64_t>(others), 0, 0},
                        {own, tells_figure ? static_cast<uint64_t>(bytes) : abi::nvml::kNoBytes, 0, 0}};
  }
  void take(int64_t bytes) { hold(held_ + bytes); }

  void give(uint64_t address, int64_t size) {
    malloc_begins();
    take(size);
    malloc_ends(device, address, size);
  }
  void reserve(uint64_t address, int64_t size) {
    give(address, size);
    report(reserved_ + size);
  }
  void report(int64_t reserved) {
    reserved_ = reserved;
    vramfit_real_block(static_cast<uint32_t>(device), reserved);
  }
  void give_back(uint64_t address, int64_t size) {
    take(-size);
    segment_freed(device, address, size);
  }
  // Often enough for another look, which comes some time after the last one.
  static void end_steps() {
    const std::size_t before = emitted.size();
    for (int i = 0; i < 20 && emitted.size() == before; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      vramfit_real_moment();
    }
  }
  static void end_steps_until_something_is_told() {
    const std::size_t before = emitted.size();
    for (int i = 0; i < 500 && emitted.size() == before; ++i) end_steps();
  }
  static Emitted context(int64_t size, int64_t used) { return {VF_RECORD_CONTEXT, size, used}; }
  static Emitted libraries(int64_t size, int64_t used) { return {VF_RECORD_LIBRARY, size, used}; }

  testing::FakeCard& card() const { return *testing::fake_card(device); }

  static inline int next_device = 0;
  const int device = next_device++;
  int64_t others = int64_t{3} << 30;
  bool tells_figure = true;

 private:
  int64_t held_ = 0, reserved_ = 0;
};

TEST_F(RealWatch, tells_the_card_once) {
  hold(kContext);
  reserve(0x100, 2 * kMib);
  reserve(0x200, 20 * kMib);
  const std::string number = std::to_string(device);
  EXPECT_EQ(
      notes,
      (std::vector<std::string>{R"({"kind":"real_card","device":)" + number +
                                R"(,"name":"NVIDIA H200","uuid":"GPU-10111213-1415-1617-1819-1a1b1c1d1e0)" + number +
                                R"(","driver":"580.159.04","total_bytes":150109880320,"tells_own":true})"}));
}

TEST_F(RealWatch, tells_the_context_from_what_came_later_and_from_what_others_hold) {
  hold(kContext);
  reserve(0x100, 2 * kMib);
  const int64_t outside = kContext + kDriversOwn + others;
  EXPECT_EQ(emitted, (std::vector{context(kContext, outside + 2 * kMib)}));
  take(96 * kMib);  // kernels
  reserve(0x200, 20 * kMib);
  EXPECT_EQ(emitted.back(), libraries(96 * kMib, outside + 118 * kMib));
  take(8 * kMib);  // more of them, with nothing reserved
  end_steps_until_something_is_told();
  EXPECT_EQ(emitted.back(), libraries(8 * kMib, outside + 126 * kMib));
  others += 100 * kMib;
  take(0);
  end_steps_until_something_is_told();
  EXPECT_EQ(emitted.back(), libraries(0, outside + 226 * kMib));
  end_steps();
  EXPECT_EQ(emitted.size(), 4U) << "nothing has changed";
}

TEST_F(RealWatch, takes_no_segment_for_a_library) {
  hold(kContext);
  reserve(0x100, 2 * kMib);
  reserve(0x200, 20 * kMib);
  give(0x300, 30 * kMib);  // PyTorch has not told of it
  end_steps();
  report(52 * kMib);
  give_back(0x200, 20 * kMib);  // nor does it of this: torch.cuda.empty_cache()
  end_steps();
  malloc_begins();
  take(40 * kMib);  // in another thread, under way
  end_steps();
  malloc_ends(device, 0x400, 40 * kMib);
  report(72 * kMib);
  for (const Emitted& one : emitted) {
    EXPECT_EQ(one.size, one.kind == VF_RECORD_CONTEXT ? kContext : 0) << one.used;
  }
}

TEST_F(RealWatch, takes_expandable_segments_for_pytorchs) {
  hold(kContext + 20 * kMib);
  report(20 * kMib);
  take(60 * kMib);
  report(80 * kMib);
  EXPECT_EQ(emitted.front().size, kContext);
  EXPECT_EQ(emitted.back().size, 0);
}

TEST_F(RealWatch, counts_what_cuda_can_give_by_an_older_nvml_too) {
  card().has_memory_v2 = false;  // whose `used` holds the driver's reserve
  hold(kContext);
  reserve(0x100, 2 * kMib);
  EXPECT_EQ(emitted, (std::vector{context(kContext, card().used)}));
}

TEST_F(RealWatch, says_where_nvml_tells_no_figure_of_the_process) {
  tells_figure = false;  // WSL
  hold(kContext);
  reserve(0x100, 2 * kMib);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_TRUE(notes[0].contains(R"("tells_own":false)"));
  EXPECT_EQ(emitted, (std::vector{libraries(0, card().used)})) << "of whom it is, is not known";
}

TEST_F(RealWatch, does_not_take_another_namespaces_process_for_its_own) {
  hold(1 * kMib);  // somebody who has our number
  card().used = kContext + 22 * kMib;
  report(20 * kMib);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_TRUE(notes[0].contains(R"("tells_own":false)"));
  EXPECT_EQ(emitted, (std::vector{libraries(0, kContext + 22 * kMib)}));
}

TEST_F(RealWatch, says_where_nvml_refuses) {
  card().process_answer = abi::nvml::kNoPermission;
  hold(kContext);
  reserve(0x100, 2 * kMib);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_TRUE(notes[0].contains(R"("tells_own":false)"));
}

}  // namespace
}  // namespace vramfit::recorder
