#include "ingest/text/training_log.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "ingest/text/cursor.h"
#include "ingest/text/line_text.h"
#include "ingest/text/log_prefix.h"
#include "ingest/text/memory_table.h"
#include "ingest/text/thinning.h"
#include "ingest/text/training_line.h"

namespace vramfit::ingest {
namespace {

using model::TrainingLogPoint;

class TrainingLogReader final : public TextReader {
 public:
  void read(const LogLine& line, EvidenceSink& sink) override {
    if (is_head_of_bars(line.text)) {
      keep_bar(sink);
      bar_lines_ = kBarLines;  // the rows of this table have no word of their own
      return;
    }
    ++read_;
    auto point = find_memory(line.text);
    if (!point) point = read_table(line.text);
    if (bar_lines_ > 0 && !(point && point->source == "ultralytics") && --bar_lines_ == 0) keep_bar(sink);
    if (!point) return;
    look_until_ = read_ + kLookedAt;
    if (point->source != "ultralytics" && point->source != "deepspeed" && thinning_.leaves_out_next()) {
      thinning_.count();  // a long log's: it is not kept, and need not be read further
      return;
    }
    find_whereabouts(line.text, *point);
    point->at = sink.at(line);
    point->speaker = line.speaker;
    if (point->source == "ultralytics") {  // a progress bar: its last state counts
      if (bar_ && bar_->epoch != point->epoch) keep_bar(sink);
      bar_ = std::move(*point);
      return;
    }
    auto& all = sink.evidence().training;
    if (point->source == "deepspeed") {
      // The host's memory is on a line of its own behind the card's.
      if (point->host && !point->allocated && !all.empty() && all.back().source == "deepspeed" && !all.back().host &&
          all.back().at.file == point->at.file) {
        all.back().host = point->host;
        all.back().host_percent = point->host_percent;
        return;
      }
      if (point->label.empty()) point->label = label_above(line);
    }
    keep(std::move(*point), sink);
  }

  // Programs that nobody here knows have words of their own. What the first lines show of memory, the next may too.
  bool wants_more() const override { return bar_lines_ > 0 || read_ < look_until_; }
  void finish(EvidenceSink& sink) override { keep_bar(sink); }

 private:
  // "      Epoch    GPU_mem   box_loss   cls_loss", and "gpu_mem" until 2022
  static bool is_head_of_bars(std::string_view text) {
    return text.contains("Epoch") && contains_ignoring_case(text, "gpu_mem") && std::ranges::none_of(text, is_digit);
  }

  static constexpr int kBarLines = 4;              // lines that are no row before the table is over
  static constexpr std::int64_t kLookedAt = 2000;  // lines from the first on, and from each that tells of memory on

  // A row of a table whose head was seen, or nothing: then the line may be a head itself.
  std::optional<TrainingLogPoint> read_table(std::string_view text) {
    const auto row = table_ ? table_->read(text) : std::nullopt;
    if (!row) {
      if (auto opened = MemoryTable::open(text)) {
        table_ = std::move(opened);
        misses_ = 0;
      } else if (table_ && ++misses_ > kBarLines) {
        table_.reset();
      }
      return std::nullopt;
    }
    misses_ = 0;
    TrainingLogPoint point;
    point.source = "table";
    point.step = row->step;
    take_reading(row->memory, point);
    return point;
  }

  void keep_bar(EvidenceSink& sink) {
    if (bar_) keep(std::move(*bar_), sink);
    bar_.reset();
  }

  // "[2022-02-21 23:35:29,950] [INFO] [utils.py:822:see_memory_usage] before optimizer 1"
  static std::string label_above(const LogLine& line) {
    std::string_view above = line.before;
    const std::string raw = take_line_above(above);
    if (!raw.contains("see_memory_usage")) return {};
    const std::size_t bracket = raw.rfind("see_memory_usage]");
    return cut_text(
        trim(std::string_view(raw).substr(bracket == kNowhere ? parse_log_prefix(raw).length : bracket + 17)), 120);
  }

  void keep(TrainingLogPoint point, EvidenceSink& sink) {
    auto& all = sink.evidence().training;
    const bool is_left_out = thinning_.leaves_out_next();
    thinning_.count();
    if (is_left_out) return;
    if (const std::size_t gone = thinning_.make_room(all, sink.limits().most_entries); gone > 0)
      sink.evidence().unread["training points thinned out"] += static_cast<std::int64_t>(gone);
    all.push_back(std::move(point));
  }

  Thinning thinning_;
  std::optional<TrainingLogPoint> bar_;
  int bar_lines_ = 0;
  std::optional<MemoryTable> table_;
  int misses_ = 0;
  std::int64_t read_ = 0, look_until_ = kLookedAt;  // lines, and states of a bar
};

constexpr std::array<std::string_view, 27> kTrainingLogWords{"max_ma",
                                                             "gb_free",
                                                             "cuda_mem",
                                                             "cuda mem",
                                                             "\tmem ",
                                                             " mem ",
                                                             " mem:",
                                                             " mem=",
                                                             "mem_usage",
                                                             " vram",
                                                             "cpu virtual memory",
                                                             "memallocated",
                                                             "memory (mb)",
                                                             "memory: ",
                                                             "memory:",
                                                             "max_mem",
                                                             "max mem",
                                                             "_mem_gpu_",
                                                             "gpu_mem",
                                                             "gpu mem",
                                                             "memory/",
                                                             "memory usage while",
                                                             "allocated",
                                                             "reserved",
                                                             "peak mem",
                                                             "peak_mem",
                                                             "max reserved"};

}  // namespace

std::optional<TrainingLogPoint> parse_training_log(std::string_view text) {
  auto point = find_memory(text);
  if (point) find_whereabouts(text, *point);
  return point;
}

const TextFormat kTrainingLogFormat{"training_log", kTrainingLogWords,
                                    [] { return std::unique_ptr<TextReader>(new TrainingLogReader); }};

}  // namespace vramfit::ingest
