#include "views/flames.h"

#include <string_view>
#include <utility>

#include "views/trace/stacks.h"

namespace vramfit::views {

using report::page::FlameFacts;
using report_trace::NameTreeBuilder;

namespace {

constexpr std::size_t kMostNodes = 20000;
constexpr std::size_t kMostTextBytes = 1000000;

class Flame {
 public:
  void add(const std::vector<std::string_view>& path, base::Bytes bytes, std::int64_t blocks) {
    if (bytes.count() <= 0) return;
    std::uint32_t node = 0;
    for (const std::string_view part : path) {
      if (!part.empty()) node = tree_.child(node, part);
    }
    if (bytes_.size() <= node) {
      bytes_.resize(node + 1, 0);
      blocks_.resize(node + 1, 0);
    }
    bytes_[node] += static_cast<double>(bytes.count());
    blocks_[node] += static_cast<std::uint32_t>(blocks);
  }

  FlameFacts take(int device, std::string by) {
    FlameFacts facts{.device = device, .by = std::move(by), .tree = tree_.take()};
    facts.bytes = std::move(bytes_);
    facts.blocks = std::move(blocks_);
    facts.bytes.resize(facts.tree.parent.size(), 0);
    facts.blocks.resize(facts.tree.parent.size(), 0);
    return facts;
  }

 private:
  NameTreeBuilder tree_{kMostNodes, kMostTextBytes};
  std::vector<double> bytes_;
  std::vector<std::uint32_t> blocks_;
};

// "backbone.stage1.conv" -> its parts, behind `first`.
std::vector<std::string_view> split_module(std::string_view first, std::string_view name) {
  std::vector<std::string_view> path{first};
  while (!name.empty()) {
    const std::size_t dot = name.find('.');
    path.push_back(name.substr(0, dot));
    name = dot == std::string_view::npos ? std::string_view() : name.substr(dot + 1);
  }
  return path;
}

// "train.py:12 in main" -> "train.py", and the whole.
std::vector<std::string_view> split_line(std::string_view line) {
  const std::size_t colon = line.find(':');
  return colon == std::string_view::npos ? std::vector{line} : std::vector{line.substr(0, colon), line};
}

}  // namespace

std::vector<FlameFacts> build_flames(const model::RunResult& result) {
  std::vector<FlameFacts> flames;
  for (const model::DeviceResult& device : result.devices) {
    Flame modules, lines;
    for (const model::OwnerRow& row : result.owners_at_peak) {
      if (row.device == device.index) modules.add(split_module(row.owner, row.name), row.bytes, row.blocks);
    }
    for (const model::LineRow& row : result.lines_at_peak) {
      if (row.device == device.index) lines.add(split_line(row.line), row.bytes, row.blocks);
    }
    for (auto& [flame, by] : {std::pair(&modules, "module"), std::pair(&lines, "line")}) {
      FlameFacts facts = flame->take(device.index, by);
      if (facts.tree.parent.size() > 1) flames.push_back(std::move(facts));
    }
  }
  return flames;
}

}  // namespace vramfit::views
