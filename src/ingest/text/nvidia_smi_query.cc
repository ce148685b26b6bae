// nvidia-smi -q, whole or with -d: "Name : value" lines, indented below the names of their sections.
#include <algorithm>
#include <array>
#include <utility>

#include "ingest/text/cursor.h"
#include "ingest/text/gpu_status.h"

namespace vramfit::ingest {
namespace {

constexpr int kMostQueryIdleLines = 6;  // lines in a row that are no field before it is over

// "FB Memory Usage" -> "fb_memory_usage", as the XML names it.
std::string field_name(std::string_view text) {
  std::string name;
  for (const char letter : trim(text)) name += is_blank(letter) || letter == '-' ? '_' : lower(letter);
  return name;
}

// "GPU 00000000:04:00.0", "GPU 0000:04:00.0"
bool is_gpu_line(std::string_view text) {
  Cursor cursor(text);
  if (!cursor.take("GPU ")) return false;
  const std::string_view id = trim(cursor.rest());
  return id.size() >= 7 && id.size() <= 24 && id.contains(':') && id.contains('.') && !id.contains(' ');
}

class NvidiaSmiQueryReader final : public TextReader {
 public:
  void read(const LogLine& line, EvidenceSink& sink) override {
    const std::string_view text = line.text;
    if (text.contains("NVSMI LOG")) return begin(line, sink);
    if (!open_) {
      // A cut paste: the first card's own line, or the section of its memory.
      if (is_gpu_line(trim(text)) || trim(text) == "FB Memory Usage") begin(line, sink), take_line(line, sink);
      return;
    }
    if (line.stream != stream_) return;
    take_line(line, sink);
  }

  bool wants_more() const override { return open_.has_value(); }

  void finish(EvidenceSink& sink) override {
    if (open_) add_status(sink, std::move(*open_));
    open_.reset();
    section_.clear();
    idle_ = 0;
    in_slice_ = in_process_ = false;
  }

 private:
  void begin(const LogLine& line, EvidenceSink& sink) {
    finish(sink);
    open_ = model::GpuStatus{};
    open_->at = sink.at(line);
    open_->form = model::GpuStatusForm::kQuery;
    open_->program = "nvidia-smi -q";
    stream_ = line.stream;
  }

  model::GpuCard& card(const LogLine& line, EvidenceSink& sink) {
    if (open_->cards.empty()) start_card(line, sink, {});
    return open_->cards.back();
  }

  void start_card(const LogLine& line, EvidenceSink& sink, std::string_view bus_id) {
    if (open_->cards.size() >= sink.limits().most_entries) return;
    open_->cards.push_back(
        {.at = sink.at(line), .index = static_cast<int>(open_->cards.size()), .bus_id = std::string(bus_id)});
    in_slice_ = in_process_ = false;
  }

  void take_line(const LogLine& line, EvidenceSink& sink) {
    const std::string_view text = trim(line.text);
    if (text.empty()) return;
    if (is_gpu_line(text)) {
      start_card(line, sink, trim(text.substr(4)));
      idle_ = 0;
      return;
    }
    const std::size_t colon = text.find(" : ");
    if (colon != std::string_view::npos || text.ends_with(" :")) {
      const std::string name = field_name(text.substr(0, colon == std::string_view::npos ? text.size() - 2 : colon));
      const std::string_view value =
          colon == std::string_view::npos ? std::string_view() : trim(text.substr(colon + 3));
      idle_ = 0;
      return take_field(line, sink, name, value);
    }
    if (++idle_ >= kMostQueryIdleLines || text.front() == '<' || text.front() == '|') return finish(sink);
    if (!is_blank(line.text.front())) return;
    section_ = field_name(text);
    if (section_ == "mig_device" || section_ == "mig_devices") in_slice_ = true;
    if (section_ == "processes") open_->processes_listed = true;
  }

  void take_field(const LogLine& line, EvidenceSink& sink, const std::string& name, std::string_view value) {
    if (name == "driver_version")
      open_->driver = std::string(value);
    else if (name == "cuda_version")
      open_->cuda = std::string(value);
    else if (name == "timestamp")
      open_->time = std::string(value);
    else if (name == "processes")
      open_->processes_listed = true;
    else if (name == "process_id")
      start_process(line, sink, value);
    else if (in_process_ && (name == "type" || name == "name" || name == "used_gpu_memory"))
      set_process_field(open_->processes.back(), name, value);
    else if (in_slice_ && name == "gpu_instance_id" && section_ != "processes")
      start_slice(value);
    else if (in_slice_ && section_ == "fb_memory_usage")
      slice_memory(name, value);
    else if (!in_slice_ && (!open_->cards.empty() || !section_.empty()))
      set_gpu_field(card(line, sink), section_, name, value);
  }

  void start_process(const LogLine& line, EvidenceSink& sink, std::string_view pid) {
    model::GpuProcess process{.at = sink.at(line), .gpu = card(line, sink).index};
    process.pid = to_integer(pid);
    open_->processes_listed = in_process_ = true;
    if (open_->processes.size() < sink.limits().most_entries) open_->processes.push_back(std::move(process));
  }

  void start_slice(std::string_view id) {
    constexpr std::size_t kMostSlices = 4096;
    if (open_->cards.empty() || open_->slices.size() >= kMostSlices) return;
    open_->slices.push_back({.gpu = open_->cards.back().index, .gpu_instance = gpu_index(to_integer(id))});
  }

  void slice_memory(const std::string& name, std::string_view value) {
    if (open_->slices.empty()) return;
    if (name == "total") open_->slices.back().total = gpu_size(value);
    if (name == "used") open_->slices.back().used = gpu_size(value);
  }

  std::optional<model::GpuStatus> open_;
  std::string stream_, section_;
  int idle_ = 0;
  bool in_slice_ = false, in_process_ = false;
};

constexpr std::array<std::string_view, 2> kNvidiaSmiQueryWords{"nvsmi log", "fb memory usage"};

}  // namespace

const TextFormat kNvidiaSmiQueryFormat{"nvidia_smi_query", kNvidiaSmiQueryWords,
                                       [] { return std::unique_ptr<TextReader>(new NvidiaSmiQueryReader); }};

}  // namespace vramfit::ingest
