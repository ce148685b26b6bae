#include "job/python_command.h"

#include <gtest/gtest.h>

namespace vramfit::job {
namespace {

TEST(PythonCommand, a_script_keeps_its_arguments_even_when_they_look_like_flags) {
  const PythonCommand expected{"/env/bin/python3.11", {"-u", "-X", "dev"}, false, {"train.py", "-m", "--lr", "1"}};
  EXPECT_EQ(parse_python_command({"/env/bin/python3.11", "-u", "-X", "dev", "train.py", "-m", "--lr", "1"}), expected);
}

TEST(PythonCommand, a_module_is_told_apart) {
  const PythonCommand expected{"python", {}, true, {"torch.distributed.run", "x.py"}};
  EXPECT_EQ(parse_python_command({"python", "-m", "torch.distributed.run", "x.py"}), expected);
}

TEST(PythonCommand, what_a_fork_cannot_repeat_is_left_to_the_cold_way) {
  EXPECT_EQ(parse_python_command({"python", "-c", "print(1)"}), std::nullopt);
  EXPECT_EQ(parse_python_command({"python", "-"}), std::nullopt);
  EXPECT_EQ(parse_python_command({"python"}), std::nullopt);
  EXPECT_EQ(parse_python_command({"python", "--version"}), std::nullopt);
  EXPECT_EQ(parse_python_command({"torchrun", "train.py"}), std::nullopt);
  EXPECT_EQ(parse_python_command({}), std::nullopt);
}

}  // namespace
}  // namespace vramfit::job
