// Other tools' readings: gpustat's lines and rocm-smi --showmeminfo.
//
//   [0] NVIDIA GeForce RTX 3090 | 45'C,  12 % |  1234 / 24576 MB | me:python/77(1000M)
//   GPU[0]		: VRAM Total Memory (B): 17163091968
#include <array>
#include <utility>

#include "ingest/text/cursor.h"
#include "ingest/text/gpu_status.h"
#include "ingest/text/printed_size.h"

namespace vramfit::ingest {
namespace {

std::optional<model::GpuCard> gpustat_card(std::string_view text) {
  Cursor cursor(trim(text));
  if (!cursor.take("[")) return std::nullopt;
  model::GpuCard card;
  card.index = gpu_index(cursor.take_integer());
  if (!card.index || !cursor.take("]")) return std::nullopt;
  card.name = std::string(trim(cursor.take_until("|")));
  const std::string_view readings = cursor.take_until("|");
  const std::string_view memory = cursor.take_until("|");
  const std::size_t slash = memory.find(" / ");
  if (slash == std::string_view::npos || !readings.contains("C")) return std::nullopt;
  card.temperature_c = gpu_number(readings);
  if (const std::size_t comma = readings.find("C,"); comma != std::string_view::npos) {
    card.utilization_percent = gpu_number(readings.substr(comma + 2));
  }
  card.used = gpu_size(memory.substr(0, slash), kMib);
  card.total = gpu_size(memory.substr(slash + 3), kMib);
  return card.total ? std::optional(card) : std::nullopt;
}

// " me:python/77(1000M) you(20M)": who holds the card, behind the last bar.
void read_gpustat_processes(const LogLine& line, const model::GpuCard& card, model::GpuStatus& status) {
  std::string_view rest = trim(line.whole);
  for (int bars = 0; bars < 3; ++bars) {
    const std::size_t bar = rest.find('|');
    if (bar == std::string_view::npos) return;
    rest.remove_prefix(bar + 1);
  }
  status.processes_listed = true;
  for (std::size_t open = rest.find('('); open != std::string_view::npos; open = rest.find('(')) {
    const std::string_view who = trim(rest.substr(0, open));
    model::GpuProcess process{.at = card.at, .gpu = card.index};
    const std::size_t colon = who.find(':'), slash = who.rfind('/');
    process.name = std::string(colon == std::string_view::npos ? who : who.substr(colon + 1, slash - colon - 1));
    if (slash != std::string_view::npos) process.pid = to_integer(who.substr(slash + 1));
    process.memory = gpu_size(rest.substr(open + 1), kMib);
    if (process.memory) status.processes.push_back(std::move(process));
    const std::size_t close = rest.find(')', open);
    if (close == std::string_view::npos) return;
    rest.remove_prefix(close + 1);
  }
}

class GpuToolsReader final : public TextReader {
 public:
  void read(const LogLine& line, EvidenceSink& sink) override {
    if (auto card = gpustat_card(line.whole)) {
      open(line, sink, "gpustat");
      card->at = sink.at(line);
      if (open_->cards.size() >= sink.limits().most_entries) return;
      read_gpustat_processes(line, *card, *open_);
      open_->cards.push_back(std::move(*card));
    } else if (line.whole.contains("GPU[") && line.whole.contains("VRAM Total")) {
      open(line, sink, "rocm-smi");
      take_rocm(line, sink);
    } else if (open_) {
      finish(sink);
    }
  }

  bool wants_more() const override { return open_.has_value(); }

  void finish(EvidenceSink& sink) override {
    if (open_) add_status(sink, std::move(*open_));
    open_.reset();
  }

 private:
  void open(const LogLine& line, EvidenceSink& sink, std::string_view program) {
    if (open_) return;
    open_ = model::GpuStatus{};
    open_->at = sink.at(line);
    open_->program = std::string(program);
  }

  void take_rocm(const LogLine& line, EvidenceSink& sink) {
    const auto index = gpu_index(integer_after(line.whole, "GPU["));
    if (!index) return;
    if (open_->cards.empty() || open_->cards.back().index != index) {
      if (open_->cards.size() >= sink.limits().most_entries) return;
      open_->cards.push_back({.at = sink.at(line), .index = index});
    }
    model::GpuCard& card = open_->cards.back();
    const auto size = [&](std::string_view label) { return size_after(line.whole, label, Rounding::kNearest, 1); };
    if (line.whole.contains("Used Memory (B)"))
      card.used = size("Used Memory (B)");
    else if (line.whole.contains("Total Memory (B)"))
      card.total = size("Total Memory (B)");
  }

  std::optional<model::GpuStatus> open_;
};

constexpr std::array<std::string_view, 2> kGpuToolsWords{"vram total", " mb |"};

}  // namespace

const TextFormat kGpuToolsFormat{"gpu_tools", kGpuToolsWords,
                                 [] { return std::unique_ptr<TextReader>(new GpuToolsReader); }};

}  // namespace vramfit::ingest
