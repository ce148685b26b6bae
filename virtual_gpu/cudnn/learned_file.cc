#include "virtual_gpu/cudnn/learned_file.h"

#include <charconv>
#include <optional>
#include <system_error>

namespace vramfit::cudnn {
namespace {

std::optional<int64_t> take_learned_size(std::string_view& line) {
  int64_t size = 0;
  const auto [end, problem] = std::from_chars(line.data(), line.data() + line.size(), size);
  if (problem != std::errc() || size < 0 || end == line.data() + line.size() || *end != '\t') return std::nullopt;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()) + 1);
  return size;
}

}  // namespace

std::unordered_map<std::string, LearnedWorkspace> parse_learned(std::string_view text) {
  std::unordered_map<std::string, LearnedWorkspace> all;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const auto taken = take_learned_size(line);
    const auto largest = taken ? take_learned_size(line) : std::nullopt;
    if (largest) all.insert_or_assign(std::string(line), LearnedWorkspace{*taken, *largest});
  }
  return all;
}

}  // namespace vramfit::cudnn
