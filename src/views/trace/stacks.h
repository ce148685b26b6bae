// Stacks as one tree from the outermost frame inwards, of a bounded size.
#ifndef VRAMFIT_VIEWS_TRACE_STACKS_H
#define VRAMFIT_VIEWS_TRACE_STACKS_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "model/snapshot.h"
#include "model/snapshot_line.h"
#include "report/page/trace_facts.h"

namespace vramfit::views::report_trace {

class NameTreeBuilder {
 public:
  NameTreeBuilder(std::size_t most_nodes, std::size_t most_text_bytes)
      : most_nodes_(most_nodes), most_text_bytes_(most_text_bytes) {
    tree_.parent.push_back(0);
    tree_.name.push_back(name(""));
  }

  // A full tree gives the parent itself.
  std::uint32_t child(std::uint32_t parent, std::string_view text);
  bool is_full() const { return is_full_; }
  report::page::NameTree take() { return std::move(tree_); }
  void count_cut() { ++tree_.cut_stacks; }

 private:
  std::uint32_t name(std::string_view text);

  std::size_t most_nodes_, most_text_bytes_;
  std::size_t text_bytes_ = 0;
  bool is_full_ = false;
  report::page::NameTree tree_;
  std::unordered_map<std::string, std::uint32_t> names_;
  std::unordered_map<std::uint64_t, std::uint32_t> children_;  // parent and name -> node
};

// Add those that matter most first: once the tree is full, a stack ends at the innermost frame that is in it.
class Stacks {
 public:
  Stacks(const model::Snapshot& snapshot, std::size_t most_nodes, std::size_t most_text_bytes)
      : snapshot_(snapshot), tree_(most_nodes, most_text_bytes) {}

  std::uint32_t node_of(model::StackId stack);
  report::page::NameTree take() { return tree_.take(); }

 private:
  const model::Snapshot& snapshot_;
  NameTreeBuilder tree_;
  std::unordered_map<std::uint32_t, std::uint32_t> known_;
};

// "forward train.py:12", as a flame graph names a frame: what is done first, its place behind it.
std::string frame_name(const model::ShownFrame& frame);

}  // namespace vramfit::views::report_trace

#endif
