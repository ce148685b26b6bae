#include "doctor/stack.h"

#include <algorithm>

#include "model/snapshot_line.h"

namespace vramfit::doctor {

bool mentions(std::string_view text, Words words) {
  const std::string low = lowered(text);
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return low.contains(word); });
}

namespace {

bool is_packages(const std::string& file) {
  return model::is_of_vramfit(file) || model::starts_a_program(file) ||
         mentions(file, {"site-packages", "dist-packages", "/torch/", "\\torch\\", "<frozen", "/lib/python",
                         "\\lib\\runpy", "\\lib\\multiprocessing", "\\lib\\threading"});
}

}  // namespace

void Stack::add(model::TraceFrame frame, model::SourceLine at) {
  const bool own = !is_packages(frame.file);
  entries_.push_back({std::move(frame), std::move(at), own});
}

template <class Fits>
const StackEntry* Stack::innermost_that(Fits fits) const {
  const auto found = std::find_if(entries_.rbegin(), entries_.rend(), fits);
  return found == entries_.rend() ? nullptr : &*found;
}

const StackEntry* Stack::in_code(Words words) const {
  return innermost_that([&](const StackEntry& entry) { return mentions(entry.frame.code, words); });
}

const StackEntry* Stack::in_own_code(Words words) const {
  return innermost_that([&](const StackEntry& entry) { return entry.own && mentions(entry.frame.code, words); });
}

const StackEntry* Stack::in_function(Words words) const {
  return innermost_that([&](const StackEntry& entry) { return mentions(entry.frame.function, words); });
}

const StackEntry* Stack::in_file(Words words) const {
  return innermost_that([&](const StackEntry& entry) { return mentions(entry.frame.file, words); });
}

const StackEntry* Stack::function_is(Words names) const {
  return innermost_that([&](const StackEntry& entry) {
    const std::string name = lowered(entry.frame.function);
    return std::find(names.begin(), names.end(), name) != names.end();
  });
}

const StackEntry* Stack::near_end(Words words, std::size_t count) const {
  const std::size_t last = std::min(count, entries_.size());
  for (std::size_t i = 0; i < last; ++i) {
    const StackEntry& entry = entries_[entries_.size() - 1 - i];
    if (mentions(entry.frame.code, words) || mentions(entry.frame.function, words) ||
        mentions(entry.frame.file, words)) {
      return &entry;
    }
  }
  return nullptr;
}

const StackEntry* Stack::innermost_own() const {
  return innermost_that([](const StackEntry& entry) { return entry.own; });
}

std::string describe(const model::TraceFrame& frame) {
  const std::size_t slash = frame.file.find_last_of("/\\");
  std::string text = slash == std::string::npos ? frame.file : frame.file.substr(slash + 1);
  if (frame.line > 0) text += ":" + std::to_string(frame.line);
  if (!frame.function.empty()) text += " in " + frame.function;
  if (!frame.code.empty()) text += ": " + frame.code;
  return text;
}

}  // namespace vramfit::doctor
