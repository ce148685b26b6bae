#include "ingest/toml_text.h"

#include <gtest/gtest.h>

#include "ingest/cards.h"

namespace vramfit::ingest {
namespace {

TEST(TomlText, letters_outside_ascii_belong_in_quotes_and_comments) {
  for (const char* text : {"", "a = 1\n", "# Π\na = 1", "a = \"Π\"", "a = 'Π'", "a = \"\"\"\nΠ \" Π\n\"\"\"\n",
                           "a = '''\nΠ\n'''", "a = \"\\\"Π\"",
                           "\xEF\xBB\xBF"
                           "a = 1",
                           "\"Π\" = 1"}) {
    EXPECT_FALSE(find_foreign_letter(text)) << text;
  }
  EXPECT_EQ(find_foreign_letter("Π = 1"), 1);
  EXPECT_EQ(find_foreign_letter("# Π\na = \"Π\"\noverheadΠytes = 3"), 3);
  EXPECT_EQ(find_foreign_letter(std::string_view("a = 1\nb = [1\0 \"x\"]", 16)), 2) << "nor a control character";
  EXPECT_EQ(find_foreign_letter("a = 'x\nΠ"), 2) << "a string that nobody ended ends with its line";
  EXPECT_EQ(find_foreign_letter("a = 'C:\\'\nΠ = 1"), 2) << "nothing is escaped in single quotes";
  EXPECT_EQ(find_foreign_letter("\xEF\xBB\xBF"
                                "Π"),
            1);
}

TEST(TomlText, a_catalogue_with_one_is_refused_with_its_line) {
  const auto cards = parse_cards("[[card]]\nkeΠ = \"x\"\n", "cards.toml", {});
  ASSERT_FALSE(cards);
  EXPECT_EQ(cards.error().what, "a control character, or a letter outside ASCII that is not in quotes");
  EXPECT_EQ(cards.error().where, "cards.toml:2");
}

}  // namespace
}  // namespace vramfit::ingest
