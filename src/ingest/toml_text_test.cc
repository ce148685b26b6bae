#include "ingest/toml_text.h"

#include <gtest/gtest.h>

#include "ingest/cards.h"

namespace vramfit::ingest {
namespace {

TEST(TomlText, letters_outside_ascii_in_quotes_and_comments_come_back_as_they_were) {
  EXPECT_EQ(read_toml("# Π\na = \"Π 100%\"").value()["a"].value<std::string>(), "Π 100%");
  EXPECT_EQ(read_toml("a = 'é%41'").value()["a"].value<std::string>(), "é%41");
  EXPECT_EQ(read_toml("a = \"\"\"\nΠ \" Π\n\"\"\"\n").value()["a"].value<std::string>(), "Π \" Π\n");
  EXPECT_EQ(read_toml("a = [['Π'], ['b']]").value()["a"][0][0].value<std::string>(), "Π");
  EXPECT_EQ(read_toml("[t]\n\"Π\" = 1\nb = 2").value()["t"]["Π"].value<int>(), 1);
  EXPECT_EQ(read_toml("\xEF\xBB\xBF"
                      "a = 1")
                .value()["a"]
                .value<int>(),
            1);
}

TEST(TomlText, a_key_with_them_keeps_its_line) {
  const toml::table root = read_toml("a = 1\n\n\"Π\" = 1\n").value();
  EXPECT_EQ(root.get("Π")->source().begin.line, 3u);
}

TEST(TomlText, elsewhere_they_are_refused_with_their_line) {
  EXPECT_EQ(read_toml("Π = 1").error().line, 1);
  EXPECT_EQ(read_toml("# Π\na = \"Π\"\noverheadΠytes = 3").error().line, 3);
  EXPECT_EQ(read_toml("a = 'C:\\'\nΠ = 1").error().line, 2) << "nothing is escaped in single quotes";
  EXPECT_FALSE(
      read_toml("\xEF\xBB\xBF"
                "Π"));
}

TEST(TomlText, control_characters_are_refused) {
  const auto read = read_toml(std::string_view("a = 1\nb = [1\0 \"x\"]", 16));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().what, "a control character");
  EXPECT_EQ(read.error().line, 2);
}

TEST(TomlText, a_catalogue_with_one_is_refused_with_its_line) {
  const auto cards = parse_cards("[[card]]\nkeΠ = \"x\"\n", "cards.toml", {});
  ASSERT_FALSE(cards);
  EXPECT_EQ(cards.error().what, "a letter outside ASCII that is not in quotes, or something else that is no TOML");
  EXPECT_EQ(cards.error().where, "cards.toml:2");
}

}  // namespace
}  // namespace vramfit::ingest
