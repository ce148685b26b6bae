#include "views/trace/stacks.h"

#include <fmt/format.h>

namespace vramfit::views::report_trace {

std::uint32_t NameTreeBuilder::name(std::string_view text) {
  const auto [found, is_new] = names_.try_emplace(std::string(text), static_cast<std::uint32_t>(tree_.names.size()));
  if (is_new) {
    tree_.names.emplace_back(text);
    text_bytes_ += text.size() + 1;
  }
  return found->second;
}

std::uint32_t NameTreeBuilder::child(std::uint32_t parent, std::string_view text) {
  const auto known = names_.find(std::string(text));
  if (known != names_.end()) {
    const auto found = children_.find(std::uint64_t{parent} << 32 | known->second);
    if (found != children_.end()) return found->second;
  }
  is_full_ |= tree_.parent.size() >= most_nodes_ || text_bytes_ + text.size() > most_text_bytes_;
  if (is_full_) return parent;
  const auto node = static_cast<std::uint32_t>(tree_.parent.size());
  const std::uint32_t named = name(text);
  children_[std::uint64_t{parent} << 32 | named] = node;
  tree_.parent.push_back(parent);
  tree_.name.push_back(named);
  return node;
}

std::uint32_t Stacks::node_of(model::StackId stack) {
  const auto [known, is_new] = known_.try_emplace(static_cast<std::uint32_t>(stack), 0);
  if (!is_new) return known->second;
  std::uint32_t node = 0;
  for (const model::ShownFrame& frame : model::shown_frames(snapshot_, stack)) {
    const std::uint32_t next = tree_.child(node, frame_name(frame));
    if (next == node) {
      tree_.count_cut();
      break;
    }
    node = next;
  }
  return known->second = node;
}

std::string frame_name(const model::ShownFrame& frame) {
  return frame.file.empty() ? frame.function : fmt::format("{} {}:{}", frame.function, frame.file, frame.line);
}

}  // namespace vramfit::views::report_trace
