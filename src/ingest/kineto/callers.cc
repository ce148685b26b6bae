#include "ingest/kineto/callers.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/snapshot_line.h"

namespace vramfit::ingest::kineto {

namespace {

// "train.py(12): step" -> "train.py:12 step". Empty for a package's, Python's and built-in ones, whose paths the
// profiler cuts at the folder of sys.path that they lie in.
std::string own_line(std::string_view function) {
  const std::size_t bracket = function.find(".py(");
  const std::size_t end = function.find("): ", bracket == std::string_view::npos ? 0 : bracket);
  if (bracket == std::string_view::npos || end == std::string_view::npos) return "";
  const std::string_view file = function.substr(0, bracket + 3);
  if (file.starts_with("torch/") || file.starts_with("<") || file.contains("site-packages/") ||
      file.contains("/lib/python") || file.contains("/torch/") || model::is_of_vramfit(file)) {
    return "";
  }
  return fmt::format("{}:{} {}", file.substr(file.rfind('/') + 1), function.substr(bracket + 4, end - bracket - 4),
                     function.substr(end + 3));
}

std::string innermost_own_line(std::string_view call_stack) {
  while (!call_stack.empty()) {
    const std::size_t end = call_stack.find(';');
    if (std::string line = own_line(call_stack.substr(0, end)); !line.empty()) return line;
    if (end == std::string_view::npos) break;
    call_stack.remove_prefix(end + 1);
  }
  return "";
}

}  // namespace

std::uint32_t Callers::intern(std::string_view text) {
  if (text.empty()) return 0;
  const auto [known, is_new] = ids_.try_emplace(std::string(text), static_cast<std::uint32_t>(texts_.size()));
  if (is_new) texts_.emplace_back(text);
  return known->second;
}

void Callers::add_operator(std::string_view thread, double at_us, double for_us, std::string_view name,
                           std::string_view call_stack) {
  threads_[std::string(thread)].ranges.push_back(
      {at_us, at_us + for_us, intern(name), intern(innermost_own_line(call_stack)), false});
}

void Callers::add_function(std::string_view thread, double at_us, double for_us, std::string_view name) {
  const std::string line = own_line(name);
  if (line.empty()) return;
  threads_[std::string(thread)].ranges.push_back({at_us, at_us + for_us, 0, intern(line), true});
}

void Callers::add_memory(std::string_view thread, model::KinetoMemory memory) {
  threads_[std::string(thread)].memory.push_back(memory);
}

std::uint32_t Callers::caller(std::uint32_t operation, std::uint32_t line, model::KinetoTrace& trace) {
  if (operation == 0 && line == 0) return 0;
  const auto [known, is_new] =
      callers_.try_emplace(std::uint64_t{operation} << 32 | line, static_cast<std::uint32_t>(trace.texts.size()));
  if (is_new) {
    trace.texts.push_back(line == 0        ? texts_[operation]
                          : operation == 0 ? texts_[line]
                                           : fmt::format("{} ({})", texts_[line], texts_[operation]));
  }
  return known->second;
}

// Ranges of one thread lie within each other, so those around a moment are a stack:
//
//   step            |--------------------------------|
//   aten::conv2d        |------------------|
//   aten::empty             |-----|
//   [memory]                   ^
void Callers::resolve(Thread& thread, model::KinetoTrace& trace) {
  std::ranges::sort(thread.ranges, [](const Range& a, const Range& b) {
    return a.begin_us != b.begin_us ? a.begin_us < b.begin_us : a.end_us > b.end_us;
  });
  std::ranges::stable_sort(thread.memory, {}, &model::KinetoMemory::at_us);
  std::vector<const Range*> around;
  std::size_t next = 0;
  for (model::KinetoMemory& memory : thread.memory) {
    for (; next < thread.ranges.size() && thread.ranges[next].begin_us <= memory.at_us; ++next) {
      while (!around.empty() && around.back()->end_us < thread.ranges[next].begin_us) around.pop_back();
      around.push_back(&thread.ranges[next]);
    }
    while (!around.empty() && around.back()->end_us < memory.at_us) around.pop_back();
    std::uint32_t operation = 0, line = 0;
    for (auto range = around.rbegin(); range != around.rend() && (operation == 0 || line == 0); ++range) {
      if (operation == 0 && !(*range)->is_function) operation = (*range)->name;
      if (line == 0) line = (*range)->line;
    }
    memory.caller = caller(operation, line, trace);
    trace.memory.push_back(memory);
  }
}

void Callers::finish(model::KinetoTrace& trace) {
  for (auto& [name, thread] : threads_) resolve(thread, trace);
  std::ranges::stable_sort(trace.memory, {}, &model::KinetoMemory::at_us);
}

}  // namespace vramfit::ingest::kineto
