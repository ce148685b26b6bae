// The frames of a failure and the questions that causes ask of them. Comparisons ignore case.
#ifndef VRAMFIT_DOCTOR_STACK_H
#define VRAMFIT_DOCTOR_STACK_H

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/letters.h"
#include "model/evidence.h"

namespace vramfit::doctor {

using Words = std::initializer_list<std::string_view>;

using base::lowered;
// Whether one of the words, which are in lower case, stands somewhere in the text.
bool mentions(std::string_view text, Words words);

struct StackEntry {
  model::TraceFrame frame;
  model::SourceLine at;  // of the exception in the text that shows it
  bool own = false;      // the user's code rather than a package's
};

class Stack {
 public:
  void add(model::TraceFrame frame, model::SourceLine at);
  void add_mark(model::FramePhase phase) { marks_.insert(phase); }
  void set_message(std::string message) { message_ = std::move(message); }

  bool empty() const { return entries_.empty(); }
  const std::vector<StackEntry>& entries() const { return entries_; }  // outermost first
  const std::string& message() const { return message_; }
  bool is_marked(model::FramePhase phase) const { return marks_.contains(phase); }

  // The innermost frame that fits; null: none does.
  const StackEntry* in_code(Words words) const;
  const StackEntry* in_function(Words words) const;
  const StackEntry* in_file(Words words) const;
  // Looks in the user's own frames alone.
  const StackEntry* in_own_code(Words words) const;
  const StackEntry* function_is(Words names) const;
  // Looks among the `count` innermost frames: what the failing allocation was for.
  const StackEntry* near_end(Words words, std::size_t count) const;
  const StackEntry* innermost() const { return entries_.empty() ? nullptr : &entries_.back(); }
  const StackEntry* innermost_own() const;

 private:
  template <class Fits>
  const StackEntry* innermost_that(Fits fits) const;

  std::vector<StackEntry> entries_;
  std::set<model::FramePhase> marks_;
  std::string message_;
};

// "eval.py:88 in validate: logits = torch.cat(kept)"
std::string describe(const model::TraceFrame& frame);

}  // namespace vramfit::doctor

#endif
