// Random programs of blocks and segments in several processes: what is gathered is what src/verify counts.
#include "facts/run_facts.h"

#include <gtest/gtest.h>

#include <random>

#include "facts/recordings.h"
#include "liveness/peaks.h"
#include "model/recording.h"
#include "verify/peaks.h"
#include "verify/placement.h"

namespace vramfit::facts {
namespace {

// One process: segments of the driver's, and blocks cut from them that never overlap.
class Program {
 public:
  Program(std::mt19937_64& random, std::int64_t process) : random_(random), now_(process) {}

  model::Recording run(int events) {
    for (int i = 0; i < events; ++i) {
      switch (random_() % 4) {
        case 0:
          add_segment();
          break;
        case 1:
          free_block();
          break;
        default:
          add_block();
      }
    }
    auto storage = std::make_shared<std::vector<vf_record>>(std::move(records_));
    model::Recording recording;
    recording.records = *storage;
    recording.storage = storage;
    return recording;
  }

 private:
  static constexpr std::int64_t kSegment = 1 << 20;
  static constexpr std::int64_t kBlock = kSegment / 8;

  // PyTorch asks for a segment when it has a block to put there, and counts it with that block: no event of another
  // process lies between them here.
  void add_segment() {
    pass_time();
    const std::uint64_t address = (segments_ + 1) * std::uint64_t{kSegment} * 2;
    reserved_ += kSegment;
    emit(VF_RECORD_SEGMENT_ALLOC, address, kSegment);
    for (int i = 0; i < 8; ++i) free_.push_back(address + static_cast<std::uint64_t>(i * kBlock));
    ++segments_;
    put_block();
  }
  void add_block() {
    if (free_.empty()) return add_segment();
    pass_time();
    put_block();
  }
  void put_block() {
    const std::size_t at = random_() % free_.size();
    const std::uint64_t address = free_[at];
    free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(at));
    const std::int64_t size = kBlock - static_cast<std::int64_t>(random_() % 4) * 512;
    allocated_ += size;
    emit(VF_RECORD_BLOCK_ALLOC, address, size);
    living_.emplace_back(address, size);
  }
  void free_block() {
    if (living_.empty()) return;
    pass_time();
    const std::size_t at = random_() % living_.size();
    const auto [address, size] = living_[at];
    living_.erase(living_.begin() + static_cast<std::ptrdiff_t>(at));
    allocated_ -= size;
    emit(VF_RECORD_BLOCK_FREE, address, size);
    free_.push_back(address);
  }
  void pass_time() { now_ += 8 * (1 + static_cast<std::int64_t>(random_() % 1000)); }  // below 8: the process
  void emit(vf_record_kind kind, std::uint64_t address, std::int64_t size) {
    vf_record record{};
    record.kind = static_cast<decltype(record.kind)>(kind);
    record.address = address;
    record.size = size;
    record.a = allocated_;
    record.b = reserved_;
    record.phase = VF_PHASE_TRAIN;
    record.at_ns = now_;
    records_.push_back(record);
  }

  std::mt19937_64& random_;
  std::vector<vf_record> records_;
  std::vector<std::pair<std::uint64_t, std::int64_t>> living_;
  std::vector<std::uint64_t> free_;
  std::uint64_t segments_ = 0;
  std::int64_t now_, allocated_ = 0, reserved_ = 0;
};

template <class Element>
std::vector<verify::Placed> placed(const std::vector<Element>& all, int process) {
  std::vector<verify::Placed> found;
  for (const Element& one : all) {
    if (one.process == process) found.push_back({one.address, one.size.count(), one.born, one.died});
  }
  return found;
}

TEST(RunFacts, of_random_programs_have_the_peaks_and_places_that_are_counted_another_way) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<model::Recording> recordings;
    for (std::uint64_t process = 0; process <= seed % 3; ++process)
      recordings.push_back(Program(random, static_cast<std::int64_t>(process)).run(120));
    const auto counted = verify::count_peaks(recordings);
    const auto facts = gather(recordings);
    ASSERT_EQ(facts->histories.size(), 1u);
    const liveness::CardHistory& history = facts->histories[0];
    const model::Peaks peaks = liveness::find_peaks(history);
    EXPECT_EQ(peaks.allocated, counted.at(0).allocated) << "seed " << seed;
    EXPECT_EQ(peaks.reserved, counted.at(0).reserved) << "seed " << seed;
    for (int process = 0; process < std::ssize(recordings); ++process) {
      const auto wrong = verify::check_placement(placed(history.blocks, process), placed(history.segments, process));
      EXPECT_TRUE(wrong.empty()) << "seed " << seed << ": " << wrong.front();
    }
  }
}

}  // namespace
}  // namespace vramfit::facts
