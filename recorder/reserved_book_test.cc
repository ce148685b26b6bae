#include "reserved_book.h"

#include <gtest/gtest.h>

namespace vramfit::recorder {
namespace {

TEST(ReservedBook, knows_what_pytorch_told) {
  ReservedBook book;
  book.given(0x100, 20);
  EXPECT_FALSE(book.is_settled());
  book.report(20);
  EXPECT_TRUE(book.is_settled());
  EXPECT_EQ(book.reserved(), 20);
}

TEST(ReservedBook, knows_of_segments_that_are_given_back_without_a_word) {
  ReservedBook book;
  book.given(0x100, 20);
  book.report(20);
  book.given(0x200, 2);
  book.report(22);
  book.taken_back(0x100, 20);
  EXPECT_EQ(book.reserved(), 2);
  book.report(2);
  EXPECT_EQ(book.reserved(), 2);
}

TEST(ReservedBook, leaves_out_what_others_than_pytorch_asked_for) {
  ReservedBook book;
  book.given(0x100, 20);
  book.report(20);
  book.given(0x200, 512);  // an extension's own
  EXPECT_FALSE(book.is_settled());
  book.report(20);
  EXPECT_TRUE(book.is_settled());
  book.taken_back(0x200, 512);
  EXPECT_EQ(book.reserved(), 20);
  book.given(0x300, 512);  // and once more, just before a segment of PyTorch's
  book.given(0x400, 30);
  book.report(50);
  book.taken_back(0x300, 512);
  EXPECT_EQ(book.reserved(), 50);
  book.taken_back(0x400, 30);
  EXPECT_EQ(book.reserved(), 20);
}

TEST(ReservedBook, knows_segments_that_were_reported_together) {
  ReservedBook book;
  book.given(0x100, 20);
  book.given(0x200, 2);  // two threads, before the first block of either is told
  book.report(22);
  book.taken_back(0x200, 2);
  EXPECT_EQ(book.reserved(), 20);
}

TEST(ReservedBook, does_without_segments_that_cudaMalloc_does_not_give) {
  ReservedBook book;  // expandable ones
  book.report(40);
  EXPECT_EQ(book.reserved(), 40);
  book.report(60);
  book.report(20);
  EXPECT_EQ(book.reserved(), 20);
}

}  // namespace
}  // namespace vramfit::recorder
