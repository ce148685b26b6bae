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

// What is no letter of a text file stands as "\x1b".
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

TEST(Likeness, ComparesWithPublishedTexts) {
  const Likeness held = compare_with_known(
      "nvidia-smi shows that another process of some other user holds 20 GB of the GPU. After kill -9 of the zombie "
      "python process the memory is free again and my training runs.");
  EXPECT_EQ(held.code, "VF401");
  EXPECT_GT(held.share, kShareToName);
  EXPECT_GT(held.confidence, 0);
  EXPECT_LT(held.confidence, 0.7);
  EXPECT_FALSE(held.words.empty());
  EXPECT_TRUE(compare_with_known("").words.empty());
  EXPECT_TRUE(compare_with_known("qzxv").words.empty());
}

TEST(Likeness, TakesBytesThatAreNoText) {
  std::string bytes;
  for (int i = 0; i < 4096; ++i) bytes += static_cast<char>(i * 7919 >> 3);
  const Likeness likeness = compare_with_known(bytes + "\xE4\xBD");
  EXPECT_LE(likeness.share, 1);
}

}  // namespace
}  // namespace vramfit::doctor
