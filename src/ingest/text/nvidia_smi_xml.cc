// nvidia-smi -q -x: each value between its tags, on lines of its own or all on one.
#include <algorithm>
#include <array>
#include <utility>

#include "ingest/text/cursor.h"
#include "ingest/text/gpu_status.h"

namespace vramfit::ingest {
namespace {

constexpr std::size_t kDeepest = 16;   // real ones are 5 deep
constexpr int kMostXmlIdleLines = 20;  // lines without a tag

class NvidiaSmiXmlReader final : public TextReader {
 public:
  void read(const LogLine& line, EvidenceSink& sink) override {
    if (!open_ && !line.whole.contains("<nvidia_smi_log")) return;
    if (!line.whole.contains('<') && open_ && ++idle_ > kMostXmlIdleLines) return finish(sink);
    for (std::string_view rest = line.whole; !rest.empty();) {
      const std::size_t open = rest.find('<');
      if (open == std::string_view::npos) break;
      if (open > 0 && !path_.empty()) take_value(line, sink, trim(rest.substr(0, open)));
      const std::size_t close = rest.find('>', open);
      if (close == std::string_view::npos) break;
      take_tag(line, sink, rest.substr(open + 1, close - open - 1));
      rest.remove_prefix(close + 1);
    }
  }

  bool wants_more() const override { return open_.has_value(); }

  void finish(EvidenceSink& sink) override {
    if (open_) {
      open_->truncated = !path_.empty();
      add_status(sink, std::move(*open_));
    }
    open_.reset();
    path_.clear();
    idle_ = 0;
  }

 private:
  void take_tag(const LogLine& line, EvidenceSink& sink, std::string_view tag) {
    if (tag.empty() || tag[0] == '?' || tag[0] == '!') return;
    idle_ = 0;
    if (tag[0] == '/') {
      // A closing tag ends everything that was opened within it, too.
      const auto found = std::find(path_.rbegin(), path_.rend(), tag.substr(1));
      if (found != path_.rend()) path_.erase(found.base() - 1, path_.end());
      if (path_.empty() && open_ && tag == "/nvidia_smi_log") finish(sink);
      return;
    }
    const bool closed = tag.ends_with('/');
    const std::string name(tag.substr(0, tag.find_first_of(" /")));
    if (name == "nvidia_smi_log") begin(line, sink);
    if (!open_ || path_.size() >= kDeepest) return;
    if (name == "gpu" && open_->cards.size() < sink.limits().most_entries) start_card(line, sink, tag);
    if (name == "processes") open_->processes_listed = true;
    if (name == "process_info" && open_->processes.size() < sink.limits().most_entries) {
      open_->processes.push_back(
          {.at = sink.at(line), .gpu = open_->cards.empty() ? std::nullopt : open_->cards.back().index});
    }
    if (name == "mig_device" && !open_->cards.empty() && open_->slices.size() < sink.limits().most_entries) {
      open_->slices.push_back({.gpu = open_->cards.back().index});
    }
    if (!closed) path_.push_back(name);
  }

  void begin(const LogLine& line, EvidenceSink& sink) {
    finish(sink);
    open_ = model::GpuStatus{};
    open_->at = sink.at(line);
    open_->form = model::GpuStatusForm::kXml;
    open_->program = "nvidia-smi -q -x";
  }

  void start_card(const LogLine& line, EvidenceSink& sink, std::string_view tag) {
    Cursor cursor(tag);
    const std::string id(cursor.pass("id=\"") ? cursor.take_until("\"") : std::string_view());
    open_->cards.push_back({.at = sink.at(line), .index = static_cast<int>(open_->cards.size()), .bus_id = id});
  }

  bool within(std::string_view tag) const { return std::find(path_.begin(), path_.end(), tag) != path_.end(); }

  void take_value(const LogLine&, EvidenceSink&, std::string_view value) {
    if (!open_ || value.empty()) return;
    const std::string& name = path_.back();
    if (name == "driver_version")
      open_->driver = std::string(value);
    else if (name == "cuda_version")
      open_->cuda = std::string(value);
    else if (name == "timestamp")
      open_->time = std::string(value);
    else if (within("process_info") && !open_->processes.empty())
      set_process_field(open_->processes.back(), name, value);
    else if (within("mig_device") && !open_->slices.empty())
      set_slice_field(open_->slices.back(), name, value);
    else if (!open_->cards.empty())
      set_gpu_field(open_->cards.back(),
                    path_.size() > 1 ? std::string_view(path_[path_.size() - 2]) : std::string_view(), name, value);
  }

  void set_slice_field(model::MigSlice& slice, std::string_view name, std::string_view value) {
    if (name == "gpu_instance_id") slice.gpu_instance = gpu_index(to_integer(value));
    if (name == "compute_instance_id") slice.compute_instance = gpu_index(to_integer(value));
    if (name == "index") slice.device = gpu_index(to_integer(value));
    if (within("fb_memory_usage") && name == "total") slice.total = gpu_size(value);
    if (within("fb_memory_usage") && name == "used") slice.used = gpu_size(value);
  }

  std::optional<model::GpuStatus> open_;
  std::vector<std::string> path_;
  int idle_ = 0;
};

constexpr std::array<std::string_view, 1> kNvidiaSmiXmlWords{"<nvidia_smi_log"};

}  // namespace

const TextFormat kNvidiaSmiXmlFormat{"nvidia_smi_xml", kNvidiaSmiXmlWords,
                                     [] { return std::unique_ptr<TextReader>(new NvidiaSmiXmlReader); }};

}  // namespace vramfit::ingest
