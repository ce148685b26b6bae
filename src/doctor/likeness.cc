#include "doctor/likeness.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/letters.h"

namespace vramfit::doctor {

namespace {

constexpr const char* kLikenessLines[] = {
#include "doctor/likeness_lines.inc"
};

constexpr char kNoWeight = 'U';      // letters behind it speak for a code, letters before it against
constexpr double kWeightStep = 0.3;  // of one letter

bool is_small(char letter) { return (letter >= 'a' && letter <= 'z') || letter == '_'; }
bool is_hex(char letter) { return base::is_digit(letter) || (letter >= 'a' && letter <= 'f'); }
char in_small(char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter; }

std::string_view cut_word(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

double number_of_word(std::string_view word) {
  double number = 0;
  std::from_chars(word.data(), word.data() + word.size(), number);
  return number;
}

std::vector<double> numbers_of_line(std::string_view line) {
  std::vector<double> numbers;
  while (!line.empty()) numbers.push_back(number_of_word(cut_word(line)));
  return numbers;
}

double weight_of_letter(char letter) { return kWeightStep * (letter - kNoWeight); }

// Letters of scripts that have no spaces between words, or accents within them: each by itself. 0: none of these.
std::size_t length_of_letter_abroad(std::string_view rest) {
  const auto byte = [&](std::size_t at) { return static_cast<std::uint32_t>(static_cast<unsigned char>(rest[at])); };
  std::uint32_t code = 0;
  std::size_t length = 0;
  if (rest.size() >= 2 && byte(0) >= 0xC2 && byte(0) <= 0xDF) {
    code = (byte(0) & 0x1F) << 6 | (byte(1) & 0x3F);
    length = 2;
  } else if (rest.size() >= 3 && (byte(0) & 0xF0) == 0xE0) {
    code = (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
    length = 3;
  }
  const bool is_letter_abroad =
      (code >= 0xC0 && code <= 0x24F) || (code >= 0x370 && code <= 0x1FFF) || (code >= 0x3040 && code <= 0xD7FF);
  return is_letter_abroad ? length : 0;
}

// "\x1b[31m": where it ends behind `at`, or `at`.
std::size_t behind_colour(std::string_view text, std::size_t at) {
  if (!text.substr(at).starts_with("\x1b[")) return at;
  std::size_t end = at + 2;
  while (end < text.size() && (base::is_digit(text[end]) || text[end] == ';')) ++end;
  return end < text.size() && is_small(in_small(text[end])) && text[end] != '_' ? end + 1 : at;
}

std::size_t behind_number(std::string_view text, std::size_t at) {
  while (at < text.size() && base::is_digit(text[at])) ++at;
  while (at + 1 < text.size() && text[at] == '.' && base::is_digit(text[at + 1])) {
    ++at;
    while (at < text.size() && base::is_digit(text[at])) ++at;
  }
  return at;
}

constexpr char kPiece = '~';  // begins the name of one
constexpr std::size_t kShortestPiece = 3, kLongestPiece = 5;

struct WeighedWord {
  std::string word;
  double amount = 0;
  const LikenessRow* row = nullptr;
};

bool is_piece(const WeighedWord& word) { return word.word.front() == kPiece; }

// Words, pairs of words and pieces of words that the table knows; the sum of their squared amounts is one.
std::vector<WeighedWord> weigh_words(const KnownTexts& known, std::string_view text) {
  const std::vector<std::string> words = words_that_count(text);
  std::unordered_map<std::string, int> counts;
  for (std::size_t i = 0; i < words.size(); ++i) {
    ++counts[words[i]];
    if (i > 0) ++counts[words[i - 1] + " " + words[i]];
    for (std::string& piece : pieces_of(words[i])) ++counts[std::move(piece)];
  }
  std::vector<WeighedWord> weighed;
  double squares = 0;
  for (const auto& [word, count] : counts) {
    const LikenessRow* row = known.find(word);
    if (row == nullptr) continue;
    weighed.push_back({word, (1 + std::log(count)) * row->rarity, row});
    squares += weighed.back().amount * weighed.back().amount;
  }
  for (WeighedWord& word : weighed) word.amount /= std::sqrt(squares);
  std::ranges::sort(weighed, {}, &WeighedWord::word);  // sums in one order are equal on every machine
  return weighed;
}

std::vector<double> shares_of_codes(const KnownTexts& known, const std::vector<WeighedWord>& words) {
  std::vector<double> shares = known.bias();
  for (const WeighedWord& word : words) {
    for (std::size_t i = 0; i < shares.size(); ++i) shares[i] += word.amount * weight_of_letter(word.row->weights[i]);
  }
  const double most = std::ranges::max(shares);
  double sum = 0;
  for (double& share : shares) sum += share = std::exp(share - most);
  for (double& share : shares) share /= sum;
  return shares;
}

std::vector<std::string> speak_for_most(std::vector<WeighedWord> words, std::size_t code) {
  constexpr std::size_t kMostNamed = 4;
  const auto spoken = [&](const WeighedWord& word) { return word.amount * weight_of_letter(word.row->weights[code]); };
  std::erase_if(words,
                [&](const WeighedWord& word) { return spoken(word) <= 0 || word.word == "0" || is_piece(word); });
  std::ranges::sort(words, std::greater<>(), spoken);
  std::vector<std::string> named;
  for (const WeighedWord& word : words) {
    if (named.size() == kMostNamed) break;
    const bool is_said = std::ranges::any_of(
        named, [&](const std::string& one) { return one.contains(word.word) || word.word.contains(one); });
    if (!is_said) named.push_back(word.word);
  }
  return named;
}

}  // namespace

std::vector<std::string> words_that_count(std::string_view text) {
  std::vector<std::string> words;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t begin = at;
    if ((at = behind_colour(text, begin)) != begin) continue;
    if (text[at] == '0' && at + 2 < text.size() && in_small(text[at + 1]) == 'x' && is_hex(in_small(text[at + 2]))) {
      at += 2;
      while (at < text.size() && is_hex(in_small(text[at]))) ++at;
      words.emplace_back("hex");
    } else if (base::is_digit(text[at])) {
      at = behind_number(text, at);
      words.emplace_back("0");
    } else if (is_small(in_small(text[at]))) {
      std::string word;
      while (at < text.size() && is_small(in_small(text[at]))) word += in_small(text[at++]);
      if (word.size() > 1) words.push_back(std::move(word));
    } else if (const std::size_t length = length_of_letter_abroad(text.substr(at)); length > 0) {
      words.emplace_back(text.substr(at, length));
      at += length;
    } else {
      ++at;
    }
  }
  return words;
}

std::vector<std::string> pieces_of(const std::string& word) {
  std::vector<std::string> pieces;
  if (word.size() < 2 || !is_small(word.front())) return pieces;  // a number, or a letter that is a word
  const std::string marked = '<' + word + '>';
  for (std::size_t length = kShortestPiece; length <= std::min(kLongestPiece, marked.size()); ++length) {
    for (std::size_t at = 0; at + length <= marked.size(); ++at) pieces.push_back(kPiece + marked.substr(at, length));
  }
  return pieces;
}

double Likeness::share_of(std::string_view wanted) const {
  const auto found = std::ranges::find(shares, wanted, &CodeShare::code);
  return found == shares.end() ? 0 : found->share;
}

KnownTexts::KnownTexts(std::span<const char* const> lines) {
  std::size_t at = 0;
  const auto settings = [&] {
    std::string_view line = at < lines.size() ? lines[at++] : "";
    cut_word(line);
    return line;
  };
  std::string_view codes = settings();
  while (!codes.empty()) codes_.push_back(cut_word(codes));
  bias_ = numbers_of_line(settings());
  shares_ = numbers_of_line(settings());
  right_ = numbers_of_line(settings());
  rows_.reserve(lines.size());
  for (; at < lines.size(); ++at) {
    std::string_view line = lines[at];
    const double rarity = number_of_word(cut_word(line));
    const std::string_view weights = cut_word(line);
    rows_.emplace(line, LikenessRow{rarity, weights});
  }
}

const KnownTexts& KnownTexts::built_in() {
  static const KnownTexts known(kLikenessLines);
  return known;
}

const LikenessRow* KnownTexts::find(const std::string& word) const {
  const auto row = rows_.find(word);
  return row == rows_.end() ? nullptr : &row->second;
}

double KnownTexts::right_at(double share) const {
  double right = right_.empty() ? 0 : right_.front();  // no less was asked for where the rates were counted
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    if (share >= shares_[i]) right = right_[i];
  }
  return right;
}

Likeness KnownTexts::compare(std::string_view text, std::span<const std::string_view> ruled_out) const {
  const std::vector<WeighedWord> words = weigh_words(*this, text);
  if (words.empty()) return {};
  const std::vector<double> shares = shares_of_codes(*this, words);
  Likeness likeness;
  likeness.known_words = words.size() - static_cast<std::size_t>(std::ranges::count_if(words, is_piece));
  std::optional<std::size_t> likeliest;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const std::string_view code = codes_[i];
    likeness.shares.push_back({code, shares[i]});
    if (code == "none") likeness.healthy = shares[i];
    if (code == "none" || code == "VF001" || std::ranges::find(ruled_out, code) != ruled_out.end()) continue;
    if (shares[i] <= likeness.share) {
      if (shares[i] <= likeness.next) continue;
      likeness.next = shares[i];
      likeness.next_code = code;
      continue;
    }
    likeness.next = likeness.share;
    likeness.next_code = likeness.code;
    likeness.share = shares[i];
    likeness.code = code;
    likeliest = i;
  }
  if (!likeliest) return likeness;
  likeness.confidence = right_at(likeness.share);
  likeness.words = speak_for_most(words, *likeliest);
  return likeness;
}

}  // namespace vramfit::doctor
