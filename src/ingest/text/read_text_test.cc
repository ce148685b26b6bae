#include "ingest/text/read_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>

#include "ingest/text/line_text.h"
#include "ingest/text/registry.h"
#include "ingest/text/text_input.h"
#include "ingest/text/trigger_words.h"
#include "model/evidence_lists.h"

namespace vramfit::ingest {
namespace {

constexpr std::string_view kOom =
    "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 7.93 GiB total capacity; 7.01 GiB already "
    "allocated; 5.44 MiB free; 7.30 GiB reserved in total by PyTorch)";

std::string to_utf16(std::string_view text, bool little, bool mark) {
  std::string bytes;
  const auto add = [&](char low, char high) { bytes += little ? low : high, bytes += little ? high : low; };
  if (mark) add('\xff', '\xfe');
  for (const char letter : text) add(letter, '\0');
  return bytes;
}

TEST(ReadText, in_every_encoding) {
  const std::string log = "h\xc3\xa4llo\r\nstep 1\r\n" + std::string(kOom) + "\r\nbye\r\n";
  const auto reference = parse_text_evidence(log, "log");
  ASSERT_EQ(reference.ooms.size(), 1u);
  EXPECT_EQ(reference.ooms[0].at.line, 3);
  EXPECT_EQ(reference.files[0].encoding, "utf-8");
  const std::string ascii = "hello\r\nstep 1\r\n" + std::string(kOom) + "\r\nbye\r\n";
  for (const bool little : {true, false}) {
    for (const bool mark : {true, false}) {
      const auto evidence = parse_text_evidence(to_utf16(ascii, little, mark), "log");
      ASSERT_EQ(evidence.ooms.size(), 1u) << little << mark;
      EXPECT_EQ(evidence.ooms[0].tried, reference.ooms[0].tried);
      EXPECT_EQ(evidence.ooms[0].at.line, 3);
      EXPECT_EQ(evidence.files[0].encoding, little ? "utf-16le" : "utf-16be");
    }
  }
  const auto latin = parse_text_evidence("\xe4: " + std::string(kOom) + "\n", "log");
  ASSERT_EQ(latin.ooms.size(), 1u);
  EXPECT_EQ(latin.files[0].encoding, "latin-1");
  EXPECT_TRUE(latin.ooms[0].at.text.starts_with("\xc3\xa4: "));
  std::string holes(3000, '\0');
  holes += "\n" + std::string(kOom);
  EXPECT_EQ(parse_text_evidence(holes, "log").ooms.size(), 1u) << "a log that was cut while it was written";
}

// Line ends are looked for eight letters at a time: wherever they stand, and among letters that look like them.
TEST(ReadText, knows_the_line_wherever_it_begins_and_ends) {
  for (std::size_t before = 0; before < 20; ++before) {
    for (std::size_t behind = 0; behind < 10; ++behind) {
      const std::string log = "\n" + std::string(before, '\f') + "\rx\n" + std::string(before, '\t') + "\r\n" +
                              std::string(kOom) + std::string(behind, '\t') + "\r\nbye\n";
      const auto evidence = parse_text_evidence(log, "log");
      ASSERT_EQ(evidence.ooms.size(), 1u) << before << " " << behind;
      EXPECT_EQ(evidence.ooms[0].at.line, 4);
      EXPECT_EQ(evidence.ooms[0].at.text, kOom);
      EXPECT_EQ(evidence.files[0].lines, 6);
    }
  }
}

TEST(ReadText, through_colours_and_progress_bars) {
  const auto evidence = parse_text_evidence(
      "  0%|   | 0/9\r 10%|#  | 1/9\r\x1b[1;31mRuntimeError\x1b[0m: CUDA out of memory. Tried to allocate "
      "\x1b[1;36m20.00\x1b[0m MiB "
      "(GPU 0; 7.93 GiB total capacity; 7.01 GiB already allocated; 5.44 MiB free; 7.30 GiB reserved in total by "
      "PyTorch)\n",
      "log");
  ASSERT_EQ(evidence.ooms.size(), 1u);
  EXPECT_EQ(evidence.ooms[0].at.line, 1);
  EXPECT_EQ(evidence.ooms[0].exception, "RuntimeError");
  EXPECT_EQ(clean_line("a[0;31mb[0m c[3] &gt;\xc2\xa0").text, "ab c[3] >");
}

TEST(ReadText, of_json_lines_and_web_pages) {
  const auto docker = parse_text_evidence("{\"log\":\"" + std::string(kOom) + "\\n\",\"stream\":\"stderr\"}\n", "log");
  ASSERT_EQ(docker.ooms.size(), 1u);
  EXPECT_EQ(docker.ooms[0].gpu, 0);
}

TEST(ReadText, does_not_depend_on_how_the_file_is_cut) {
  std::string log;
  for (int i = 0; i < 40; ++i) {
    log += "Root Cause (first observed failure):\n[0]:\n  rank      : " + std::to_string(i) +
           " (local_rank: 0)\n  exitcode  : -9 (pid: 7)\n";
    log += "Traceback (most recent call last):\r\n  File \"a.py\", line 1, in f\r\n    g()\r\n" + std::string(kOom) +
           "\r\n";
  }
  const auto whole = parse_text_evidence(log, "log");
  EXPECT_EQ(whole.tracebacks.size(), 40u);
  EXPECT_EQ(whole.launch_failures.size(), 40u);
  for (const std::size_t block : {1u, 7u, 64u, 1000u})
    EXPECT_EQ(parse_text_evidence(log, "log", {.block = block}), whole) << block;
  std::istringstream stream(log);
  EXPECT_EQ(*read_text_evidence(stream, "log"), whole);
}

TEST(ReadText, is_bounded) {
  const TextLimits limits{.longest_line = 1000, .most_entries = 10};
  const auto longest =
      parse_text_evidence(std::string(5000, 'x') + std::string(kOom) + "\n" + std::string(kOom) + "\n", "log", limits);
  ASSERT_EQ(longest.ooms.size(), 1u);
  EXPECT_EQ(longest.ooms[0].repeated, 2) << "one of them stands behind the limit of its line";
  EXPECT_EQ(longest.unread.at("joints of lines so long that they were read in pieces"), 5);
  EXPECT_TRUE(longest.files[0].complete);
  std::string many;
  for (int i = 0; i < 100; ++i)
    many += "CUDA out of memory. Tried to allocate " + std::to_string(i + 2) + ".00 MiB\n\n";
  const auto evidence = parse_text_evidence(many, "log", limits);
  EXPECT_EQ(evidence.ooms.size(), 10u);
  EXPECT_EQ(evidence.unread.at("out-of-memory messages beyond the limit"), 90);
}

TEST(ReadText, of_a_line_without_end_its_beginning_and_its_last_piece) {
  const TextLimits limits{.longest_line = 1000, .most_of_line = 4000, .block = 1000};
  const std::string middle(20'000, 'x');
  const auto ends = parse_text_evidence(std::string(5000, 'x') + middle + std::string(kOom), "log", limits);
  EXPECT_EQ(ends.ooms.size(), 1u) << "a line may end with what matters";
  EXPECT_FALSE(ends.files[0].complete);
  EXPECT_GT(ends.unread.at("pieces from the middle of lines that are longer than 4 MiB"), 15);
  const auto line = middle + "\nstep 2\n" + std::string(kOom) + "\n";
  const auto next = parse_text_evidence(line, "log", limits);
  ASSERT_EQ(next.ooms.size(), 1u) << "the lines behind it are read as ever";
  EXPECT_EQ(next.ooms[0].at.line, 3);
  EXPECT_TRUE(
      parse_text_evidence(std::string(3500, 'x') + "\n" + std::string(3500, 'x'), "log", limits).files[0].complete);
}

// What a log says in passing is not read as prose: its lines are too many, and most say nothing of memory.
TEST(ReadText, a_log_is_not_read_as_a_post) {
  std::string log;
  for (int i = 0; i < 6000; ++i) log += "this is how the log goes on.\n";
  const model::TextFile file = parse_text_evidence(log, "log").files.at(0);
  EXPECT_GT(file.last_not_understood, 3000);
  EXPECT_LE(file.last_not_understood, 4001);
}

TEST(ReadText, lines_that_only_repeat_are_passed_over_and_counted) {
  const std::string line = "Traceback of worker 1: CUDA out of memory, which is said over and over\n";
  std::string log;
  for (int i = 0; i < 200'000; ++i) log += line;
  const auto evidence = parse_text_evidence(log + std::string(kOom) + "\nbye\n" + log + "Killed\n", "log");
  ASSERT_EQ(evidence.files[0].lines, 400'004);
  EXPECT_TRUE(evidence.files[0].complete);
  EXPECT_LT(evidence.unread.contains("places where memory is said to have run out beyond the limit")
                ? evidence.unread.at("places where memory is said to have run out beyond the limit")
                : 0,
            200'000);
  ASSERT_TRUE(std::ranges::any_of(evidence.ooms, [](const auto& oom) { return oom.at.line == 200'001; }));
  ASSERT_EQ(evidence.host_kills.size(), 1u);
  EXPECT_EQ(evidence.host_kills[0].at.line, 400'003);
}

TEST(ReadText, refuses_what_is_no_text) {
  for (const std::string_view bytes :
       {std::string_view("PK\x03\x04zip"), std::string_view("\x80\x04\x95pickle"), std::string_view("\x1f\x8b gzip")}) {
    std::istringstream stream{std::string(bytes)};
    const auto evidence = read_text_evidence(stream, "what");
    ASSERT_FALSE(evidence) << bytes;
    EXPECT_EQ(evidence.error().where, "what");
  }
  EXPECT_FALSE(read_text_evidence(std::filesystem::path("/nonexistent/log")));
  EXPECT_FALSE(read_text_evidence(std::filesystem::path("/")));
  std::istringstream empty("");
  const auto evidence = read_text_evidence(empty, "empty");
  ASSERT_TRUE(evidence);
  EXPECT_TRUE(evidence->facts.empty());
}

TEST(ReadText, facts_and_merging) {
  auto one = parse_text_evidence(kOom, "one"), two = parse_text_evidence("Killed\n", "two");
  EXPECT_TRUE(std::ranges::any_of(one.facts, [](const model::Fact& fact) {
    return fact.name == "oom.tried" && fact.bytes->value == base::Bytes::mib(20);
  }));
  merge_evidence(one, std::move(two));
  EXPECT_EQ(one.files.size(), 2u);
  EXPECT_EQ(one.ooms.size(), 1u);
  EXPECT_EQ(one.host_kills.at(0).at.file, "two");
}

void put_one(auto& entries) { entries.emplace_back(); }
void put_one(std::map<std::string, std::int64_t>& counts) { ++counts["lines"]; }

TEST(ReadText, merging_leaves_no_list_behind) {
  int lists = 0;
  model::for_each_evidence_list([&](const auto& each) {
    model::Evidence into, other;
    put_one(other.*each.list);
    const model::Evidence expected = other;
    merge_evidence(into, std::move(other));
    EXPECT_EQ(into, expected) << each.name;
    EXPECT_EQ((into.*each.list).size(), 1u) << each.name;
    ++lists;
  });
  std::set<std::string> names;
  model::for_each_evidence_list([&](const auto& each) { names.insert(each.name); });
  EXPECT_EQ(names.size(), static_cast<std::size_t>(lists));  // none stands there twice, in another's stead
}

TEST(ReadText, merging_counts_what_was_unread_in_both) {
  model::Evidence one, two;
  one.unread["lines"] = 2, two.unread["lines"] = 3;
  merge_evidence(one, std::move(two));
  EXPECT_EQ(one.unread.at("lines"), 5);
}

TEST(TriggerWords, are_found_wherever_they_stand_in_any_case) {
  TriggerWords words;
  words.add("out of memory", 1), words.add("killed", 2), words.add("nvidia-smi", 4);
  for (std::size_t shift = 0; shift < 9; ++shift) {
    const std::string text = std::string(shift, '.') + "CUDA Out Of Memory; xKILLEDx NVIDIA-SMI";
    const TriggerWords::Hit hit = words.find(text, 0);
    EXPECT_EQ(hit.owners, 1u);
    EXPECT_EQ(hit.begin, shift + 5);
    EXPECT_EQ(words.owners_in(text), 7u);
    EXPECT_EQ(words.find(text, shift + 6).owners, 2u);
  }
  EXPECT_EQ(words.find("out of memor", 0).owners, 0u);
  EXPECT_EQ(words.find("", 0).owners, 0u);
  EXPECT_THROW(words.add("oom", 1), std::logic_error);
}

}  // namespace
}  // namespace vramfit::ingest
