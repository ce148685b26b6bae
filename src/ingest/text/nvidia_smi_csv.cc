// nvidia-smi --query-gpu and --query-compute-apps as CSV with its header, with or without units.
#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#include "ingest/text/cursor.h"
#include "ingest/text/gpu_status.h"
#include "ingest/text/printed_size.h"

namespace vramfit::ingest {
namespace {

std::vector<std::string_view> fields(std::string_view text) {
  std::vector<std::string_view> found;
  for (Cursor cursor(text); !cursor.at_end();) found.push_back(trim(cursor.take_until(",")));
  return found;
}

// "memory.used [MiB]" -> "memory.used"
std::string_view column_name(std::string_view column) { return trim(column.substr(0, column.find('['))); }

bool is_header(std::string_view text) {
  int columns = 0;
  for (const std::string_view column : fields(text)) {
    const std::string_view name = column_name(column);
    if (name.empty() || name.contains(' ')) return false;
    columns += name.starts_with("memory.") || name.contains("used_gpu_memory") || name == "used_memory";
  }
  return columns > 0;
}

class NvidiaSmiCsvReader final : public TextReader {
 public:
  void read(const LogLine& line, EvidenceSink& sink) override {
    if (is_header(line.text)) return begin(line, sink);
    if (!open_) return;
    auto values = fields(line.text);
    if (columns_.front() == "timestamp") values = fields(line.whole);  // which is no prefix here
    if (values.size() != columns_.size()) return finish(sink);
    take_row(line, values, sink);
  }

  bool wants_more() const override { return open_.has_value(); }

  void finish(EvidenceSink& sink) override {
    if (open_) add_status(sink, std::move(*open_));
    open_.reset();
    readings_.hand_over(sink);
  }

 private:
  void begin(const LogLine& line, EvidenceSink& sink) {
    finish(sink);
    columns_.clear();
    bool processes = false;
    for (const std::string_view column : fields(line.text)) {
      columns_.emplace_back(column_name(column));
      processes |= columns_.back() == "pid";
    }
    open_ = model::GpuStatus{};
    open_->at = sink.at(line);
    open_->form = model::GpuStatusForm::kCsv;
    open_->program = "nvidia-smi";
    open_->processes_listed = processes;
    of_processes_ = processes;
    row_ = 0;
    time_.clear();
  }

  void take_row(const LogLine& line, const std::vector<std::string_view>& values, EvidenceSink& sink) {
    if (of_processes_) {
      model::GpuProcess process{.at = sink.at(line)};
      for (std::size_t i = 0; i < values.size(); ++i) set_process(process, columns_[i], values[i]);
      if (process.pid && open_->processes.size() < sink.limits().most_entries)
        open_->processes.push_back(std::move(process));
      return;
    }
    model::GpuCard card{.at = sink.at(line)};
    for (std::size_t i = 0; i < values.size(); ++i) {
      set_card(card, columns_[i], values[i]);
      // Rows of one moment are of the machine's cards, in their order.
      if (columns_[i] == "timestamp" && time_ != values[i]) time_ = values[i], row_ = 0;
    }
    if (!card.index) card.index = row_++;
    merge(std::move(card), sink);
  }

  // -l repeats the rows: the latest counts, the greatest is remembered.
  void merge(model::GpuCard card, EvidenceSink& sink) {
    for (model::GpuCard& known : open_->cards) {
      const bool same = !card.uuid.empty()     ? known.uuid == card.uuid
                        : !card.bus_id.empty() ? known.bus_id == card.bus_id
                                               : known.index == card.index;
      if (!same) continue;
      if (known.index) card.index = known.index;
      remember(card);
      if (card.index == open_->cards.front().index) ++open_->samples;
      known = std::move(card);
      return;
    }
    remember(card);
    if (open_->cards.size() < sink.limits().most_entries) open_->cards.push_back(std::move(card));
  }

  void remember(const model::GpuCard& card) {
    if (!card.index || !card.used) return;
    const int index = *card.index;
    const model::PrintedBytes& used = *card.used;
    readings_.add(fmt::format("GPU {}", index), {.at = card.at, .source = "nvidia-smi", .memory = used});
    open_->first_used.try_emplace(index, used);
    auto& most = open_->most_used.try_emplace(index, used).first->second;
    if (most.value < used.value) most = used;
  }

  static void set_card(model::GpuCard& card, std::string_view name, std::string_view value) {
    if (name == "index") card.index = gpu_index(to_integer(value));
    if (name == "name" || name == "gpu_name") card.name = std::string(value);
    if (name == "uuid" || name == "gpu_uuid") card.uuid = std::string(value);
    if (name == "pci.bus_id" || name == "gpu_bus_id") card.bus_id = std::string(value);
    if (name == "memory.total") card.total = gpu_size(value, kMib);
    if (name == "memory.used") card.used = gpu_size(value, kMib);
    if (name == "memory.free") card.free = gpu_size(value, kMib);
    if (name == "memory.reserved") card.reserved = gpu_size(value, kMib);
    if (name == "utilization.gpu") card.utilization_percent = gpu_number(value);
    if (name == "utilization.memory") card.memory_utilization_percent = gpu_number(value);
    if (name == "temperature.gpu") card.temperature_c = gpu_number(value);
    if (name.starts_with("power.draw")) card.power_w = gpu_number(value);
    if (name == "power.limit" || name == "enforced.power.limit") card.power_limit_w = gpu_number(value);
    if (name == "mig.mode.current") card.mig_mode = std::string(value);
    if (name == "driver_model.current") card.driver_model = std::string(value);
  }

  static void set_process(model::GpuProcess& process, std::string_view name, std::string_view value) {
    if (name == "pid") process.pid = to_integer(value);
    if (name == "process_name" || name == "name") process.name = std::string(value);
    if (name == "used_gpu_memory" || name == "used_memory") process.memory = gpu_size(value, kMib);
    if (name == "gpu_uuid") process.gpu_uuid = std::string(value);
    if (name == "gpu_instance_id") process.mig_instance = gpu_index(to_integer(value));
  }

  std::optional<model::GpuStatus> open_;
  std::vector<std::string> columns_;
  bool of_processes_ = false;
  int row_ = 0;
  std::string time_;  // of the last row
  UsedReadings readings_;
};

constexpr std::array<std::string_view, 5> kNvidiaSmiCsvWords{"memory.used", "memory.total", "memory.free",
                                                             "used_gpu_memory", "used_memory ["};

}  // namespace

const TextFormat kNvidiaSmiCsvFormat{"nvidia_smi_csv", kNvidiaSmiCsvWords,
                                     [] { return std::unique_ptr<TextReader>(new NvidiaSmiCsvReader); }};

}  // namespace vramfit::ingest
