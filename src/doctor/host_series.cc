#include "doctor/host_series.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/letters.h"
#include "base/parse_number.h"
#include "doctor/memory_series.h"

namespace vramfit::doctor {

namespace {

bool is_letter(char letter) { return letter >= 'a' && letter <= 'z'; }
bool is_of_name(char letter) { return is_letter(letter) || letter == '_' || letter == '-'; }

bool names_host_memory(std::string_view name) {
  static constexpr auto kNames = std::to_array<std::string_view>(
      {"rss",      "vmrss",      "uss",      "pss",         "vms",     "ram",           "cpumem",
       "cpu_mem",  "cpu_memory", "host_mem", "host_memory", "sys_mem", "system_memory", "ram_used",
       "used_ram", "rss_mb",     "rss_gb",   "mem_rss",     "swap",    "swap_used"});
  return std::ranges::find(kNames, name) != kNames.end();
}

// The figure behind a label: " 12.1", ": 8123", "=4", " usage: 12".
std::optional<double> figure_behind(std::string_view rest) {
  for (int words = 0; words < 3; ++words) {
    const std::size_t begin = rest.find_first_not_of(" :=(\"'~");
    if (begin == std::string_view::npos) return std::nullopt;
    rest.remove_prefix(begin);
    if (base::is_digit(rest.front())) {
      std::size_t end = 0;
      while (end < rest.size() && (base::is_digit(rest[end]) || rest[end] == '.')) ++end;
      return base::parse_number<double>(rest.substr(0, rest[end - 1] == '.' ? end - 1 : end));
    }
    const std::size_t end = static_cast<std::size_t>(std::ranges::find_if_not(rest, is_of_name) - rest.begin());
    const std::string_view word = rest.substr(0, end);
    if (word != "usage" && word != "used" && word != "memory" && word != "mem") return std::nullopt;
    rest.remove_prefix(end);
  }
  return std::nullopt;
}

}  // namespace

std::optional<HostRise> find_host_rise(const model::TextFile& file) {
  constexpr std::size_t kFewest = 8;
  constexpr double kRisesBy = 1.5;
  std::map<std::string, MemorySeries, std::less<>> all;
  for (std::string_view left = file.sample; !left.empty();) {
    const std::size_t line_end = std::min(left.find_first_of("\r\n"), left.size());
    const std::string_view line = left.substr(0, line_end);
    const std::string low = base::lowered(line);
    left.remove_prefix(std::min(line_end + 1, left.size()));
    std::string_view before;
    for (std::size_t at = 0; at < low.size();) {
      if (!is_letter(low[at])) {
        ++at;
        continue;
      }
      std::size_t end = at;
      while (end < low.size() && is_of_name(low[end])) ++end;
      const std::string_view name = std::string_view(low).substr(at, end - at);
      const bool is_of_card = before == "gpu" || before == "cuda" || before == "video";
      if (names_host_memory(name) && !is_of_card) {
        if (const auto figure = figure_behind(std::string_view(low).substr(end))) {
          MemorySeries& series = all[std::string(name)];
          const auto position = static_cast<double>(series.points.size());
          series.points.push_back({{file.name, 0, std::string(line)}, position, *figure});
        }
      }
      before = name;
      at = end;
    }
  }
  for (const auto& [label, series] : all) {
    if (series.points.size() < kFewest || !find_rising_input(series).empty()) continue;
    const TrendOf trend = find_trend(series);
    if (trend.trend != Trend::kGrows || trend.last < kRisesBy * trend.first) continue;
    return HostRise{series.points.back().at, label, trend.first, trend.last, series.points.size()};
  }
  return std::nullopt;
}

}  // namespace vramfit::doctor
