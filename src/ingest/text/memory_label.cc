#include "ingest/text/memory_label.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ingest/text/cursor.h"
#include "ingest/text/printed_size.h"

namespace vramfit::ingest {
namespace {

constexpr std::size_t kMostWordsOfLabel = 10;  // of a label
constexpr std::size_t kLongestLabel = 80;      // letters
constexpr double kFewestBytes = 1 << 24;       // without a unit: so large a number is bytes,
constexpr double kFewestMegabytes = 256;       // one from here on MiB, and a fraction below it GiB

constexpr std::array<std::string_view, 32> kOtherThings{
    "cpu",   "host",     "ram",      "rss",    "vms",     "uss",         "pss",       "system",
    "sys",   "swap",     "shm",      "disk",   "virtual", "pinned",      "heap",      "total",
    "limit", "capacity", "fraction", "ratio",  "util",    "utilization", "bandwidth", "clock",
    "bank",  "slots",    "delta",    "replay", "batch",   "requested",   "tried",     "blocks"};
constexpr std::array<std::string_view, 5> kCardWords{"gpu", "gpus", "cuda", "vram", "hbm"};

template <class Words>
bool is_any_of(std::string_view word, const Words& words) {
  return std::ranges::find(words, word) != words.end();
}

bool speaks_of_memory(std::string_view word) {
  return word.ends_with("mem") || word.starts_with("memory") || word.ends_with("memory") || word.ends_with("vram") ||
         word.starts_with("alloc") || word.starts_with("reserv");
}

// "max_memAllocated(GiB)" -> max, mem, allocated, gib
std::vector<std::string> words_of(std::string_view label) {
  std::vector<std::string> words(1);
  for (std::size_t i = 0; i < label.size(); ++i) {
    const bool is_hump =
        i > 0 && label[i] != lower(label[i]) && is_letter(label[i - 1]) && label[i - 1] == lower(label[i - 1]);
    if ((!is_letter(label[i]) || is_hump) && !words.back().empty()) words.emplace_back();
    if (is_letter(label[i])) words.back() += lower(label[i]);
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

// The place where a number begins that is no part of a word.
std::size_t find_number(std::string_view text, std::size_t from) {
  for (std::size_t at = from; at < text.size(); ++at) {
    if (!is_digit(text[at])) continue;
    if (at == 0 || (!is_word(text[at - 1]) && text[at - 1] != '.' && text[at - 1] != '-')) return at;
    while (at < text.size() && (is_word(text[at]) || text[at] == '.')) ++at;
  }
  return kNowhere;
}

// Reads a line backwards from a number.
class BackCursor {
 public:
  BackCursor(std::string_view text, std::size_t at) : text_(text), at_(at) {}

  bool take(char letter) { return at_ > 0 && text_[at_ - 1] == letter ? --at_, true : false; }
  bool take_any(std::string_view letters) { return at_ > 0 && letters.contains(text_[at_ - 1]) ? --at_, true : false; }
  std::size_t skip_blanks() {
    const std::size_t before = at_;
    while (at_ > 0 && is_blank(text_[at_ - 1])) --at_;
    return before - at_;
  }
  // "(MB)", "[MiB]"; empty where no such thing stands.
  std::string_view take_bracket() {
    if (at_ == 0 || (text_[at_ - 1] != ')' && text_[at_ - 1] != ']')) return {};
    const std::size_t open = text_.find_last_of("([", at_ - 1);
    if (open == kNowhere || at_ - open > 10) return {};
    const std::string_view inner = text_.substr(open + 1, at_ - 2 - open);
    at_ = open;
    return inner;
  }
  std::string_view take_word() {
    const std::size_t end = at_;
    while (at_ > 0 && is_of_label(text_[at_ - 1])) --at_;
    return text_.substr(at_, end - at_);
  }
  std::size_t position() const { return at_; }

 private:
  static bool is_of_label(char letter) {
    return is_word(letter) || letter == '.' || letter == '-' || letter == '/' ||
           static_cast<unsigned char>(letter) >= 0x80;
  }

  std::string_view text_;
  std::size_t at_;
};

// The words right before `end`, single blanks between them, none that begins with a digit.
std::string_view label_before(std::string_view text, std::size_t end, std::size_t most_words) {
  BackCursor cursor(text, end);
  std::size_t begin = end;
  for (std::size_t words = 0; words < most_words && end - begin < kLongestLabel; ++words) {
    const std::string_view word = cursor.take_word();
    if (word.empty() || is_digit(word.front())) break;
    begin = cursor.position();
    if (!cursor.take(' ')) break;
  }
  return trim(text.substr(begin, end - begin));
}

std::optional<LabelledMemory> read_at(std::string_view text, std::size_t number) {
  BackCursor back(text, number);
  back.take_any("\"'~");
  const std::size_t blanks = back.skip_blanks();
  const bool is_equal = back.take('=');
  const bool has_sign = is_equal || back.take(':');
  if (!has_sign && blanks != 1) return std::nullopt;            // "mem 9000MB"; two blanks are a column's
  if (has_sign && back.skip_blanks() > 1) return std::nullopt;  // "Reserved        : 318 MiB", a line of nvidia-smi -q
  back.take_any("\"'");
  const std::string_view bracket = back.take_bracket();
  if (!bracket.empty()) back.skip_blanks();
  const std::string_view label = label_before(text, back.position(), is_equal ? 1 : kMostWordsOfLabel);
  if (label.empty()) return std::nullopt;
  auto kind = read_memory_label(label);
  if (!kind) return std::nullopt;
  if (const std::int64_t unit = unit_bytes(bracket); unit != 0) kind->unit = unit;
  if (const auto percent = read_labelled_percent(text.substr(number), *kind)) {
    return LabelledMemory{std::string(label), *kind, std::nullopt, percent};
  }
  if (!has_sign) {
    if (!label.contains('_')) kind->unit = 0;  // "memory_mb 4000" has one, of "memory in MB 5" nobody knows
    kind->is_of_card = false;                  // and a number without one is not meant
  }
  return read_labelled(text.substr(number), label, *kind);
}

}  // namespace

std::optional<MemoryLabel> read_memory_label(std::string_view label) {
  MemoryLabel kind;
  // 显存 is the card's memory in Chinese.
  bool is_memory = kind.is_of_card = label.contains("显存") || label.contains("顯存");
  bool is_behind_card = false;
  for (const std::string& word : words_of(label)) {
    const bool is_ram_of_card = is_behind_card && word == "ram";  // "free GPU RAM"
    is_behind_card = is_any_of(word, kCardWords);
    is_memory |= is_ram_of_card;
    if (!is_ram_of_card && is_any_of(word, kOtherThings)) return std::nullopt;
    is_memory |= speaks_of_memory(word);
    kind.is_allocated |= word.starts_with("alloc");
    kind.is_reserved |= word.starts_with("reserv") || word == "cached";
    kind.is_peak |= word.starts_with("max") || word.starts_with("peak");
    kind.is_free |= word == "free" || word == "available";
    kind.is_percent |= word == "percent" || word == "pct" || word == "percentage";
    kind.is_of_card |= is_any_of(word, kCardWords) || word.starts_with("gpu") || word.starts_with("cuda");
    if (const std::int64_t unit = unit_bytes(word); unit != 0 && word.size() > 1) kind.unit = unit;
  }
  kind.is_of_card |= kind.is_allocated || kind.is_reserved || kind.is_free;
  if (!is_memory && !(kind.is_free && kind.unit != 0)) return std::nullopt;  // "gb_free" is one too
  return kind;
}

std::optional<model::PrintedBytes> read_labelled_amount(std::string_view text, const MemoryLabel& label) {
  Cursor cursor(text);
  const std::string_view digits = cursor.take_while([](char letter) { return is_digit(letter) || letter == '.'; });
  const auto number = to_number(digits.ends_with('.') ? digits.substr(0, digits.size() - 1) : digits);
  if (!number || label.is_percent) return std::nullopt;
  if (cursor.peek() == '/' && is_digit(cursor.rest().substr(1, 1).empty() ? 'x' : cursor.rest()[1])) {  // "3.2/24GB"
    Cursor behind(cursor.rest().substr(1));
    behind.take_while([](char letter) { return is_digit(letter) || letter == '.'; });
    behind.skip_blanks();
    const std::int64_t unit = unit_bytes(behind.take_while(is_letter));
    if (unit != 0) return printed_bytes(digits, unit, Rounding::kNearest);
  }
  Cursor behind = cursor;
  behind.skip_blanks();
  if (behind.peek() == '%') return std::nullopt;
  if (const auto size = parse_size(text, Rounding::kNearest)) return size->bytes;
  if (is_letter(cursor.peek())) return std::nullopt;  // "3x", "7s"
  if (label.unit != 0) return printed_bytes(digits, label.unit, Rounding::kNearest);
  if (!label.is_of_card) return std::nullopt;
  if (*number >= kFewestBytes) return printed_bytes(digits, 1, Rounding::kUnknown);
  if (*number >= kFewestMegabytes) return printed_bytes(digits, kMib, Rounding::kUnknown);
  return digits.contains('.') ? printed_bytes(digits, kGib, Rounding::kUnknown) : std::nullopt;
}

std::optional<double> read_labelled_percent(std::string_view text, const MemoryLabel& label) {
  Cursor cursor(text);
  const auto number = to_number(cursor.take_while([](char letter) { return is_digit(letter) || letter == '.'; }));
  if (!number || *number > 100 || !label.is_of_card) return std::nullopt;
  cursor.skip_blanks();
  if (cursor.peek() == '%') return number;
  return label.is_percent && !is_letter(cursor.peek()) ? number : std::nullopt;
}

std::optional<LabelledMemory> read_labelled(std::string_view text, std::string_view label, const MemoryLabel& kind) {
  LabelledMemory found{std::string(label), kind, read_labelled_amount(text, kind), std::nullopt};
  if (!found.bytes) found.percent = read_labelled_percent(text, kind);
  return found.bytes || found.percent ? std::optional(std::move(found)) : std::nullopt;
}

std::vector<LabelledMemory> find_labelled_memory(std::string_view text) {
  std::vector<LabelledMemory> found;
  for (std::size_t at = find_number(text, 0); at != kNowhere; at = find_number(text, at)) {
    if (auto memory = read_at(text, at)) found.push_back(std::move(*memory));
    while (at < text.size() && (is_digit(text[at]) || text[at] == '.')) ++at;
  }
  return found;
}

}  // namespace vramfit::ingest
