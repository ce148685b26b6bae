#include "model/snapshot_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace vramfit::model {

namespace {

// Sources of what was compiled: frames of C++, and of Python itself. Without debugging information the file is "??".
constexpr std::array<std::string_view, 8> kCompiled = {".c", ".cc", ".cpp", ".cxx", ".cu", ".cuh", ".h", ".hpp"};

// ".../bin/tune": what pip writes to start a program that a package brings.
bool starts_a_program(std::string_view file) {
  const std::size_t slash = file.rfind('/');
  return slash != std::string_view::npos && file.substr(0, slash).ends_with("/bin") &&
         file.find('.', slash) == std::string_view::npos;
}

}  // namespace

bool is_library(std::string_view file) {
  return file.find("site-packages/") != std::string_view::npos || file.find("/torch/") != std::string_view::npos ||
         file.find("/python/vramfit/") != std::string_view::npos || file.starts_with("<") ||
         file.find("/lib/python") != std::string_view::npos || file.empty() || file == "??" || starts_a_program(file) ||
         std::ranges::any_of(kCompiled, [&](std::string_view ending) { return file.ends_with(ending); });
}

bool is_package_beside_torch(std::string_view file) {
  return file.find("site-packages/") != std::string_view::npos &&
         file.find("site-packages/torch/") == std::string_view::npos;
}

std::string line_of(const model::Snapshot& snapshot, model::StackId stack) {
  const auto frames = snapshot.stack(stack);
  if (frames.empty()) return "(no stack was recorded)";
  auto chosen = std::find_if(frames.begin(), frames.end(),
                             [&](model::FrameId id) { return !is_library(snapshot.text(snapshot.frame(id).file)); });
  if (chosen == frames.end()) chosen = frames.begin();
  const model::Frame& frame = snapshot.frame(*chosen);
  const std::string_view file = snapshot.text(frame.file);
  return fmt::format("{}:{} {}", file.substr(file.rfind('/') + 1), frame.line, snapshot.text(frame.function));
}

}  // namespace vramfit::model
