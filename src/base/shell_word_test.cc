#include "base/shell_word.h"

#include <gtest/gtest.h>

namespace vramfit::base {
namespace {

TEST(QuoteForShell, keeps_plain_words_and_quotes_the_rest) {
  EXPECT_EQ(quote_for_shell("--lr=0.1"), "--lr=0.1");
  EXPECT_EQ(quote_for_shell("GTX 1650"), "'GTX 1650'");
  EXPECT_EQ(quote_for_shell("it's"), "'it'\\''s'");
  EXPECT_EQ(quote_for_shell(""), "''");
}

}  // namespace
}  // namespace vramfit::base
