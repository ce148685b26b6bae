#include "doctor/likeness.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

namespace vramfit::doctor {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// Bytes that are no letters of a text file stand as "\x1b".
std::string unescaped(std::string text) {
  for (std::size_t at = text.find("\\x1b"); at != std::string::npos; at = text.find("\\x1b"))
    text.replace(at, 4, "\x1b");
  return text;
}

TEST(Likeness, WordsAreThoseThatTheTableWasMadeWith) {
  std::ifstream file(VRAMFIT_SOURCE_DIR "/tests/doctor/likeness_words.tsv");
  std::string line;
  int count = 0;
  while (std::getline(file, line)) {
    const std::size_t tab = line.find('\t');
    ASSERT_NE(tab, std::string::npos);
    EXPECT_EQ(joined(words_that_count(unescaped(line.substr(0, tab)))), line.substr(tab + 1));
    ++count;
  }
  EXPECT_GT(count, 5);
}

TEST(Likeness, PiecesAreThoseThatTheTableWasMadeWith) {
  std::ifstream file(VRAMFIT_SOURCE_DIR "/tests/doctor/likeness_pieces.tsv");
  std::string line;
  int count = 0;
  while (std::getline(file, line)) {
    const std::size_t tab = line.find('\t');
    ASSERT_NE(tab, std::string::npos);
    EXPECT_EQ(joined(pieces_of(line.substr(0, tab))), line.substr(tab + 1));
    ++count;
  }
  EXPECT_GT(count, 5);
}

TEST(Likeness, ComparesWithPublishedTexts) {
  const Likeness held = KnownTexts::built_in().compare(
      "nvidia-smi shows that another process of some other user holds 20 GB of the GPU. When their job has ended the "
      "memory is free again and my training runs.");
  EXPECT_EQ(held.code, "VF401");
  EXPECT_GT(held.share, Gates().share_to_name);
  EXPECT_GT(held.confidence, 0);
  EXPECT_LT(held.confidence, 0.7);
  EXPECT_FALSE(held.words.empty());
  EXPECT_TRUE(KnownTexts::built_in().compare("").words.empty());
  EXPECT_TRUE(KnownTexts::built_in().compare("qzxv").words.empty());
}

TEST(Likeness, TakesBytesThatAreNoText) {
  std::string bytes;
  for (int i = 0; i < 4096; ++i) bytes += static_cast<char>(i * 7919 >> 3);
  const Likeness likeness = KnownTexts::built_in().compare(bytes + "\xE4\xBD");
  EXPECT_LE(likeness.share, 1);
}

}  // namespace
}  // namespace vramfit::doctor
