#include "model/snapshot_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ranges>
#include <span>

namespace vramfit::model {

namespace {

// Sources of what was compiled: frames of C++, and of Python itself. Without debugging information the file is "??".
constexpr std::array<std::string_view, 14> kCompiled = {".c",  ".cc",  ".cpp", ".cxx", ".cu",  ".cuh", ".h",
                                                        ".hh", ".hpp", ".inc", ".S",   ".tcc", ".hip", ".so"};

// Recordings of Windows separate folders by backslashes.
std::string with_slashes(std::string_view file) {
  std::string path(file);
  std::ranges::replace(path, '\\', '/');
  return path;
}

bool is_compiled_source(std::string_view file) {
  return file.empty() || file == "??" || file.contains("/include/c++/") ||
         std::ranges::any_of(kCompiled, [&](std::string_view ending) { return file.ends_with(ending); });
}

// What stands behind `before` in any function of the stack, up to `behind`; from the outermost frame inwards.
std::string_view find_between(const Snapshot& snapshot, std::span<const FrameId> frames, std::string_view before,
                              std::string_view behind) {
  for (const FrameId id : std::views::reverse(frames)) {
    const std::string_view function = snapshot.text(snapshot.frame(id).function);
    const std::size_t at = function.find(before);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = function.substr(at + before.size());
    const std::size_t end = rest.find(behind);
    if (end != std::string_view::npos && end > 0) return rest.substr(0, end);
  }
  return {};
}

bool is_backward(const Snapshot& snapshot, std::span<const FrameId> frames) {
  return std::ranges::any_of(
      frames, [&](FrameId id) { return snapshot.text(snapshot.frame(id).function).contains("autograd::Engine"); });
}

// "AddmmBackward0" of torch::autograd::generated::AddmmBackward0::apply(...)
std::string_view backward_node(const Snapshot& snapshot, std::span<const FrameId> frames) {
  return find_between(snapshot, frames, "autograd::generated::", "::");
}

}  // namespace

bool is_of_vramfit(std::string_view file) {
  const std::string path = with_slashes(file);
  return path.contains("/python/vramfit/") || path.contains("-packages/vramfit/") || path.starts_with("vramfit/");
}

bool starts_a_program(std::string_view file) {
  const std::size_t slash = file.rfind('/');
  return slash != std::string_view::npos && file.substr(0, slash).ends_with("/bin") &&
         file.find('.', slash) == std::string_view::npos;
}

bool is_library(std::string_view file) {
  const std::string path = with_slashes(file);
  return is_of_vramfit(path) || path.contains("site-packages/") || path.contains("dist-packages/") ||
         path.contains("/torch/") || path.starts_with("<") || path.contains("/lib/python") || starts_a_program(path) ||
         is_compiled_source(path);
}

// In a file that tells neither, by the function: none of Python's has such a name.
bool is_compiled(const Snapshot& snapshot, const Frame& frame) {
  const std::string_view file = snapshot.text(frame.file), function = snapshot.text(frame.function);
  if (is_compiled_source(file)) return true;
  if (file.ends_with(".py") || file.starts_with("<")) return false;
  return function.contains("::") || function.contains('(');
}

bool is_package_beside_torch(std::string_view file) {
  return file.find("site-packages/") != std::string_view::npos &&
         file.find("site-packages/torch/") == std::string_view::npos;
}

std::string line_of(const model::Snapshot& snapshot, model::StackId stack) {
  const auto frames = snapshot.stack(stack);
  if (frames.empty()) return "(no stack was recorded)";
  const auto is_python = [&](FrameId id) { return !is_compiled(snapshot, snapshot.frame(id)); };
  auto chosen = std::ranges::find_if(
      frames, [&](FrameId id) { return is_python(id) && !is_library(snapshot.text(snapshot.frame(id).file)); });
  if (chosen == frames.end()) chosen = std::ranges::find_if(frames, is_python);
  if (chosen == frames.end()) {
    if (!is_backward(snapshot, frames)) return "(no line of Python in its stack)";
    const std::string_view node = backward_node(snapshot, frames);
    return node.empty() ? "(backward, in C++)" : fmt::format("(backward, in C++: {})", node);
  }
  const model::Frame& frame = snapshot.frame(*chosen);
  const std::string_view file = snapshot.text(frame.file);
  return fmt::format("{}:{} {}", file.substr(file.rfind('/') + 1), frame.line, snapshot.text(frame.function));
}

std::vector<ShownFrame> shown_frames(const Snapshot& snapshot, StackId stack) {
  const auto frames = snapshot.stack(stack);
  std::vector<ShownFrame> shown;
  std::size_t compiled = 0;
  for (const FrameId id : std::views::reverse(frames)) {
    const Frame& frame = snapshot.frame(id);
    if (is_compiled(snapshot, frame)) {
      ++compiled;
      continue;
    }
    shown.push_back({std::string(snapshot.text(frame.function)), snapshot.text(frame.file), frame.line});
  }
  if (compiled == 0) return shown;
  const auto innermost =
      std::ranges::find_if(frames, [&](FrameId id) { return !is_compiled(snapshot, snapshot.frame(id)); });
  const auto inside = frames.first(static_cast<std::size_t>(innermost - frames.begin()));
  if (shown.empty()) {
    const std::string_view node = backward_node(snapshot, frames);
    shown.push_back({is_backward(snapshot, frames) ? "backward (C++)" : "without Python (C++)", {}, 0});
    if (!node.empty()) shown.push_back({fmt::format("{} (C++)", node), {}, 0});
  }
  const std::string_view operation = find_between(snapshot, inside, "at::_ops::", "::call");
  if (!operation.empty()) shown.push_back({fmt::format("{} (C++)", operation), {}, 0});
  return shown;
}

}  // namespace vramfit::model
