#include "ingest/text/text_looks.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include "ingest/text/cursor.h"
#include "ingest/text/line_kind.h"
#include "ingest/text/line_text.h"
#include "ingest/text/log_prefix.h"
#include "ingest/text/sentence.h"

namespace vramfit::ingest {
namespace {

constexpr std::size_t kJudgedBytes = 64 << 10;
constexpr std::size_t kManySigns = 1000;  // brackets and rules without a letter: more than an empty file has
constexpr std::size_t kJudgedLine = 400;

// What a line of a training or a server counts, beside a number.
constexpr std::array<std::string_view, 25> kCounted{
    "epoch",   "step",     "steps",  "iter", "iteration", "loss", "acc",   "accuracy",   "lr",
    "train",   "training", "val",    "eval", "batch",     "bleu", "miou",  "throughput", "it/s",
    "samples", "reward",   "tokens", "fps",  "s/it",      "ppl",  "passed"};

// A mark of quoted words, "> ", is what people put before each other's sentences, and no program's.
bool has_prefix_of_program(std::string_view line) {
  const std::string_view prefix = line.substr(0, parse_log_prefix(line).length);
  return std::ranges::any_of(prefix, [](char letter) { return is_word(letter); });
}

bool is_word_or_slash(char letter) { return is_letter(letter) || letter == '/'; }

// "train_loss=0.31", "step 4", "epoch [3/10]", "4.71it/s": what is counted, and its number beside it.
bool counts(std::string_view line) {
  if (std::ranges::none_of(line, is_digit) || is_code(line)) return false;
  Cursor cursor(line);
  while (!cursor.at_end()) {
    const std::size_t begin = cursor.position();
    const std::string_view word = cursor.take_while(is_word_or_slash);
    if (std::ranges::any_of(kCounted, [&](std::string_view known) { return same_ignoring_case(word, known); })) {
      const std::string_view before = trim(line.substr(0, begin));
      Cursor behind = cursor;
      behind.take_while([](char letter) { return is_word_or_slash(letter) || letter == '_'; });
      behind.take_while([](char letter) { return !is_word(letter) && letter != '.'; });
      if (is_digit(behind.peek()) || (!before.empty() && is_digit(before.back()))) return true;
    }
    cursor.take_while([](char letter) { return !is_word_or_slash(letter); });
  }
  return false;
}

// "Epoch 00041: val_loss did not improve": it begins with what it counts.
bool begins_with_count(std::string_view line) {
  Cursor cursor(line);
  cursor.take_while([](char letter) { return !is_word(letter); });
  const std::string_view word = cursor.take_while(is_letter);
  if (std::ranges::none_of(kCounted, [&](std::string_view known) { return same_ignoring_case(word, known); }))
    return false;
  cursor.take_while([](char letter) { return std::string_view(" :=#[(").contains(letter); });
  return is_digit(cursor.peek());
}

// What it says but for its numbers: the lines of a loop differ in nothing else.
std::string without_numbers(std::string_view line) {
  std::string words(line);
  std::erase_if(words, [](char letter) { return is_digit(letter) || letter == '.' || is_blank(letter); });
  return words;
}

}  // namespace

void LooksOfText::add(std::string_view block) {
  if (signs_ < kManySigns) {
    signs_ += static_cast<std::size_t>(std::ranges::count_if(block, [](char letter) { return letter > ' '; }));
  }
  has_words_ = has_words_ || std::ranges::any_of(block, [](char letter) {
                 return is_word(letter) || (static_cast<unsigned char>(letter) & 0x80) != 0;
               });
  if (first_.size() < kJudgedBytes) first_ += block.substr(0, kJudgedBytes - first_.size());
}

model::TextLooks LooksOfText::judge() const {
  if (!has_words_ && signs_ < kManySigns) return model::TextLooks::kEmpty;
  std::string_view rest = first_;
  std::set<std::string> sentences;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of("\r\n"), rest.size());
    const std::string line = clean_line(rest.substr(0, std::min(end, kJudgedLine))).text;
    // Somebody who writes of epochs in prose has no log there: a program says the same again, with other numbers.
    const bool is_of_log =
        has_prefix_of_program(line) || (counts(line) && (!is_prose(line) || begins_with_count(line) ||
                                                         !sentences.insert(without_numbers(line)).second));
    if (is_of_log) return model::TextLooks::kLog;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return model::TextLooks::kUnknown;
}

}  // namespace vramfit::ingest
