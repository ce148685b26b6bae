#include "ingest/recording.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "model/number_text.h"

namespace vramfit::ingest {
namespace {

namespace fs = std::filesystem;

vf_record record_of(std::uint8_t kind) {
  vf_record record{};
  record.kind = kind;
  record.size = 512;
  return record;
}

// A recording file's bytes, 64-byte aligned as a mapped file's are.
class Bytes {
 public:
  explicit Bytes(std::initializer_list<vf_record> records, std::uint32_t record_bytes = 64) {
    vf_recording_header header{};
    header.magic = VF_RECORDING_MAGIC;
    header.record_bytes = record_bytes;
    header.pid = 42;
    std::memcpy(bytes_, &header, sizeof header);
    size_ = sizeof header;
    for (const vf_record& record : records) {
      std::memcpy(bytes_ + size_, &record, sizeof record);
      size_ += sizeof record;
    }
  }
  std::span<const std::byte> first(std::size_t size) const { return {bytes_, size}; }
  std::span<const std::byte> all() const { return first(size_); }
  std::size_t size() const { return size_; }

 private:
  alignas(64) std::byte bytes_[4096] = {};
  std::size_t size_ = 0;
};

TEST(Recording, records_up_to_the_unused_tail_are_read) {
  const Bytes bytes({record_of(VF_RECORD_BLOCK_ALLOC), record_of(VF_RECORD_BLOCK_FREE), vf_record{}, vf_record{}});
  ASSERT_TRUE(sniff_recording(bytes.all()));
  const auto recording = parse_recording(bytes.all(), nullptr, "x.vfr");
  ASSERT_TRUE(recording);
  EXPECT_EQ(recording->pid, 42);
  ASSERT_EQ(recording->records.size(), 2u);
  EXPECT_EQ(recording->records[1].kind, VF_RECORD_BLOCK_FREE);
  EXPECT_TRUE(recording->unread.empty());
}

TEST(Recording, a_file_cut_anywhere_is_read_as_far_as_it_goes) {
  const Bytes bytes({record_of(VF_RECORD_BLOCK_ALLOC), record_of(VF_RECORD_BLOCK_FREE), record_of(VF_RECORD_STEP)});
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const auto recording = parse_recording(bytes.first(size), nullptr, "x.vfr");
    if (size < sizeof(vf_recording_header)) {
      EXPECT_FALSE(recording) << size;
      continue;
    }
    ASSERT_TRUE(recording) << size;
    EXPECT_EQ(recording->records.size(), (size - sizeof(vf_recording_header)) / sizeof(vf_record));
    EXPECT_EQ(recording->unread.size(), size % sizeof(vf_record) == 0 ? 0u : 1u);
  }
}

TEST(Recording, what_is_not_understood_is_counted_and_kept_out_of_nothing_else) {
  vf_record lost_phase = record_of(VF_RECORD_BLOCK_ALLOC);
  lost_phase.phase = 77;
  const Bytes bytes({record_of(200), vf_record{}, lost_phase, record_of(200)});
  const auto recording = parse_recording(bytes.all(), nullptr, "x.vfr");
  ASSERT_TRUE(recording);
  EXPECT_EQ(recording->unread.at("record_kind_unknown").count, 2);
  EXPECT_EQ(recording->unread.at("record_unfinished").weight, model::LossSeverity::kDataLost);
  EXPECT_EQ(recording->unread.at("record_phase_unknown").weight, model::LossSeverity::kWrongAnswerPossible);
}

TEST(Recording, an_owner_that_nobody_knows_is_counted) {
  const auto tag = [](std::int64_t owner) {
    vf_record record = record_of(VF_RECORD_TAG);
    record.a = owner;
    return record;
  };
  const Bytes bytes(
      {tag(VF_OWNER_UNKNOWN), tag(VF_OWNER_OTHER_MODEL), tag(model::kOwnerCount), tag(256 + VF_OWNER_WEIGHT), tag(-1)});
  const auto recording = parse_recording(bytes.all(), nullptr, "x.vfr");
  ASSERT_TRUE(recording);
  ASSERT_EQ(recording->unread.size(), 1u);
  EXPECT_EQ(recording->unread.at("record_owner_unknown").count, 3);
  EXPECT_EQ(recording->unread.at("record_owner_unknown").weight, model::LossSeverity::kWrongAnswerPossible);
}

TEST(Recording, stages_that_nobody_knows_and_sizes_that_no_block_has_are_counted) {
  vf_record stage = record_of(VF_RECORD_BLOCK_ALLOC), size = stage, given_back = record_of(VF_RECORD_PIN);
  stage.stage = model::kStageCount;
  size.size = -5;
  given_back.size = -5;
  const Bytes bytes({stage, size, given_back, stage});
  const auto recording = parse_recording(bytes.all(), nullptr, "x.vfr");
  ASSERT_TRUE(recording);
  EXPECT_EQ(recording->unread.at("record_stage_unknown").count, 2);
  EXPECT_EQ(recording->unread.at("record_size_impossible").count, 1);
}

TEST(Recording, another_files_bytes_and_other_record_sizes_are_refused) {
  Bytes bytes({record_of(1)}, 48);
  EXPECT_EQ(parse_recording(bytes.all(), nullptr, "x.vfr").error().code, base::ErrorCode::kUnsupported);
  const std::string text(200, 'x');
  const auto garbage = std::as_bytes(std::span(text));
  EXPECT_FALSE(sniff_recording(garbage));
  EXPECT_EQ(parse_recording(garbage, nullptr, "x.vfr").error().code, base::ErrorCode::kCorrupt);
}

TEST(Recording, strings_are_unescaped_and_numbered_from_one) {
  model::Recording recording;
  recording.strings = parse_strings("train.py:1 in main\na\\nb\\\\c\nlast without end");
  EXPECT_EQ(recording.text(1), "train.py:1 in main");
  EXPECT_EQ(recording.text(2), "a\nb\\c");
  EXPECT_EQ(recording.text(3), "last without end");
  EXPECT_EQ(recording.text(0), "");
  EXPECT_EQ(recording.text(9), "") << "an id whose string was lost";
}

TEST(Recording, notes_that_are_no_notes_are_counted) {
  std::map<std::string, model::UnreadInput> unread;
  const auto notes = parse_notes(
      "{\"kind\":\"cut\",\"what\":\"loader\",\"text\":\"x\"}\n\nnot json\n[1]\n{\"a\":1}\n{\"kind\":\"oo", unread);
  ASSERT_EQ(notes.cut.size(), 1u);
  EXPECT_EQ(notes.cut[0].text, "x");
  EXPECT_EQ(unread.at("note_unreadable").count, 3);
  EXPECT_EQ(unread.at("note_without_kind").count, 1);
  EXPECT_FALSE(unread.contains("note_kind_unknown"));
  parse_notes("{\"kind\":\"of tomorrow\"}\n{\"kind\":\"open\",\"text\":[]}", unread);
  EXPECT_EQ(unread.at("note_kind_unknown").count, 1);
  EXPECT_EQ(unread.at("note_kind_unknown").first, "of tomorrow");
  EXPECT_EQ(unread.at("note_field_unreadable").first, "open.text");
  std::map<std::string, model::UnreadInput> two;
  parse_notes("{\"kind\":\"open\",\"text\":[],\"extra\":1}", two);
  EXPECT_EQ(two.at("note_field_unreadable").count, 2);
  EXPECT_EQ(two.at("note_field_unreadable").first, "open.text, open.extra");
  std::map<std::string, model::UnreadInput> missing;
  EXPECT_EQ(parse_notes("{\"kind\":\"cut\",\"what\":\"loader\"}", missing).cut.size(), 1u);
  EXPECT_EQ(missing.at("note_field_unreadable").first, "cut.text");
  parse_notes("{\"kind\":\"cut\",\"what\":\"loader\",\"text\":\"x\",\"extra\":1}\n{\"kind\":\"open\",\"text\":[]}",
              two);
  EXPECT_EQ(two.at("note_field_unreadable").count, 4);
  EXPECT_EQ(two.at("note_field_unreadable").first, "open.text, open.extra, cut.extra");
}

TEST(Recording, a_run_folder_gives_one_recording_a_process) {
  const fs::path folder = fs::temp_directory_path() / ("vramfit-recording-test." + std::to_string(::getpid()));
  fs::create_directories(folder);
  vf_record named = record_of(VF_RECORD_STEP), nameless = named;
  named.line = 1;
  nameless.scope = 2;
  const Bytes bytes({named, nameless});
  std::ofstream(folder / "recording.7.vfr")
      .write(reinterpret_cast<const char*>(bytes.all().data()), static_cast<std::streamsize>(bytes.size()));
  std::ofstream(folder / "strings.7.txt") << "one\n";
  std::ofstream(folder / "notes.9.jsonl") << "{\"kind\":\"process\"}\n";
  std::ofstream(folder / "recording.8.vfr") << "garbage";
  std::ofstream(folder / "recording.x.vfr") << "";
  std::ofstream(folder / "lock") << "";
  const auto recordings = read_run_folder(folder);
  fs::remove_all(folder);
  ASSERT_TRUE(recordings);
  ASSERT_EQ(recordings->size(), 3u);
  EXPECT_EQ((*recordings)[0].records.size(), 2u);
  EXPECT_EQ((*recordings)[0].text(1), "one");
  EXPECT_EQ((*recordings)[0].unread.at("record_text_unknown").count, 1);
  EXPECT_EQ((*recordings)[1].pid, 8);
  EXPECT_EQ((*recordings)[1].unread.size(), 1u);
  EXPECT_EQ((*recordings)[2].notes.process.size(), 1u);
  EXPECT_FALSE(read_run_folder("/no/such/folder"));
}

}  // namespace
}  // namespace vramfit::ingest
