#include "python_offsets.h"

#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <vector>

namespace vramfit::recorder {
namespace {

// Tables as releases have them: the order of their members is that of internal/pycore_debug_offsets.h, the numbers are
// those of 3.13.0 where they matter here.
class Table {
 public:
  explicit Table(uint64_t version, uint64_t free_threaded = 0) {
    words_.resize(3);
    std::memcpy(words_.data(), "xdebugpy", 8);
    words_[1] = version;
    words_[2] = free_threaded;
    add({500000, 600, 632});  // the runtime
  }
  Table& add(std::initializer_list<uint64_t> words) {
    words_.insert(words_.end(), words);
    return *this;
  }
  // Dictionaries, floats, ints and bytes; then strings and the collector.
  Table& add_objects() {
    return add({48, 32, 40}).add({24, 16}).add({32, 16, 24}).add({40, 16, 32}).add({64, 32, 16, 40}).add({240, 200});
  }
  std::span<const uint64_t> words() const { return words_; }

 private:
  std::vector<uint64_t> words_;
};

Table python_3_13(uint64_t free_threaded = 0) {
  Table table(0x030D00F0, free_threaded);
  table.add({200000, 7264, 7256, 7344, 7592, 7968, 8000, 8008, 7648, 16, 0, 24, 32});  // the interpreter
  table.add({312, 0, 8, 16, 72, 152, 160, 256, 36});                                   // a thread's state
  table.add({88, 8, 0, 56, 80, 70});                                                   // a frame
  table.add({208, 112, 120, 128, 136, 68, 52, 96, 104, 200});                          // code
  table.add({16, 8}).add({416, 24, 88, 168}).add({32, 24, 16}).add({40, 24, 16});
  return table.add_objects();
}

TEST(PythonOffsets, of_3_13_are_those_of_its_headers) {
  const auto layout = read_python_offsets(python_3_13().words());
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->minor, 13);
  EXPECT_EQ(layout->thread_frame, 72u);
  EXPECT_EQ(layout->frame_code, 0u);
  EXPECT_EQ(layout->frame_outer, 8u);
  EXPECT_EQ(layout->frame_instruction, 56u);
  EXPECT_EQ(layout->frame_owner, 70u);
  EXPECT_EQ(layout->code_file, 112u);
  EXPECT_EQ(layout->code_function, 128u);
  EXPECT_EQ(layout->code_instructions, 200u);
  EXPECT_EQ(layout->unicode_ascii, 40u);
  EXPECT_EQ(layout->unicode_compact, 56u);
}

TEST(PythonOffsets, of_3_14_and_3_15_are_found_behind_what_they_insert) {
  for (const bool is_3_15 : {false, true}) {
    Table table(is_3_15 ? 0x030F00F0 : 0x030E00F0);
    table.add({210000, 7264, 7256, 7344, 7352, 7592, 7968, 8000, 8008, 7648, 16, 0, 24, 32, 9000, 0});
    if (is_3_15) {  // base_frame, last_profiled_frame, ..., the exceptions, and a group for one of them
      table.add({400, 0, 8, 16, 80, 88, 96, 160, 168, 264, 36, 120, 128, 40, 44}).add({0});
    } else {
      table.add({320, 0, 8, 16, 72, 152, 160, 256, 36});
    }
    table.add({88, 8, 0, 56, 80, 74, 64, 0});
    table.add({216, 112, 120, 128, 136, 68, 52, 96, 104, 208, 0});
    table.add({16, 8}).add({416, 24, 88, 168}).add({32, 24, 16}).add({40, 24, 16}).add({200, 24, 40, 32});
    table.add_objects();
    const auto layout = read_python_offsets(table.words());
    ASSERT_TRUE(layout);
    EXPECT_EQ(layout->minor, is_3_15 ? 15 : 14);
    EXPECT_EQ(layout->thread_frame, is_3_15 ? 80u : 72u);
    EXPECT_EQ(layout->frame_instruction, 56u);
    EXPECT_EQ(layout->frame_owner, 74u);
    EXPECT_EQ(layout->code_function, 128u);
    EXPECT_EQ(layout->code_instructions, 208u);
    EXPECT_EQ(layout->unicode_ascii, 40u);
  }
}

TEST(PythonOffsets, what_is_no_such_table_has_none) {
  EXPECT_FALSE(read_python_offsets({}));
  EXPECT_FALSE(read_python_offsets(python_3_13(1).words())) << "free-threaded";
}

TEST(PythonOffsets, a_table_that_ends_early_or_differs_in_any_word_never_reads_beyond_it) {
  const Table whole = python_3_13();
  for (size_t length = 0; length < whole.words().size() - 6; ++length) {
    EXPECT_FALSE(read_python_offsets(whole.words().first(length))) << length;
  }
  for (size_t at = 0; at < whole.words().size(); ++at) {
    std::vector<uint64_t> words(whole.words().begin(), whole.words().end());
    words[at] ^= 0x1000;
    (void)read_python_offsets(words);  // under the address sanitizer
  }
}

}  // namespace
}  // namespace vramfit::recorder
