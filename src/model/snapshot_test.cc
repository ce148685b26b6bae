#include "model/snapshot.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "model/snapshot_line.h"

namespace vramfit::model {
namespace {

TEST(Snapshot, a_stack_gives_its_frames_back_and_none_has_no_frames) {
  Snapshot snapshot;
  const FrameId inner = snapshot.add_frame("model.py", "forward", 12);
  const FrameId outer = snapshot.add_frame("train.py", "main", 40);
  const StackId first = snapshot.add_stack(std::vector{inner, outer});
  const StackId second = snapshot.add_stack(std::vector{outer});
  EXPECT_TRUE(snapshot.stack(StackId::kNone).empty());
  ASSERT_EQ(snapshot.stack(first).size(), 2u);
  EXPECT_EQ(snapshot.text(snapshot.frame(snapshot.stack(first)[0]).function), "forward");
  ASSERT_EQ(snapshot.stack(second).size(), 1u);
  EXPECT_EQ(snapshot.frame(snapshot.stack(second)[0]).line, 40);
}

// Innermost first, as recorded with stacks="all".
StackId stack_of(Snapshot& snapshot, const std::vector<std::array<std::string, 2>>& frames) {
  std::vector<FrameId> ids;
  for (const auto& [file, function] : frames) ids.push_back(snapshot.add_frame(file, function, 7));
  return snapshot.add_stack(ids);
}

std::vector<std::string> shown(const Snapshot& snapshot, StackId stack) {
  std::vector<std::string> names;
  for (const ShownFrame& frame : shown_frames(snapshot, stack)) names.push_back(frame.function);
  return names;
}

TEST(SnapshotLine, frames_of_cpp_and_of_the_interpreter_are_never_the_line) {
  Snapshot snapshot;
  const StackId stack =
      stack_of(snapshot, {{"??", "torch::unwind::unwind()"},
                          {"memory_snapshot.cpp", "torch::cuda::(anonymous namespace)::gather_with_cpp()"},
                          {"", "at::_ops::zeros_like::call(at::Tensor const&)"},
                          {"Python-3.11.7/Objects/call.c", "_PyObject_MakeTpCall"},
                          {"/env/lib/python3.11/site-packages/torch/optim/adam.py", "_init_group"},
                          {"Python-3.11.7/./Include/internal/pycore_ceval.h", "_PyEval_EvalFrame"},
                          {"/home/me/train.py", "main"},
                          {"/home/me/run_without_ending", "<module>"},
                          {"./csu/../csu/libc-start.c", "__libc_start_main_impl"},
                          {"??", "_start"}});
  EXPECT_EQ(line_of(snapshot, stack), "train.py:7 main");
  EXPECT_EQ(shown(snapshot, stack), (std::vector<std::string>{"<module>", "main", "_init_group", "zeros_like (C++)"}));
}

TEST(SnapshotLine, a_thread_of_the_backward_pass_has_no_line_and_says_so) {
  Snapshot snapshot;
  const StackId stack = stack_of(
      snapshot, {{"??", "torch::unwind::unwind()"},
                 {"", "at::_ops::mm::call(at::Tensor const&, at::Tensor const&)"},
                 {"", "torch::autograd::generated::AddmmBackward0::apply(std::vector<at::Tensor>&&)"},
                 {"??", "torch::autograd::Engine::thread_main(std::shared_ptr<torch::autograd::GraphTask> const&)"},
                 {"./nptl/./nptl/pthread_create.c", "start_thread"},
                 {"./misc/../sysdeps/unix/sysv/linux/x86_64/clone3.S", "clone3"}});
  EXPECT_EQ(line_of(snapshot, stack), "(backward, in C++: AddmmBackward0)");
  EXPECT_EQ(shown(snapshot, stack), (std::vector<std::string>{"backward (C++)", "AddmmBackward0 (C++)", "mm (C++)"}));
  const StackId other = stack_of(snapshot, {{"??", "std::thread::run()"}, {"clone3.S", "clone3"}});
  EXPECT_EQ(line_of(snapshot, other), "(no line of Python in its stack)");
  EXPECT_EQ(shown(snapshot, other), std::vector<std::string>{"without Python (C++)"});
}

TEST(SnapshotLine, a_stack_of_python_alone_is_shown_as_it_is) {
  Snapshot snapshot;
  const StackId stack = stack_of(
      snapshot, {{"/env/site-packages/torch/nn/modules/linear.py", "forward"}, {"<ipython-input-3-1a2b>", "step"}});
  EXPECT_EQ(line_of(snapshot, stack), "linear.py:7 forward");
  EXPECT_EQ(shown(snapshot, stack), (std::vector<std::string>{"step", "forward"}));
}

TEST(Snapshot, every_state_of_a_block_is_read_back_from_its_name) {
  for (int i = 0; i <= static_cast<int>(BlockState::kUnknown); ++i) {
    const auto state = static_cast<BlockState>(i);
    EXPECT_EQ(parse_block_state(block_state_name(state)), state);
  }
  EXPECT_EQ(parse_block_state("active_awaiting_free"), BlockState::kActivePendingFree);
}

}  // namespace
}  // namespace vramfit::model
