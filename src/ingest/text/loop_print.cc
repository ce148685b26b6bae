#include "ingest/text/loop_print.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "ingest/text/cursor.h"
#include "ingest/text/printed_size.h"

namespace vramfit::ingest {
namespace {

constexpr std::int64_t kLinesLookedAt = 4000;
constexpr std::size_t kFewestRounds = 4;
constexpr std::size_t kMostShapes = 64, kMostRounds = 2048, kMostNumbers = 8;
constexpr std::size_t kLongestPrint = 200;
constexpr double kLeastOfBytes = 1 << 24;  // a last reading from here on may be bytes,
constexpr double kLeastOfMegabytes = 256;  // one from here on megabytes

struct PrintedNumber {
  double value = 0;
  std::int64_t unit = 0;  // bytes; 0: none is printed
};

struct Round {
  model::SourceLine at;
  std::vector<PrintedNumber> numbers;
};

// "begin loop:#", "step=# used=#@ loss=#": a line without its numbers, and the numbers.
std::pair<std::string, std::vector<PrintedNumber>> take_numbers(std::string_view text) {
  std::string shape;
  std::vector<PrintedNumber> numbers;
  for (std::size_t at = 0; at < text.size();) {
    const bool begins = is_digit(text[at]) && (at == 0 || !is_word(text[at - 1]));
    if (!begins) {
      shape += lower(text[at++]);
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && (is_digit(text[end]) || ((text[end] == '.' || text[end] == ',') &&
                                                         end + 1 < text.size() && is_digit(text[end + 1]))))
      ++end;
    PrintedNumber number;
    std::string digits(text.substr(at, end - at));
    std::erase(digits, ',');
    number.value = to_number(digits).value_or(0);
    Cursor behind(text.substr(end));
    behind.skip_blanks();
    const std::string_view unit = behind.take_while(is_letter);
    const bool is_speed = behind.peek() == '/';
    number.unit = unit.size() > 1 && !is_speed ? unit_bytes(unit) : 0;
    shape += number.unit != 0 ? "#@" : "#";
    at = number.unit != 0 ? end + behind.position() : end;
    numbers.push_back(number);
  }
  return {std::move(shape), std::move(numbers)};
}

constexpr auto kOfOtherThings = std::to_array<std::string_view>(
    {"download", "upload", "copy", "copied", "fetch",   "extract", "shard", "saving",   "saved",
     "dataset",  "disk",   "file", "read",   "written", "cpu",     "host",  "swap",     "rss",
     " ram",     "ram ",   "eta",  "tokens", "total",   "http",    "write", "cache hit"});
constexpr auto kOfMemory =
    std::to_array<std::string_view>({"mem", "alloc", "reserv", "gpu", "vram", "cuda", "used", "usage", "显存"});
constexpr auto kCalls = std::to_array<std::string_view>(
    {"memory_allocated", "memory_reserved", "memory_cached", "memory_map", "mem_get_info", "memory_stats", "gputil",
     "nvidia-smi", "nvmldevice", "gpu_memory", "gpu_usage", "memory.used", "get_gpu"});

// The label in front of the last number of a shape: "used=" of "step=# used=#@".
std::string_view label_of(std::string_view shape, std::size_t column) {
  std::size_t begin = 0, end = 0;
  for (std::size_t i = 0; i <= column; ++i) {
    begin = i == 0 ? 0 : end + 1;
    end = shape.find('#', begin);
  }
  return shape.substr(begin, end - begin);
}

class LoopPrintReader final : public TextReader {
 public:
  void read(const LogLine& line, EvidenceSink& sink) override {
    ++read_;
    const std::string_view text = trim(line.text);
    shows_call_ = shows_call_ || contains_any(text, kCalls);
    if (text.size() > kLongestPrint || text.starts_with('|') || std::ranges::none_of(text, is_digit)) return;
    auto [shape, numbers] = take_numbers(text);
    if (numbers.empty() || numbers.size() > kMostNumbers || shape.contains("traceback") || shape.contains("error") ||
        shape.contains("%|"))
      return;
    if (!shapes_.contains(shape) && shapes_.size() >= kMostShapes) return;
    auto& rounds = shapes_[shape];
    if (rounds.size() < kMostRounds) rounds.push_back({sink.at(line), std::move(numbers)});
  }

  bool wants_more() const override { return read_ < kLinesLookedAt; }

  void finish(EvidenceSink& sink) override {
    auto& training = sink.evidence().training;
    std::set<std::int64_t> taken;
    for (const model::TrainingLogPoint& point : training) taken.insert(point.at.line);
    for (const auto& [shape, rounds] : shapes_) {
      // What another reader knows, even if it kept only a part of a long log, is not read twice.
      const bool is_known =
          std::ranges::any_of(rounds, [&](const Round& round) { return taken.contains(round.at.line); });
      if (rounds.size() < kFewestRounds || is_known) continue;
      const std::size_t steps = column_of_steps(rounds);
      const auto found = find_memory_column(shape, rounds, steps, sink.evidence());
      if (!found) continue;
      for (const Round& round : rounds) {
        if (training.size() >= sink.limits().most_entries) return;
        model::TrainingLogPoint point;
        point.at = round.at;
        point.source = "loop";
        point.label = shape;
        const PrintedNumber& number = round.numbers[found->first];
        point.memory = model::exactly(base::Bytes(static_cast<std::int64_t>(
            number.value * static_cast<double>(number.unit != 0 ? number.unit : found->second))));
        if (steps < round.numbers.size()) point.step = static_cast<std::int64_t>(round.numbers[steps].value);
        training.push_back(std::move(point));
      }
    }
  }

 private:
  // Counts that rise by the same from line to line; the number of columns if none does.
  static std::size_t column_of_steps(const std::vector<Round>& rounds) {
    const std::size_t columns = rounds.front().numbers.size();
    for (std::size_t column = 0; column < columns; ++column) {
      const auto value = [&](std::size_t i) { return rounds[i].numbers[column].value; };
      const double step = value(1) - value(0);
      bool is_even = step > 0 && rounds[0].numbers[column].unit == 0 && value(0) < 1e6 && columns > 1;
      for (std::size_t i = 1; is_even && i < rounds.size(); ++i) is_even = value(i) - value(i - 1) == step;
      if (is_even) return column;
    }
    return columns;
  }

  // The column that is memory, and the unit of its numbers where none is printed.
  std::optional<std::pair<std::size_t, std::int64_t>> find_memory_column(const std::string& shape,
                                                                         const std::vector<Round>& rounds,
                                                                         std::size_t steps,
                                                                         const model::Evidence& evidence) const {
    const std::size_t columns = rounds.front().numbers.size();
    if (contains_any(shape, kOfOtherThings)) return std::nullopt;
    const bool of_memory = shows_call_ || !evidence.ooms.empty() || !evidence.oom_mentions.empty() ||
                           !evidence.memory_words.empty() || !evidence.told.empty();
    for (std::size_t column = columns; column-- > 0;) {
      if (column == steps) continue;
      const std::string_view label = label_of(shape, column);
      const bool is_labelled = contains_any(label, kOfMemory);
      if (label.contains("loss") || label.contains("lr") || label.contains("acc")) continue;
      if (rounds.front().numbers[column].unit != 0) {
        if (is_labelled || of_memory) return std::pair(column, std::int64_t{0});
        continue;
      }
      const double last = rounds.back().numbers[column].value;
      const bool rises = last > rounds.front().numbers[column].value;
      if (!rises || !(is_labelled || shows_call_ || ends_at_figure(last, evidence))) continue;
      if (last >= kLeastOfBytes) return std::pair(column, std::int64_t{1});
      if (last >= kLeastOfMegabytes && (is_labelled || shows_call_)) return std::pair(column, kMib);
    }
    return std::nullopt;
  }

  // The last reading is about what the message says was allocated.
  static bool ends_at_figure(double last, const model::Evidence& evidence) {
    return std::ranges::any_of(evidence.ooms, [&](const model::OomMessage& oom) {
      if (!oom.allocated) return false;
      const auto allocated = static_cast<double>(oom.allocated->value.count());
      return last > allocated * 0.6 && last < allocated * 1.1;
    });
  }

  std::map<std::string, std::vector<Round>> shapes_;
  std::int64_t read_ = 0;
  bool shows_call_ = false;
};

constexpr auto kLoopPrintWords = std::to_array<std::string_view>({"memory_allocated", "memory_reserved"});

}  // namespace

const TextFormat kLoopPrintFormat{"loop_print", kLoopPrintWords,
                                  [] { return std::unique_ptr<TextReader>(new LoopPrintReader); }};

}  // namespace vramfit::ingest
