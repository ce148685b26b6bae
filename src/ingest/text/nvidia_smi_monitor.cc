// nvidia-smi dmon and pmon: columns named by lines that begin with '#', one row a card or process and sample.
//
//   # gpu     pid  type    sm   mem    fb   command          #Date       Time        gpu    pwr  gtemp   sm  fb
//   # Idx       #   C/G     %     %    MB   name
//       0    1234     C    35    12  8012   python
#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#include "ingest/text/cursor.h"
#include "ingest/text/gpu_status.h"
#include "ingest/text/printed_size.h"

namespace vramfit::ingest {
namespace {

std::vector<std::string> monitor_words(std::string_view text) {
  std::vector<std::string> found;
  Cursor cursor(text);
  while (true) {
    cursor.skip_blanks();
    const std::string_view word = cursor.take_while([](char letter) { return !is_blank(letter); });
    if (word.empty()) return found;
    found.emplace_back(word);
  }
}

class NvidiaSmiMonitorReader final : public TextReader {
 public:
  void read(const LogLine& line, EvidenceSink& sink) override {
    const std::string_view text = trim(line.whole);
    if (text.starts_with('#')) return take_header(line, text.substr(1), sink);
    if (!open_) return;
    const auto values = monitor_words(text);
    // The last column of pmon, the command, may have blanks.
    if (values.size() < columns_.size() || (!of_processes_ && values.size() > columns_.size())) return finish(sink);
    take_row(line, values, sink);
  }

  bool wants_more() const override { return open_.has_value(); }

  void finish(EvidenceSink& sink) override {
    if (open_) {
      open_->samples = std::max<std::int64_t>(1, samples_);
      add_status(sink, std::move(*open_));
    }
    open_.reset();
    readings_.hand_over(sink);
    samples_ = 0;
  }

 private:
  void take_header(const LogLine& line, std::string_view text, EvidenceSink& sink) {
    auto names = monitor_words(text);
    bool gpu = false, pid = false;
    for (std::string& name : names) {
      for (char& letter : name) letter = lower(letter);
      gpu |= name == "gpu";
      pid |= name == "pid";
    }
    if (!gpu) return;  // the line of units
    if (open_ && names == columns_) return;
    finish(sink);
    if (names.size() < 3) return;
    columns_ = std::move(names);
    of_processes_ = pid;
    open_ = model::GpuStatus{};
    open_->at = sink.at(line);
    open_->form = pid ? model::GpuStatusForm::kPmon : model::GpuStatusForm::kDmon;
    open_->program = pid ? "nvidia-smi pmon" : "nvidia-smi dmon";
    open_->processes_listed = pid;
  }

  void take_row(const LogLine& line, const std::vector<std::string>& values, EvidenceSink& sink) {
    model::GpuProcess process{.at = sink.at(line)};
    model::GpuCard card{.at = sink.at(line)};
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string_view name = columns_[i], value = values[i];
      if (name == "gpu") card.index = process.gpu = gpu_index(to_integer(value));
      if (name == "pid") process.pid = to_integer(value);
      if (name == "type") process.type = value == "-" ? std::string() : std::string(value);
      if (name == "command") process.name = std::string(value);
      if (name == "fb") process.memory = card.used = gpu_size(value, kMib);
      if (name == "sm") card.utilization_percent = gpu_number(value);
      if (name == "mem") card.memory_utilization_percent = gpu_number(value);
      if (name == "pwr") card.power_w = gpu_number(value);
      if (name == "gtemp" || name == "temp") card.temperature_c = gpu_number(value);
    }
    if (!card.index) return finish(sink);
    if (of_processes_) return add_process(std::move(process), sink);
    add_card(std::move(card), sink);
  }

  void add_process(model::GpuProcess process, EvidenceSink& sink) {
    if (!process.pid) return;  // "-": nothing runs on this card
    if (process.memory) {
      readings_.add(fmt::format("process {}", *process.pid),
                    {.at = process.at, .source = "nvidia-smi", .memory = process.memory});
    }
    for (model::GpuProcess& known : open_->processes) {
      if (known.pid != process.pid || known.gpu != process.gpu) continue;
      if (&known == &open_->processes.front()) ++samples_;
      if (process.memory) known.memory = process.memory;
      return;
    }
    if (open_->processes.empty()) ++samples_;
    if (open_->processes.size() < sink.limits().most_entries) open_->processes.push_back(std::move(process));
  }

  void add_card(model::GpuCard card, EvidenceSink& sink) {
    const int index = *card.index;
    if (card.used) {
      readings_.add(fmt::format("GPU {}", index), {.at = card.at, .source = "nvidia-smi", .memory = card.used});
      open_->first_used.try_emplace(index, *card.used);
      auto& most = open_->most_used.try_emplace(index, *card.used).first->second;
      if (most.value < card.used->value) most = *card.used;
    }
    for (model::GpuCard& known : open_->cards) {
      if (known.index != index) continue;
      if (&known == &open_->cards.front()) ++samples_;
      known = std::move(card);
      return;
    }
    if (open_->cards.empty()) ++samples_;
    if (open_->cards.size() < sink.limits().most_entries) open_->cards.push_back(std::move(card));
  }

  std::optional<model::GpuStatus> open_;
  std::vector<std::string> columns_;
  bool of_processes_ = false;
  std::int64_t samples_ = 0;
  UsedReadings readings_;
};

constexpr std::array<std::string_view, 4> kNvidiaSmiMonitorWords{"# gpu", "#gpu ", "#date", "# date"};

}  // namespace

const TextFormat kNvidiaSmiMonitorFormat{"nvidia_smi_monitor", kNvidiaSmiMonitorWords,
                                         [] { return std::unique_ptr<TextReader>(new NvidiaSmiMonitorReader); }};

}  // namespace vramfit::ingest
