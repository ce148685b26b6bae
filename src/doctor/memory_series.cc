#include "doctor/memory_series.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "base/letters.h"
#include "base/parse_number.h"
#include "doctor/stack.h"

namespace vramfit::doctor {

namespace {

constexpr std::size_t kFewestPoints = 4;
constexpr double kRisesBy = 0.02;       // of the first value, over the whole series: less is level
constexpr double kEvenly = 0.4;         // a half's rise is at least this part of half of the whole rise
constexpr std::size_t kFewestEven = 8;  // rises of the same size, one after the other, are no chance
constexpr double kSameRise = 0.25;      // of the mean one: so much they may differ
constexpr double kFallsOfRise = 0.25;   // falls that sum to more than this part of the rises: it varies

// The straight line that fits best: its rise a step.
double slope_of(const std::vector<SeriesPoint>& points) {
  double mean_step = 0, mean_amount = 0;
  for (const SeriesPoint& point : points) {
    mean_step += point.step;
    mean_amount += point.amount;
  }
  mean_step /= static_cast<double>(points.size());
  mean_amount /= static_cast<double>(points.size());
  double above = 0, below = 0;
  for (const SeriesPoint& point : points) {
    above += (point.step - mean_step) * (point.amount - mean_amount);
    below += (point.step - mean_step) * (point.step - mean_step);
  }
  return below > 0 ? above / below : 0;
}

// Each reading is higher than the one before, by the same: little by little, but without an end.
bool rises_evenly(const std::vector<SeriesPoint>& points) {
  if (points.size() < kFewestEven) return false;
  const double mean = (points.back().amount - points.front().amount) / static_cast<double>(points.size() - 1);
  for (std::size_t i = 1; i < points.size(); ++i) {
    const double rise = points[i].amount - points[i - 1].amount;
    if (rise <= 0 || std::abs(rise - mean) > kSameRise * mean) return false;
  }
  return true;
}

// The number behind a word of the line: "seq_len 128", "batch_size=32", "resolution: 640".
std::optional<std::int64_t> number_behind(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  const std::size_t begin = text.find_first_not_of(" :=\"'", at + word.size());
  if (begin == std::string_view::npos) return std::nullopt;
  std::size_t end = begin;
  while (end < text.size() && base::is_digit(text[end])) ++end;
  return base::parse_number<std::int64_t>(text.substr(begin, end - begin));
}

}  // namespace

namespace {

// The numbers of a line, in their order.
std::vector<double> numbers_of(std::string_view text) {
  constexpr std::size_t kMostNumbers = 32;
  std::vector<double> numbers;
  for (std::size_t at = 0; at < text.size() && numbers.size() < kMostNumbers;) {
    if (!base::is_digit(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && (base::is_digit(text[end]) || text[end] == '.')) ++end;
    numbers.push_back(base::parse_number<double>(text.substr(at, end - at)).value_or(0));
    at = end;
  }
  return numbers;
}

}  // namespace

// A counter of steps adds the same from reading to reading, and so does what piles up. A number that is multiplied by
// the same each time is a size that somebody tries: 1, 2, 4, 8, 16.
bool tries_sizes(const MemorySeries& series) {
  constexpr double kLeastFactor = 1.9, kTolerance = 0.02;
  if (series.points.size() < kFewestPoints) return false;
  std::vector<std::vector<double>> rows;
  for (const SeriesPoint& point : series.points) {
    rows.push_back(numbers_of(point.at.text));
    if (rows.back().size() != rows.front().size()) return false;
  }
  for (std::size_t column = 0; column < rows.front().size(); ++column) {
    const double first = rows[0][column], factor = first > 0 ? rows[1][column] / first : 0;
    bool is_size = factor >= kLeastFactor, is_memory = true;
    for (std::size_t i = 1; is_size && i < rows.size(); ++i) {
      const double due = rows[i - 1][column] * factor;
      const double as_memory = first * series.points[i].amount / series.points[0].amount;
      is_size = rows[i][column] != series.points[i].step && std::abs(rows[i][column] - due) <= kTolerance * due;
      is_memory = is_memory && std::abs(rows[i][column] - as_memory) <= kTolerance * as_memory;
    }
    if (is_size && !is_memory) return true;
  }
  return false;
}

namespace {

// A size that rises in jumps while the memory stays level between them and jumps with it: "res 8x8", then "res 16x16".
// What piles up rises at every reading. A counter (an epoch) goes up by one, a size by a quarter or more.
std::string find_size_of_plateaus(const MemorySeries& series) {
  constexpr double kLeastFactor = 1.25, kLevel = 0.02;
  constexpr std::size_t kFewestPlateaus = 3, kFewestOfPlateau = 2;
  std::vector<std::vector<double>> rows;
  for (const SeriesPoint& point : series.points) {
    rows.push_back(numbers_of(point.at.text));
    if (rows.back().size() != rows.front().size()) return {};
  }
  for (std::size_t column = 0; !rows.empty() && column < rows.front().size(); ++column) {
    bool follows = true;
    std::size_t plateaus = 1, of_plateau = 1;
    for (std::size_t i = 1; follows && i < rows.size(); ++i) {
      const double size = rows[i][column], before = rows[i - 1][column];
      const double rise = series.points[i].amount - series.points[i - 1].amount;
      if (size == before) {
        ++of_plateau;
        follows = std::abs(rise) <= kLevel * series.points[i - 1].amount;
        continue;
      }
      follows = size >= kLeastFactor * before && of_plateau >= kFewestOfPlateau &&
                rise >= -kLevel * series.points[i - 1].amount;
      ++plateaus;
      of_plateau = 1;
    }
    if (!follows || plateaus < kFewestPlateaus) continue;
    return fmt::format("a size that stands in these lines, {:g}, then {:g}, and within each the memory is level",
                       rows.front()[column], rows.back()[column]);
  }
  return {};
}

}  // namespace

std::string find_rising_input(const MemorySeries& series) {
  if (series.points.size() < 2) return {};
  if (std::string size = find_size_of_plateaus(series); !size.empty()) return size;
  const std::string first = lowered(series.points.front().at.text), last = lowered(series.points.back().at.text);
  for (const std::string_view word :
       {"seq_len", "seqlen", "seq len", "sequence_length", "sequence length", "max_length", "length", "resolution",
        "img_size", "image_size", "imgsz", "batch_size", "batch size", "n_ctx", "num_tokens"}) {
    const auto before = number_behind(first, word), after = number_behind(last, word);
    if (before && after && *after > *before) return fmt::format("{} {}, then {}", word, *before, *after);
  }
  return {};
}

std::string show(const MemorySeries& series, double amount) {
  if (series.is_share) return fmt::format("{:.3g} % of the card", amount);
  return to_string(base::Bytes(static_cast<std::int64_t>(amount)));
}

TrendOf find_trend(const MemorySeries& series) {
  const auto& points = series.points;
  TrendOf found;
  if (points.empty()) return found;
  found.first = points.front().amount;
  found.last = points.back().amount;
  if (points.size() < kFewestPoints) return found;
  found.per_step = slope_of(points);
  const double first = points.front().amount, last = points.back().amount;
  const double middle = points[points.size() / 2].amount;
  double rises = 0, falls = 0;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const double difference = points[i].amount - points[i - 1].amount;
    (difference > 0 ? rises : falls) += std::abs(difference);
  }
  const double level = kRisesBy * std::max(first, 1.0);
  if (rises_evenly(points)) {
    found.trend = Trend::kGrows;
  } else if (rises + falls <= level) {
    found.trend = Trend::kFlat;
  } else if (falls > kFallsOfRise * rises) {
    found.trend = Trend::kVaries;
  } else if (last - middle >= kEvenly * (last - first) / 2 && middle - first >= kEvenly * (last - first) / 2 &&
             last - first > level) {
    found.trend = Trend::kGrows;
  } else {
    found.trend = last - middle <= level ? Trend::kSettles : Trend::kVaries;
  }
  return found;
}

namespace {

constexpr const char* kFree = "free";

using Key = std::tuple<std::string, std::string, int, std::string, std::string>;

class SeriesTable {
 public:
  void add(const Key& key, const std::optional<model::PrintedBytes>& bytes, const model::SourceLine& at,
           std::optional<std::int64_t> step) {
    if (bytes) add_amount(key, static_cast<double>(bytes->value.count()), at, step);
  }
  void add_share(const Key& key, const std::optional<double>& percent, const model::SourceLine& at,
                 std::optional<std::int64_t> step) {
    if (percent) add_amount(key, *percent, at, step).is_share = true;
  }

  std::vector<MemorySeries> take() {
    std::vector<MemorySeries> all;
    for (auto& [key, series] : table_) {
      renumber_if_steps_start_again(series);
      if (series.what == kFree) turn_into_used(series);
      all.push_back(std::move(series));
    }
    return all;
  }

 private:
  MemorySeries& add_amount(const Key& key, double amount, const model::SourceLine& at,
                           std::optional<std::int64_t> step) {
    MemorySeries& series = table_[key];
    series.what = std::get<3>(key);
    series.phase = std::get<4>(key);
    series.is_peak = series.what.starts_with("max_");
    const auto position = static_cast<double>(series.points.size());
    series.points.push_back({at, step ? static_cast<double>(*step) : position, amount});
    return series;
  }

  // Memory that is no longer free is used, by whomever: the most that was free is the measure.
  static void turn_into_used(MemorySeries& series) {
    double most = 0;
    for (const SeriesPoint& point : series.points) most = std::max(most, point.amount);
    for (SeriesPoint& point : series.points) point.amount = most - point.amount;
    series.what = "memory (by what is free)";
  }

  // Steps that count from 0 in every epoch are no axis: positions are.
  static void renumber_if_steps_start_again(MemorySeries& series) {
    const bool rises = std::is_sorted(series.points.begin(), series.points.end(),
                                      [](const SeriesPoint& a, const SeriesPoint& b) { return a.step < b.step; });
    if (rises) return;
    for (std::size_t i = 0; i < series.points.size(); ++i) series.points[i].step = static_cast<double>(i);
  }

  std::map<Key, MemorySeries> table_;
};

}  // namespace

std::vector<MemorySeries> find_series(const model::Evidence& texts) {
  SeriesTable table;
  for (const model::TrainingLogPoint& point : texts.training) {
    const int rank = point.speaker.rank.value_or(-1);
    // Places of the same name are one series (DeepSpeed names several in one step), and so are columns.
    const std::string source = point.source + " " + point.label;
    const auto add = [&](const char* what, const std::optional<model::PrintedBytes>& bytes) {
      table.add({point.at.file, source, rank, what, point.phase}, bytes, point.at, point.step);
    };
    add("allocated", point.allocated);
    add("max_allocated", point.max_allocated);
    add("reserved", point.reserved);
    add("max_reserved", point.max_reserved);
    add("memory", point.memory);
    add(kFree, point.free);
    const auto add_share = [&](const char* what, const std::optional<double>& percent) {
      table.add_share({point.at.file, source, rank, what, point.phase}, percent, point.at, point.step);
    };
    add_share("used memory", point.used_percent);
    add_share("max_used memory", point.max_used_percent);
  }
  for (const model::MemorySummary& summary : texts.summaries) {
    const auto found = summary.statistics.find("allocated_bytes.all");
    if (found == summary.statistics.end()) continue;
    table.add({summary.at.file, "summary", summary.device.value_or(0), "allocated", ""}, found->second.current,
              summary.at, std::nullopt);
  }
  return table.take();
}

}  // namespace vramfit::doctor
