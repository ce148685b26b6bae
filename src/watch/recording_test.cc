#include "watch/recording.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

namespace vramfit::watch {
namespace {

namespace fs = std::filesystem;
constexpr std::int64_t kRecordedSecond = 1'000'000'000;

// A machine that changes in every way: cards lost and back, processes that come and go.
model::MachineSample sample_at(int step) {
  model::MachineSample sample{.at_unix_ns = 1'795'000'000 * kRecordedSecond + step * kRecordedSecond};
  sample.driver = {.answers = true, .version = "580"};
  sample.host.name = "box";
  sample.host.memory_total_bytes = std::int64_t{64} << 30;
  for (int i = 0; i < 3; ++i) {
    model::CardReading card{.uuid = "GPU-" + std::to_string(i), .name = "Fake"};
    card.index = i;
    card.total_bytes = std::int64_t{24} << 30;
    card.used_bytes = std::int64_t{step} * 1'000'003 * (i + 1);
    card.temperature_celsius = 40 + step % 3;
    if (step % 7 == i) {
      card.problem = "fell off the bus";
      card.used_bytes = model::Absence::kLost;
    }
    sample.cards.push_back(std::move(card));
  }
  for (int i = step % 5; i < 4; ++i) {
    model::ProcessReading process{.pid = 100 + i, .name = "python", .command = "python train.py", .rank = "1"};
    process.state = static_cast<model::ProcessState>(step % 3);
    process.resident_bytes = step * 4096;
    process.uses.push_back({.card = "GPU-0", .used_bytes = step * 17});
    process.uses.push_back({.card = "GPU-2", .used_bytes = model::Absence::kNoPermission});
    sample.processes.push_back(std::move(process));
  }
  return sample;
}

class WatchRecording : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("watch." + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    path_ = folder_ / "record";
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(int first, int last, const RecordOptions& options = {}) {
    auto recorder = WatchRecorder::open(path_, options);
    ASSERT_TRUE(recorder) << recorder.error().what;
    for (int step = first; step < last; ++step) ASSERT_TRUE(recorder->add(sample_at(step)));
  }
  std::vector<model::MachineSample> read() const {
    std::vector<model::MachineSample> samples;
    auto source = open_watch_recording(path_);
    EXPECT_TRUE(source);
    while (source) {
      auto next = (*source)->next();
      if (!next || !*next) break;
      samples.push_back(std::move(**next));
    }
    return samples;
  }
  std::string bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void put(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }

  fs::path folder_, path_;
};

TEST_F(WatchRecording, what_is_read_is_what_was_written) {
  write(0, 1500);  // more than two groups
  const auto samples = read();
  ASSERT_EQ(samples.size(), 1500u);
  for (int i = 0; i < 1500; ++i) ASSERT_EQ(samples[static_cast<std::size_t>(i)], sample_at(i)) << i;
}

TEST_F(WatchRecording, a_sample_takes_little_room) {
  write(0, 1200);
  EXPECT_LT(fs::file_size(path_) / 1200, 400u);
}

TEST_F(WatchRecording, a_file_cut_anywhere_gives_all_samples_before_and_can_be_continued) {
  write(0, 40);
  const std::string whole = bytes();
  for (std::size_t cut = 0; cut < whole.size(); cut += 97) {
    put(whole.substr(0, cut));
    write(100, 102);
    const auto samples = read();
    ASSERT_GE(samples.size(), 2u) << cut;
    EXPECT_EQ(samples.back(), sample_at(101)) << cut;
    for (std::size_t i = 0; i + 2 < samples.size(); ++i) ASSERT_EQ(samples[i], sample_at(static_cast<int>(i))) << cut;
  }
}

TEST_F(WatchRecording, damage_costs_the_rest_of_its_group_and_nothing_else) {
  write(0, 1300);
  const std::string whole = bytes();
  std::mt19937 random(7);
  for (int round = 0; round < 30; ++round) {
    std::string damaged = whole;
    for (int i = 0; i < 3; ++i) damaged[random() % (damaged.size() / 3)] ^= static_cast<char>(1 + random() % 255);
    const DecodedFile decoded = decode_watch_recording(damaged);
    EXPECT_GT(decoded.damaged_bytes, 0);
    ASSERT_GE(decoded.samples.size(), 700u);  // the second and third group at least
    EXPECT_EQ(decoded.samples.back(), sample_at(1299));
    for (const auto& sample : decoded.samples) {
      ASSERT_EQ(sample, sample_at(static_cast<int>(sample.at_unix_ns / kRecordedSecond - 1'795'000'000)));
    }
  }
}

TEST_F(WatchRecording, bytes_of_any_kind_are_survived) {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    std::string payload(random() % 80, '\0');
    for (char& c : payload) c = static_cast<char>(random());
    if (!payload.empty()) payload[0] = "TES"[random() % 3];
    SampleDecoder decoder;
    std::vector<model::MachineSample> samples;
    decoder.decode(std::string("T\0\0\0\0\0", 6), samples);
    decoder.decode(payload, samples);
    EXPECT_LE(samples.size(), 1u);
  }
}

TEST_F(WatchRecording, it_rotates_and_reads_all_files_in_order) {
  write(0, 2500, {.limit = base::Bytes(30'000), .keep = 2});
  EXPECT_TRUE(fs::exists(path_.string() + ".2"));
  EXPECT_FALSE(fs::exists(path_.string() + ".3"));
  const auto samples = read();
  ASSERT_FALSE(samples.empty());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    ASSERT_EQ(samples[i], sample_at(static_cast<int>(2500 - samples.size() + i)));
  }
}

TEST_F(WatchRecording, a_file_of_somebody_else_is_refused_and_left_alone) {
  put("my thesis");
  EXPECT_FALSE(WatchRecorder::open(path_, {}));
  EXPECT_EQ(bytes(), "my thesis");
  EXPECT_FALSE(open_watch_recording(path_));
}

TEST_F(WatchRecording, two_writers_are_one_too_many) {
  auto first = WatchRecorder::open(path_, {});
  ASSERT_TRUE(first);
  EXPECT_FALSE(WatchRecorder::open(path_, {}));
}

// A flight of samples a second apart, with a hole in the middle of the file.
TEST_F(WatchRecording, reading_a_damaged_recording_tells_how_many_samples_are_lost) {
  write(0, 3 * kGroupSamples);
  std::string damaged = bytes();
  for (std::size_t at = damaged.size() / 2; at < damaged.size() / 2 + 40; ++at) damaged[at] ^= 0x55;
  put(damaged);
  auto source = open_watch_recording(path_);
  ASSERT_TRUE(source);
  std::int64_t read = 0;
  while (true) {
    const auto sample = (*source)->next();
    ASSERT_TRUE(sample);
    if (!*sample) break;
    ++read;
  }
  EXPECT_LT(read, 3 * kGroupSamples);
  EXPECT_EQ((*source)->lost().about, 3 * kGroupSamples - read);
  EXPECT_GT((*source)->lost().damaged_bytes, 0);
  EXPECT_FALSE((*source)->lost().at_the_end);
}

// The rest of the only group is whole, and tells changes to what is gone.
TEST_F(WatchRecording, samples_behind_one_flipped_bit_are_counted_without_a_later_group) {
  write(0, kGroupSamples);
  std::string damaged = bytes();
  damaged[damaged.size() / 2] ^= 0x01;
  put(damaged);
  auto source = open_watch_recording(path_);
  ASSERT_TRUE(source);
  std::int64_t read = 0;
  while (*(*source)->next()) ++read;
  EXPECT_GT(read, 0);
  // One more where the bit was in a frame that is no sample.
  EXPECT_LE(std::abs((*source)->lost().about - (kGroupSamples - read)), 1);
  EXPECT_FALSE((*source)->lost().at_the_end);
}

TEST_F(WatchRecording, a_recording_that_was_cut_off_breaks_off) {
  write(0, 20);
  put(bytes().substr(0, bytes().size() - end_frame().size() - 3));
  auto source = open_watch_recording(path_);
  ASSERT_TRUE(source);
  while (*(*source)->next()) {
  }
  EXPECT_EQ((*source)->lost().about, 1);
  EXPECT_TRUE((*source)->lost().at_the_end);
}

// Nothing in what is left is damaged.
TEST_F(WatchRecording, a_recording_that_was_cut_between_two_samples_has_no_end) {
  write(0, 20);
  const std::string whole = bytes();
  put(whole.substr(0, whole.rfind("VFW1", whole.size() - end_frame().size() - 1)));
  auto source = open_watch_recording(path_);
  ASSERT_TRUE(source);
  int read = 0;
  while (*(*source)->next()) ++read;
  EXPECT_EQ(read, 19);
  EXPECT_TRUE((*source)->lost().is_without_end);
  EXPECT_NE(to_string((*source)->lost()).find("no end"), std::string::npos);
}

TEST_F(WatchRecording, the_end_of_one_that_is_being_written_is_still_to_come) {
  auto recorder = WatchRecorder::open(path_, {});
  ASSERT_TRUE(recorder && recorder->add(sample_at(0)));
  auto source = open_watch_recording(path_);
  ASSERT_TRUE(source);
  while (*(*source)->next()) {
  }
  EXPECT_FALSE((*source)->lost().is_any());
}

TEST_F(WatchRecording, a_whole_recording_has_lost_nothing) {
  write(0, 5);
  auto source = open_watch_recording(path_);
  ASSERT_TRUE(source);
  while (*(*source)->next()) {
  }
  EXPECT_FALSE((*source)->lost().is_any());
}

// The limit on a file's size stands in for a full disk: a write is cut short, then refused.
TEST_F(WatchRecording, a_full_disk_loses_the_samples_of_that_time_only) {
  auto recorder = WatchRecorder::open(path_, {});
  ASSERT_TRUE(recorder);
  for (int step = 0; step < 20; ++step) ASSERT_TRUE(recorder->add(sample_at(step)));
  const auto before = ::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit tight{fs::file_size(path_) + 50, limit.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &tight);
  bool refused = false;
  for (int step = 20; step < 30; ++step) refused = !recorder->add(sample_at(step)) || refused;
  ::setrlimit(RLIMIT_FSIZE, &limit);
  ::signal(SIGXFSZ, before);
  EXPECT_TRUE(refused);
  EXPECT_TRUE(recorder->add(sample_at(30)));
  const auto samples = read();
  EXPECT_EQ(samples.back(), sample_at(30));
  EXPECT_EQ(decode_watch_recording(bytes()).damaged_bytes, 0);
}

}  // namespace
}  // namespace vramfit::watch
