// nvidia-smi's table. A card takes two lines up to driver 440 and three later; the process rows got two columns (GI,
// CI) with driver 450.
//
//   |   0  Tesla T4                       Off |   00000000:00:04.0 Off |                    0 |
//   | N/A   47C    P0             28W /   70W |     105MiB /  15360MiB |      0%      Default |
//   |                                         |                        |                  N/A |
//   |    0   N/A  N/A      1234      C   python                                    100MiB |
#include <algorithm>
#include <array>
#include <utility>

#include "ingest/text/cursor.h"
#include "ingest/text/gpu_status.h"
#include "ingest/text/line_text.h"

namespace vramfit::ingest {
namespace {

constexpr int kMostTableIdleLines = 3;  // lines outside the table before it is over

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(at);
    parts.push_back(trim(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> table_words(std::string_view text) {
  std::vector<std::string_view> found = split(text, ' ');
  std::erase_if(found, [](std::string_view word) { return word.empty(); });
  return found;
}

// The cells between the first bar and the last; empty for a line that is no row.
std::vector<std::string_view> table_cells(std::string_view text) {
  const std::size_t first = text.find('|');
  const std::size_t last = text.rfind('|');
  if (first == std::string_view::npos) return {};
  // A paste that lost the last bar still has its cells.
  return split(text.substr(first + 1, first == last ? std::string_view::npos : last - first - 1), '|');
}

bool is_bus_id(std::string_view word) {
  return word.size() >= 7 && std::count(word.begin(), word.end(), ':') >= 1 && word.contains('.') &&
         std::ranges::all_of(word, [](char letter) {
           return is_digit(letter) || (lower(letter) >= 'a' && lower(letter) <= 'f') || letter == ':' || letter == '.';
         });
}

std::string value_behind(std::string_view text, std::string_view label) {
  const std::size_t at = text.find(label);
  if (at == std::string_view::npos) return {};
  const auto found = table_words(text.substr(at + label.size()));
  return found.empty() || found[0] == "|" ? std::string() : std::string(found[0]);
}

// The first line of a card: "0  Tesla T4  Off" "00000000:00:04.0 Off" "0".
std::optional<model::GpuCard> card_of(const std::vector<std::string_view>& cells) {
  if (cells.size() < 3) return std::nullopt;
  const auto place = table_words(cells[1]);
  if (place.empty() || !is_bus_id(place[0])) return std::nullopt;
  Cursor cursor(cells[0]);
  const auto index = gpu_index(cursor.take_integer());
  auto name = table_words(cursor.rest());
  if (!index || name.empty()) return std::nullopt;
  model::GpuCard card;
  card.index = index;
  if (name.back() == "WDDM" || name.back() == "TCC" || name.back() == "MCDM")
    card.driver_model = std::string(name.back());
  if (name.size() > 1) name.pop_back();  // persistence mode, or Windows' driver model
  for (const std::string_view word : name) card.name += (card.name.empty() ? "" : " ") + std::string(word);
  card.bus_id = std::string(place[0]);
  if (place.size() > 1) card.display = std::string(place.back());
  if (cells[0].contains("ERR!") || cells[2].contains("ERR!")) card.problem = "ERR!";
  return card;
}

// The second: "N/A 47C P0 28W / 70W" "105MiB / 15360MiB" "0% Default".
bool take_readings(const std::vector<std::string_view>& cells, model::GpuCard& card) {
  if (cells.size() < 3) return false;
  const bool memory = cells[1].contains("iB /") || cells[1].contains("N/A") || cells[1].contains("Not Supported");
  if (!memory || card.used) return false;
  const auto pair = split(cells[1], '/');
  if (pair.size() == 2) {
    card.used = gpu_size(pair[0]);
    card.total = gpu_size(pair[1]);
  }
  for (const std::string_view word : table_words(cells[0])) {
    if (word.ends_with('C') && !card.temperature_c) card.temperature_c = gpu_number(word);
    if (word.ends_with('W') && is_digit(word[0])) (card.power_w ? card.power_limit_w : card.power_w) = gpu_number(word);
    if (word == "ERR!") card.problem = "ERR!";
  }
  const auto last = table_words(cells[2]);
  if (!last.empty() && last[0].ends_with('%')) card.utilization_percent = gpu_number(last[0]);
  for (std::size_t i = 1; i < last.size(); ++i) card.compute_mode += (i > 1 ? " " : "") + std::string(last[i]);
  return true;
}

// "0   N/A  N/A   1234   C   python train.py   100MiB"
std::optional<model::GpuProcess> process_of(std::string_view row) {
  const auto parts = table_words(row);
  if (parts.size() < 4 || !gpu_index(to_integer(parts[0]))) return std::nullopt;
  const auto is_type = [](std::string_view word) {
    return word == "C" || word == "G" || word == "C+G" || word == "M" || word == "M+C" || word == "M+C+G";
  };
  const auto type = std::find_if(
      parts.begin() + 2, parts.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(parts.size(), 5)), is_type);
  if (type == parts.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(parts.size(), 5))) return std::nullopt;
  model::GpuProcess process;
  process.gpu = gpu_index(to_integer(parts[0]));
  process.pid = to_integer(*(type - 1));
  process.type = std::string(*type);
  if (type - parts.begin() >= 4) process.mig_instance = gpu_index(to_integer(parts[1]));
  auto end = parts.end();
  if (end - type > 1) {
    process.memory = gpu_size(parts.back());
    if (process.memory || parts.back() == "N/A") --end;
  }
  for (auto word = type + 1; word != end; ++word)
    process.name += (process.name.empty() ? "" : " ") + std::string(*word);
  return process;
}

// "0    7   0   0  |      6MiB /  9856MiB | 14      0 |"
std::optional<model::MigSlice> slice_of(const std::vector<std::string_view>& cells) {
  if (cells.size() < 3 || !cells[1].contains("iB /")) return std::nullopt;
  const auto ids = table_words(cells[0]);
  if (ids.size() != 4) return std::nullopt;
  const auto pair = split(cells[1], '/');
  if (pair.size() != 2) return std::nullopt;
  const auto id = [&](std::size_t i) { return gpu_index(to_integer(ids[i])); };
  return model::MigSlice{id(0), id(1), id(2), id(3), gpu_size(pair[0]), gpu_size(pair[1])};
}

// "10:00:01 host | ": what stands before a line but for its numbers, which may be a time.
std::string shape_of_prefix(std::string_view prefix) {
  std::string shape(prefix);
  std::ranges::replace_if(shape, is_digit, '0');
  return shape;
}

class NvidiaSmiTableReader final : public TextReader {
 public:
  void read(const LogLine& line, EvidenceSink& sink) override {
    const bool is_head = line.text.contains("NVIDIA-SMI") && line.text.contains("Version");
    if (is_head) shape_ = shape_before_table(line.text);
    const std::string_view text = without_prefix(line.text);
    const auto cells = table_cells(text);
    if (is_head && !cells.empty()) return begin(line, sink);
    if (!open_) return begin_within(line, cells, sink);
    if (line.stream != stream_) return;
    if (cells.empty() && !text.contains("+--")) {
      if (++idle_ >= kMostTableIdleLines || text.contains("File \"")) finish(sink);
      return;
    }
    idle_ = 0;
    take_row(line, cells, sink);
  }

  bool wants_more() const override { return open_.has_value(); }

  void finish(EvidenceSink& sink) override {
    if (!open_) return;
    open_->truncated = std::ranges::any_of(
        open_->cards, [](const model::GpuCard& card) { return !card.total && !card.used && card.problem.empty(); });
    add_status(sink, std::move(*open_));
    open_.reset();
    section_ = Section::kCards;
    idle_ = 0;
  }

 private:
  enum class Section { kCards, kSlices, kProcesses };

  // What something that collects logs put before the head's first bar, where it is none of the prefixes that are known;
  // it stands before every line of the table.
  static std::string shape_before_table(std::string_view head) {
    const std::size_t bar = head.rfind('|', head.find("NVIDIA-SMI"));
    return bar == kNowhere || trim(head.substr(0, bar)).empty() ? std::string() : shape_of_prefix(head.substr(0, bar));
  }
  std::string_view without_prefix(std::string_view text) const {
    const std::string_view prefix = text.substr(0, shape_.size());
    return shape_.empty() || shape_of_prefix(prefix) != shape_ ? text : text.substr(prefix.size());
  }

  void begin(const LogLine& line, EvidenceSink& sink) {
    finish(sink);
    open_ = model::GpuStatus{};
    open_->at = sink.at(line);
    open_->form = model::GpuStatusForm::kTable;
    open_->program = "nvidia-smi";
    stream_ = line.stream;
    open_->driver = value_behind(line.text, "Driver Version:");
    if (open_->driver.empty()) open_->driver = value_behind(line.text, "KMD Version:");
    const std::size_t cuda = line.text.find("CUDA");
    if (cuda != std::string_view::npos) open_->cuda = value_behind(line.text.substr(cuda), "Version:");
    for (Cursor above(line.before); !above.at_end();) {
      const std::string raw = clean_line(above.take_until("\n")).text;
      const auto date = table_words(raw);
      if (date.size() == 5 && date[3].contains(':') && date[4].size() == 4) open_->time = raw;
    }
  }

  // A table of which the head was cut off: the line above is a card's first, or only the processes were kept.
  void begin_within(const LogLine& line, const std::vector<std::string_view>& cells, EvidenceSink& sink) {
    if (!cells.empty() && cells[0].starts_with("Processes:")) {
      begin(line, sink);
      return take_row(line, cells, sink);
    }
    if (line.text.contains("N/A  N/A") && begin_among_processes(line, cells, sink)) return;
    std::string_view above = line.before;
    while (!above.empty() && (above.back() == '\n' || above.back() == '\r')) above.remove_suffix(1);
    const std::size_t start = above.find_last_of('\n');
    const std::string raw = clean_line(above.substr(start == std::string_view::npos ? 0 : start + 1)).text;
    auto card = card_of(table_cells(raw));
    if (!card || !take_readings(cells, *card)) return;
    begin(line, sink);
    card->at = sink.at(line);
    open_->cards.push_back(std::move(*card));
  }

  // Rows of processes alone: "|    0   N/A  N/A      1234      C   python      100MiB |", the first bar lost perhaps.
  bool begin_among_processes(const LogLine& line, const std::vector<std::string_view>& cells, EvidenceSink& sink) {
    const std::string_view row =
        cells.empty() || cells[0].empty() ? trim(line.text.substr(0, line.text.find('|'))) : cells[0];
    auto process = process_of(row);
    if (!process || !process->pid || !process->memory) return false;
    begin(line, sink);
    section_ = Section::kProcesses;
    open_->processes_listed = true;
    process->at = sink.at(line);
    open_->processes.push_back(std::move(*process));
    return true;
  }

  void take_row(const LogLine& line, const std::vector<std::string_view>& cells, EvidenceSink& sink) {
    const std::string_view text = line.text;
    if (text.contains("MIG devices")) section_ = Section::kSlices;
    if (text.contains("Processes:")) section_ = Section::kProcesses, open_->processes_listed = true;
    if (section_ == Section::kProcesses && !cells.empty()) {
      if (auto process = process_of(cells[0])) {
        process->at = sink.at(line);
        if (open_->processes.size() < sink.limits().most_entries) open_->processes.push_back(std::move(*process));
      }
      return;
    }
    if (section_ == Section::kSlices) {
      if (auto slice = slice_of(cells); slice && open_->slices.size() < sink.limits().most_entries)
        open_->slices.push_back(*slice);
      return;
    }
    if (auto card = card_of(cells)) {
      card->at = sink.at(line);
      if (open_->cards.size() < sink.limits().most_entries) open_->cards.push_back(std::move(*card));
    } else if (!open_->cards.empty() && !take_readings(cells, open_->cards.back()) && cells.size() >= 3) {
      model::GpuCard& last = open_->cards.back();
      if (last.mig_mode.empty() && cells[0].empty() && !cells[2].empty() && cells[2] != "N/A" && last.total)
        last.mig_mode = std::string(cells[2]);
    }
  }

  std::optional<model::GpuStatus> open_;
  std::string stream_, shape_;
  Section section_ = Section::kCards;
  int idle_ = 0;
};

constexpr std::array<std::string_view, 4> kNvidiaSmiTableWords{"nvidia-smi", "mib / ", "| processes:", "n/a  n/a"};

}  // namespace

const TextFormat kNvidiaSmiTableFormat{"nvidia_smi_table", kNvidiaSmiTableWords,
                                       [] { return std::unique_ptr<TextReader>(new NvidiaSmiTableReader); }};

}  // namespace vramfit::ingest
