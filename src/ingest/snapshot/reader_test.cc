#include "ingest/snapshot/reader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "base/file.h"

namespace vramfit::ingest {
namespace {

using namespace std::string_literals;
namespace fs = std::filesystem;

const fs::path kFixtures = fs::path(VRAMFIT_SOURCE_DIR) / "fixtures" / "snapshots";

model::Snapshot read(const std::string& name) {
  auto snapshot = read_snapshot(kFixtures / name);
  EXPECT_TRUE(snapshot) << name << ": " << snapshot.error().what;
  return snapshot ? std::move(*snapshot) : model::Snapshot{};
}

base::Result<model::Snapshot> parse(std::string_view bytes, SnapshotLimits limits = {}) {
  return parse_snapshot(std::as_bytes(std::span(bytes)), "test", limits);
}

TEST(Snapshot, of_2_0_has_sizes_and_stacks_from_its_history_and_addresses_from_its_sizes) {
  const auto snapshot = read("torch-2.0-by-hand.pickle");
  ASSERT_EQ(snapshot.segments.size(), 1u);
  const model::Segment& segment = snapshot.segments[0];
  ASSERT_EQ(segment.blocks.size(), 3u);
  EXPECT_EQ(segment.blocks[1].address, segment.address + (4u << 20));
  EXPECT_EQ(segment.blocks[0].requested_size, (4 << 20) - 100);
  EXPECT_EQ(segment.blocks[1].state, model::BlockState::kActivePendingFree);
  ASSERT_NE(segment.blocks[0].history, 0u);
  EXPECT_EQ(snapshot.histories[segment.blocks[0].history - 1].size(), 2u);
  ASSERT_EQ(snapshot.stack(segment.blocks[0].stack).size(), 2u);
  EXPECT_EQ(snapshot.text(snapshot.frame(snapshot.stack(segment.blocks[0].stack)[0]).function), "forward");
  ASSERT_EQ(snapshot.traces.size(), 2u) << "one a device, the second never used";
  EXPECT_EQ(snapshot.traces[0].back().device_free(), 123);
  EXPECT_FALSE(snapshot.settings);
}

TEST(Snapshot, of_2_14_has_host_memory_metadata_and_settings) {
  const auto snapshot = read("torch-2.14.0.pickle");
  EXPECT_EQ(snapshot.torch_at_least, "2.14");
  ASSERT_FALSE(snapshot.host_trace.empty());
  ASSERT_FALSE(snapshot.host_segments.empty());
  EXPECT_EQ(snapshot.host_segments[0].device, -1);
  ASSERT_TRUE(snapshot.settings);
  EXPECT_EQ(snapshot.settings->max_split_size, std::nullopt) << "unlimited";
  EXPECT_EQ(snapshot.settings->roundup_power2_divisions.size(), 16u);
  EXPECT_EQ(snapshot.annotations.size() % 2, 0u);
  bool has_metadata = false, has_pool = false;
  for (const auto& entry : snapshot.traces.at(0)) {
    const auto& context = snapshot.context(entry.context);
    has_metadata |= entry.action == model::TraceAction::kAlloc && snapshot.text(context.user_metadata) == "epoch 1";
    has_pool |= context.pool && *context.pool != model::PoolId{};
  }
  EXPECT_TRUE(has_metadata);
  EXPECT_TRUE(has_pool) << "the CUDA graph's";
}

TEST(Snapshot, of_every_release_tiles_its_segments_with_blocks_and_sums_them) {
  for (const auto& file : fs::directory_iterator(kFixtures)) {
    const std::string name = file.path().filename();
    if (file.path().extension() != ".pickle") continue;
    for (const auto& segment : read(name).segments) {
      std::uint64_t next = segment.address;
      std::int64_t allocated = 0, active = 0;
      for (const auto& block : segment.blocks) {
        EXPECT_EQ(block.address, next) << name;
        next += static_cast<std::uint64_t>(block.size);
        if (block.state == model::BlockState::kActiveAllocated) allocated += block.size;
        if (block.state != model::BlockState::kInactive) active += block.size;
      }
      EXPECT_EQ(next, segment.address + static_cast<std::uint64_t>(segment.total_size)) << name;
      EXPECT_EQ(allocated, segment.allocated_size) << name;
      EXPECT_EQ(active, segment.active_size) << name;
    }
  }
}

TEST(Snapshot, an_expandable_one_says_so) {
  const auto snapshot = read("torch-2.12.1-expandable.pickle");
  EXPECT_TRUE(snapshot.settings && snapshot.settings->expandable_segments);
  EXPECT_EQ(snapshot.settings->conf, "expandable_segments:True");
  EXPECT_TRUE(snapshot.segments.at(0).is_expandable);
  bool is_mapped = false;
  for (const auto& entry : snapshot.traces.at(0)) is_mapped |= entry.action == model::TraceAction::kSegmentMap;
  EXPECT_TRUE(is_mapped);
}

TEST(Snapshot, every_packing_is_recognised_by_its_first_bytes) {
  for (const auto& file : fs::directory_iterator(kFixtures)) {
    const auto extension = file.path().extension();
    if (extension == ".py" || extension == ".md" || file.path().filename() == "torch-2.12.1-saved-old.pt") continue;
    const auto bytes = base::read_file(file.path());
    ASSERT_TRUE(bytes);
    EXPECT_TRUE(sniff_snapshot(std::as_bytes(std::span(*bytes)).first(std::min<std::size_t>(512, bytes->size()))))
        << file.path();
  }
  EXPECT_FALSE(sniff_snapshot(std::as_bytes(std::span("segments of text, and no pickle"))));
}

TEST(Snapshot, a_cut_archive_gives_what_came_before_the_cut) {
  for (const char* name : {"torch-2.12.1.pickle", "torch-2.12.1.pickle.gz", "torch-2.12.1-saved.pt"}) {
    const auto whole = base::read_file(kFixtures / name);
    ASSERT_TRUE(whole);
    const auto cut = parse(std::string_view(*whole).substr(0, whole->size() * 7 / 10));
    ASSERT_TRUE(cut) << name << ": " << cut.error().what;
    EXPECT_TRUE(cut->truncated_at) << name;
    EXPECT_FALSE(cut->damage.empty()) << name;
    EXPECT_FALSE(cut->segments.empty()) << name;
  }
}

TEST(Snapshot, damage_in_the_middle_keeps_what_came_before) {
  auto bytes = *base::read_file(kFixtures / "torch-2.12.1.pickle");
  bytes.replace(bytes.size() * 3 / 4, 4, "\x01\x01\x01\x01");
  const auto damaged = parse(bytes);
  ASSERT_TRUE(damaged);
  EXPECT_EQ(damaged->segments.size(), read("torch-2.12.1.pickle").segments.size());
  EXPECT_GT(*damaged->truncated_at, 0);
}

// The pickle is whole and makes sense: only the archive's checksum tells.
TEST(Snapshot, a_changed_name_in_an_archive_is_damage) {
  auto bytes = *base::read_file(kFixtures / "torch-2.12.1-saved.pt");
  EXPECT_EQ(parse(bytes)->damage, "");
  const std::size_t at = bytes.find("active_allocated");
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, 16, "active_allocater");
  const auto changed = parse(bytes);
  ASSERT_TRUE(changed);
  EXPECT_TRUE(changed->truncated_at);
  EXPECT_NE(changed->damage.find("checksum"), std::string::npos) << changed->damage;
}

TEST(Snapshot, what_is_none_is_an_error_that_says_what_to_do) {
  const auto empty = parse("");
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().what, "the file is empty");
  const auto other = parse("\x80\x04}(X\x05\x00\x00\x00modelK\x01u."s);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().what, "this pickle is no memory snapshot");
  EXPECT_NE(other.error().remedy.find(R"(it holds {"model":1})"), std::string::npos) << other.error().remedy;
  const auto text = parse("Traceback (most recent call last):");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().where.substr(0, 12), "test: offset");
  const auto stranger = parse("\x80\x04}(X\x08\x00\x00\x00segments]K\x01"s + "au."s);
  EXPECT_FALSE(stranger) << "somebody else's segments";
}

TEST(Snapshot, fields_of_wrong_types_are_left_out_and_counted) {
  // {'segments': [{'address': 'x', 'total_size': 4, 'blocks': 7}]}
  const auto unread = parse(
      "\x80\x02}X\x08\x00\x00\x00segments]}(X\x07\x00\x00\x00"
      "addressX\x01\x00\x00\x00xX\x0a\x00\x00\x00total_sizeK\x04X\x06\x00\x00\x00"
      "blocksK\x07uas."s);
  ASSERT_TRUE(unread) << unread.error().what;
  ASSERT_EQ(unread->segments.size(), 1u);
  EXPECT_EQ(unread->segments[0].total_size, 4);
  EXPECT_EQ(unread->unread.at("segment.address is no 64-bit integer").count, 1);
  EXPECT_EQ(unread->unread.at("segment.blocks is no list of blocks").count, 1);
}

TEST(Snapshot, a_folder_a_missing_file_and_a_pipe_are_refused) {
  EXPECT_FALSE(read_snapshot(kFixtures));
  EXPECT_FALSE(read_snapshot(kFixtures / "none.pickle"));
  const fs::path pipe = fs::path(testing::TempDir()) / "vramfit_snapshot_pipe";
  fs::remove(pipe);
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(read_snapshot(pipe)) << "and without waiting for a writer";
  fs::remove(pipe);
}

TEST(Snapshot, a_limit_on_memory_is_kept) {
  const std::string bomb = "\x80\x04" + std::string(8 << 20, ']');
  const auto refused = parse(bomb, {.memory_bytes = 8 << 20});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("memory"), std::string::npos);
}

TEST(Snapshot, what_is_read_up_to_a_limit_is_no_snapshot) {
  // A root, and entries without end: what there is of them would be taken for the whole.
  std::string bomb =
      "\x80\x04}(\x8c\x08segments]\x8c\x0d"
      "device_traces](](";
  const std::string entry =
      "}(\x8c\x06"
      "action\x8c\x05"
      "alloc\x8c\x04"
      "addrM\x01\x01\x8c\x04sizeM\x01\x01u";
  while (bomb.size() < (4u << 20)) bomb += entry;
  const auto refused = parse(bomb, {.memory_bytes = 2 << 20});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("memory it may take"), std::string::npos) << refused.error().what;
  EXPECT_TRUE(parse(bomb)) << "one that is only cut is";
}

}  // namespace
}  // namespace vramfit::ingest
