#include "job/interpreter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "job/session.h"
#include "job/testing/fake_python.h"

namespace vramfit::job {
namespace {

using testing::FakeMachine;

TEST(Interpreter, the_paths_python_is_used_as_a_shell_would) {
  FakeMachine machine;
  machine.add_python("bin/python");
  const auto found = find_interpreter({"python", "train.py"}, machine.environment());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->program, machine.root() / "bin/python");
  EXPECT_EQ(found->interpreter, found->program);
  EXPECT_FALSE(found->is_launcher);
}

// Two runs at once: the one that clears away what killed runs left must not take the other's files with it.
TEST(Interpreter, is_asked_while_another_run_clears_away_sessions) {
  FakeMachine machine;
  machine.add_python("bin/python");
  std::atomic<bool> done = false;
  std::thread other([&] {
    while (!done) remove_stale_sessions();
  });
  for (int i = 0; i < 10; ++i) {
    const auto found = inspect_interpreter(machine.root() / "bin/python", machine.environment());
    EXPECT_TRUE(found) << to_string(found.error());
  }
  done = true;
  other.join();
}

TEST(Interpreter, an_active_virtual_environment_goes_before_the_path) {
  FakeMachine machine;
  machine.add_python("bin/python");
  machine.add_python("venv/bin/python");
  auto environment = machine.environment();
  environment["VIRTUAL_ENV"] = (machine.root() / "venv").string();
  const auto found = find_interpreter({"python", "train.py"}, environment);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->program, machine.root() / "venv/bin/python");
}

TEST(Interpreter, a_launcher_means_the_interpreter_in_its_first_line) {
  FakeMachine machine;
  machine.add_python("env/bin/python3.11");
  machine.add_script("bin/torchrun", "#!" + (machine.root() / "env/bin/python3.11").string() + "\nimport sys\n");
  const auto found = find_interpreter({"torchrun", "--nproc-per-node=2", "train.py"}, machine.environment());
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->is_launcher);
  EXPECT_EQ(found->program, machine.root() / "bin/torchrun");
  EXPECT_EQ(found->interpreter, machine.root() / "env/bin/python3.11");
}

TEST(Interpreter, pips_first_lines_for_long_paths_are_understood) {
  FakeMachine machine;
  machine.add_script("bin/accelerate", "#!/bin/sh\n'''exec' '/a/very long/path/bin/python3' \"$0\" \"$@\"\n' '''\n");
  const auto found = find_interpreter({"accelerate", "launch"}, machine.environment());
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->is_launcher);
  EXPECT_EQ(found->interpreter, "/a/very long/path/bin/python3");
}

TEST(Interpreter, env_in_a_first_line_looks_on_the_path) {
  FakeMachine machine;
  machine.add_python("bin/python3");
  machine.add_script("bin/train", "#!/usr/bin/env python3\n");
  const auto found = find_interpreter({"train"}, machine.environment());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->interpreter, machine.root() / "bin/python3");
}

TEST(Interpreter, a_shell_script_is_taken_to_run_the_paths_python) {
  FakeMachine machine;
  machine.add_python("bin/python");
  machine.add_script("bin/job.sh", "#!/bin/bash\npython train.py\n");
  const auto found = find_interpreter({"job.sh"}, machine.environment());
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->is_guess);
  EXPECT_EQ(found->interpreter, machine.root() / "bin/python");
}

TEST(Interpreter, a_python_behind_other_programs_is_the_one_that_is_asked) {
  FakeMachine machine;
  machine.add_python("bin/python");
  machine.add_python("other/python3");
  machine.add_script("bin/env", "\x7f ELF");
  machine.add_script("bin/nice", "\x7f ELF");
  machine.add_script("bin/torchrun", "#!" + (machine.root() / "env/bin/python").string() + "\n");
  const std::string other = (machine.root() / "other/python3").string();
  auto found = find_interpreter({"env", "PYTHONPATH=.", "nice", "-n", "5", other, "train.py"}, machine.environment());
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->is_guess);
  EXPECT_EQ(found->interpreter, other);
  found = find_interpreter({"env", "A=1", "torchrun", "train.py"}, machine.environment());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->interpreter, machine.root() / "env/bin/python");
}

TEST(Interpreter, a_script_without_its_interpreter_is_told_how) {
  const FakeMachine machine;
  const auto found = find_interpreter({"train.py"}, machine.environment());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, base::ErrorCode::kNotFound);
  EXPECT_EQ(found.error().remedy, "name the interpreter: -- python train.py");
}

TEST(Interpreter, torch_is_found_and_read_without_importing_it) {
  FakeMachine machine;
  machine.add_python("bin/python");
  machine.add_torch("torch", "2.12.1+cu130", "'13.0'", "pad\1sm_75 sm_80 sm_90 sm_120\0tail");
  const auto found = inspect_interpreter(machine.root() / "bin/python", machine.environment());
  ASSERT_TRUE(found) << base::to_string(found.error());
  EXPECT_EQ(found->python, "3.11.2");
  EXPECT_EQ(found->torch, "2.12.1+cu130");
  EXPECT_EQ(found->cuda, "13.0");
  EXPECT_EQ(found->torch_folder, machine.root() / "torch");
  EXPECT_EQ(found->architectures.size(), 4u);
}

TEST(Interpreter, a_build_without_cuda_is_known_as_one) {
  FakeMachine machine;
  machine.add_torch("torch", "2.13.0+cpu", "None", "");
  Interpreter interpreter;
  ASSERT_TRUE(read_torch(machine.root() / "torch", interpreter));
  EXPECT_EQ(interpreter.torch, "2.13.0+cpu");
  EXPECT_EQ(interpreter.cuda, "");
}

TEST(Interpreter, an_interpreter_that_fails_is_reported_with_its_own_words) {
  FakeMachine machine;
  machine.add_script("bin/python", "#!/bin/sh\necho 'No module named encodings' >&2\nexit 1\n");
  const auto found = inspect_interpreter(machine.root() / "bin/python", machine.environment());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().where, "No module named encodings");
}

TEST(Interpreter, the_longest_list_of_architectures_counts) {
  using Capability = model::ComputeCapability;
  EXPECT_EQ(parse_architectures("sm_90 x sm_70 sm_75 sm_90a sm_120 y sm_80 sm_86"),
            (std::vector<Capability>{{7, 0}, {7, 5}, {9, 0}, {12, 0}}));
  EXPECT_TRUE(parse_architectures("nothing here, sm_ sm_x sm_1").empty());
  EXPECT_TRUE(parse_architectures("").empty());
}

TEST(Interpreter, kernels_run_on_their_own_generation_from_their_minor_version_on) {
  const auto pascal = parse_architectures("sm_50 sm_60 sm_70");
  EXPECT_TRUE(has_kernels_for(pascal, {6, 1}));
  EXPECT_TRUE(has_kernels_for(pascal, {7, 5}));
  EXPECT_FALSE(has_kernels_for(pascal, {8, 0}));
  EXPECT_FALSE(has_kernels_for(parse_architectures("sm_75 sm_80"), {6, 1}));
  EXPECT_FALSE(has_kernels_for(parse_architectures("sm_75 sm_80"), {7, 0}));
}

}  // namespace
}  // namespace vramfit::job
