#include "ingest/text/memory_summary.h"

#include <array>
#include <string>
#include <utility>

#include "ingest/text/cursor.h"
#include "ingest/text/printed_size.h"

namespace vramfit::ingest {
namespace {

using model::MemoryStatistic;
using model::MemorySummary;

constexpr int kMostSummaryIdleLines = 8;  // lines of something else within a table before it is given up

// ---- the table ------------------------------------------------------------------------------------------------------

//   |===========================================================================|
//   |                  PyTorch CUDA memory summary, device ID 0                 |
//   |            CUDA OOMs: 1            |        cudaMalloc retries: 1         |
//   |        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |
//   | Allocated memory      |   7034 MiB |   7034 MiB |   8100 MiB |   1066 MiB |
//   |       from large pool |   6990 MiB | ...
struct Row {
  std::string_view label, key;
};
constexpr std::array<Row, 11> kRows{{{"Allocated memory", "allocated_bytes"},
                                     {"Active memory", "active_bytes"},
                                     {"Requested memory", "requested_bytes"},
                                     {"GPU reserved memory", "reserved_bytes"},
                                     {"Non-releasable memory", "inactive_split_bytes"},
                                     {"Allocations", "allocation"},
                                     {"Active allocs", "active"},
                                     {"GPU reserved segments", "segment"},
                                     {"Non-releasable allocs", "inactive_split"},
                                     {"Oversize allocations", "oversize_allocations"},
                                     {"Oversize GPU segments", "oversize_segments"}}};

std::vector<std::string_view> cells(std::string_view text) {
  std::vector<std::string_view> found;
  const std::size_t first = text.find('|');
  if (first == std::string_view::npos) return found;
  for (Cursor cursor(text.substr(first + 1)); !cursor.at_end();) found.push_back(trim(cursor.take_until("|")));
  return found;
}

// "7034 MiB", "12 K" (counts are scaled by 1000 from 10000 on), "0 B", "53"
std::optional<model::PrintedBytes> cell_value(std::string_view cell, bool is_bytes) {
  Cursor cursor(cell);
  const std::string_view digits = cursor.take_while([](char letter) { return is_digit(letter) || letter == '-'; });
  cursor.skip_blanks();
  const std::string_view unit = cursor.take_while(is_letter);
  if (digits.empty() || digits.contains('-') || !cursor.at_end()) return std::nullopt;
  if (is_bytes)
    return parse_size(cell, Rounding::kDown) ? std::optional(parse_size(cell, Rounding::kDown)->bytes) : std::nullopt;
  std::int64_t scale = 1;
  if (unit == "K")
    scale = 1000;
  else if (unit == "M")
    scale = 1000 * 1000;
  else if (!unit.empty())
    return std::nullopt;
  return printed_bytes(digits, scale, scale == 1 ? Rounding::kNearest : Rounding::kDown);
}

class MemorySummaryReader final : public TextReader {
 public:
  void read(const LogLine& line, EvidenceSink& sink) override {
    const std::string_view text = line.text;
    if (text.contains("memory summary")) {
      finish(sink);
      if (!text.contains("PyTorch") || !text.contains("device")) return;
      open_ = MemorySummary{};
      open_->at = sink.at(line);
      open_->speaker = line.speaker;
      if (const auto device = integer_after(text, "device ID"); device && *device >= 0 && *device < 4096)
        open_->device = static_cast<int>(*device);
      stream_ = line.stream;
      metric_ = {};
      idle_ = 0;
      return;
    }
    if (!open_ || line.stream != stream_) return;
    if (text.contains("|===") && !open_->statistics.empty() && rows_since_header_ > 1) {
      last_bar_ = true;
      return;
    }
    if (take_row(text)) {
      idle_ = 0;
    } else if (!text.contains('|') && (last_bar_ || ++idle_ > kMostSummaryIdleLines)) {
      finish(sink);
    }
  }

  bool wants_more() const override { return open_.has_value(); }

  void finish(EvidenceSink& sink) override {
    if (!open_) return;
    open_->truncated = !open_->statistics.contains("reserved_bytes.all");
    open_->abbreviated = !open_->truncated && !open_->statistics.contains("reserved_bytes.large_pool");
    if (open_->statistics.empty() && open_->counters.empty()) {
      sink.count_unread("memory summaries without rows");
    } else {
      sink.add(sink.evidence().summaries, std::move(*open_), "memory summaries");
    }
    open_.reset();
    rows_since_header_ = 0;
    last_bar_ = false;
  }

 private:
  bool take_row(std::string_view text) {
    const auto row = cells(text);
    if (text.contains("OOMs:")) {
      if (const auto count = integer_after(text, "OOMs:")) open_->counters["num_ooms"] = *count;
      if (const auto count = integer_after(text, "retries:")) open_->counters["num_alloc_retries"] = *count;
      return true;
    }
    if (row.size() < 5) return text.contains('|');
    std::string pool = "all";
    if (row[0].contains("large pool"))
      pool = "large_pool";
    else if (row[0].contains("small pool"))
      pool = "small_pool";
    else
      metric_ = key_of(row[0]);
    if (metric_.empty()) return true;
    const bool is_bytes = metric_.ends_with("_bytes");
    std::array<std::optional<model::PrintedBytes>, 4> values;
    for (std::size_t i = 0; i < 4; ++i) values[i] = cell_value(row[i + 1], is_bytes);
    if (!values[0] || !values[1] || !values[2] || !values[3]) return true;
    open_->statistics[std::string(metric_) + "." + pool] = {*values[0], *values[1], *values[2], *values[3]};
    ++rows_since_header_;
    return true;
  }

  static std::string_view key_of(std::string_view label) {
    for (const Row& row : kRows) {
      if (label == row.label) return row.key;
    }
    return {};
  }

  std::optional<MemorySummary> open_;
  std::string stream_;
  std::string_view metric_;
  int idle_ = 0, rows_since_header_ = 0;
  bool last_bar_ = false;
};

// ---- the dict -------------------------------------------------------------------------------------------------------

constexpr std::array<std::string_view, 14> kStatNames{"active",
                                                      "active_bytes",
                                                      "allocated_bytes",
                                                      "allocation",
                                                      "inactive_split",
                                                      "inactive_split_bytes",
                                                      "requested_bytes",
                                                      "reserved_bytes",
                                                      "segment",
                                                      "oversize_allocations",
                                                      "oversize_segments",
                                                      "active_requests",
                                                      "allocations",
                                                      "segments"};
constexpr std::array<std::string_view, 9> kCounterNames{"num_alloc_retries",  "num_ooms",        "num_sync_all_streams",
                                                        "num_device_alloc",   "num_device_free", "max_split_size",
                                                        "num_oom_rejections", "num_host_alloc",  "num_host_free"};

template <class Names>
bool among(const Names& names, std::string_view name) {
  for (const std::string_view one : names) {
    if (one == name) return true;
  }
  return false;
}

// "allocated_bytes.all.current" in its parts, also behind a prefix ("GPU_0/allocated_bytes.all.current").
struct StatKey {
  std::string_view name, pool, kind;
};
std::optional<StatKey> parse_key(std::string_view key) {
  if (const std::size_t slash = key.find_last_of("/ "); slash != std::string_view::npos) key.remove_prefix(slash + 1);
  const std::size_t last = key.rfind('.');
  if (last == std::string_view::npos) return std::nullopt;
  const std::size_t first = key.rfind('.', last - 1);
  StatKey parts{key.substr(0, first == std::string_view::npos ? last : first),
                first == std::string_view::npos ? std::string_view("all") : key.substr(first + 1, last - first - 1),
                key.substr(last + 1)};
  const bool pool = parts.pool == "all" || parts.pool == "small_pool" || parts.pool == "large_pool";
  const bool kind =
      parts.kind == "current" || parts.kind == "peak" || parts.kind == "allocated" || parts.kind == "freed";
  return pool && kind && among(kStatNames, parts.name) ? std::optional(parts) : std::nullopt;
}

bool is_key_letter(char letter) { return is_word(letter) || letter == '.' || letter == '/'; }

class MemoryStatsReader final : public TextReader {
 public:
  void read(const LogLine& line, EvidenceSink& sink) override {
    int found = 0;
    for (std::size_t at = 0; at < line.text.size();) at = take_pair(line, at, found, sink);
    idle_ = found > 0 ? 0 : idle_ + 1;
    if (idle_ > kMostSummaryIdleLines) finish(sink);
  }

  bool wants_more() const override { return open_.has_value(); }

  void finish(EvidenceSink& sink) override {
    if (open_ && !open_->statistics.empty()) sink.add(sink.evidence().summaries, std::move(*open_), "memory summaries");
    open_.reset();
    seen_.clear();
    idle_ = 0;
  }

 private:
  // Reads the key at or behind `at`, and its number; returns where to go on.
  std::size_t take_pair(const LogLine& line, std::size_t at, int& found, EvidenceSink& sink) {
    const std::string_view text = line.text;
    while (at < text.size() && !is_letter(text[at])) ++at;
    std::size_t end = at;
    while (end < text.size() && is_key_letter(text[end])) ++end;
    if (end == at) return at + 1;
    Cursor cursor(text.substr(end));
    cursor.take_while([](char letter) { return is_blank(letter) || std::string_view("'\":=,|").contains(letter); });
    const auto value = cursor.take_integer();
    if (value && add(line, text.substr(at, end - at), *value, sink)) ++found;
    return end;
  }

  bool add(const LogLine& line, std::string_view key, std::int64_t value, EvidenceSink& sink) {
    const auto parts = parse_key(key);
    const bool counter = !parts && among(kCounterNames, key);
    if (!parts && !counter) return false;
    if (counter && !open_) return false;  // a word of its own only within a dict
    // The same key once more: the next dict.
    if (open_ && !seen_.insert({std::string(key), true}).second) finish(sink);
    if (!open_) {
      open_ = MemorySummary{};
      open_->at = sink.at(line);
      open_->speaker = line.speaker;
      seen_ = {{std::string(key), true}};
    }
    if (counter) {
      open_->counters[std::string(key)] = value;
      return true;
    }
    if (value < 0) return true;
    MemoryStatistic& statistic = open_->statistics[std::string(parts->name) + "." + std::string(parts->pool)];
    const model::PrintedBytes exact = model::exactly(model::held_within_limit(value));
    (parts->kind == "current"     ? statistic.current
     : parts->kind == "peak"      ? statistic.peak
     : parts->kind == "allocated" ? statistic.allocated
                                  : statistic.freed) = exact;
    return true;
  }

  std::optional<MemorySummary> open_;
  std::map<std::string, bool> seen_;
  int idle_ = 0;
};

constexpr std::array<std::string_view, 1> kSummaryWords{"memory summary"};
constexpr std::array<std::string_view, 5> kStatsWords{".all.current", ".all.peak", ".all.allocated", ".all.freed",
                                                      "_pool.current"};

}  // namespace

const TextFormat kMemorySummaryFormat{"memory_summary", kSummaryWords,
                                      [] { return std::unique_ptr<TextReader>(new MemorySummaryReader); }};
const TextFormat kMemoryStatsFormat{"memory_stats", kStatsWords,
                                    [] { return std::unique_ptr<TextReader>(new MemoryStatsReader); }};

}  // namespace vramfit::ingest
