#include "base/subprocess.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "base/file.h"
#include "base/interrupt.h"

namespace vramfit::base {
namespace {

namespace fs = std::filesystem;

class Subprocess : public testing::Test {
 protected:
  void SetUp() override {
    output_ = fs::temp_directory_path() / ("vramfit-subprocess-test." + std::to_string(::getpid()));
    fs::remove(output_);
  }
  void TearDown() override { fs::remove(output_); }

  Launch shell(const std::string& script) const {
    Launch launch;
    launch.argv = {"sh", "-c", script};
    launch.environment = current_environment();
    launch.output = output_;
    launch.grace_seconds = 0.5;
    return launch;
  }
  std::string output() const { return read_file(output_).value_or(""); }

  InterruptScope interrupts_;
  fs::path output_;
};

TEST_F(Subprocess, exit_code_output_environment_and_folder_are_the_childs_own) {
  Launch launch = shell("echo \"$COLOUR in $(pwd)\"; exit 7");
  launch.environment["COLOUR"] = "green";
  launch.folder = "/usr";
  const auto ended = run_to_end(launch, nullptr);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->exit_code, 7);
  EXPECT_EQ(ended->shell_code(), 7);
  EXPECT_EQ(output(), "green in /usr\n");
  EXPECT_GT(ended->peak_resident_bytes, 0);
}

TEST_F(Subprocess, a_killed_child_tells_its_signal) {
  const auto ended = run_to_end(shell("kill -9 $$"), nullptr);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->signal, SIGKILL);
  EXPECT_EQ(ended->shell_code(), 137);
}

TEST_F(Subprocess, a_program_that_is_not_there_is_an_error) {
  Launch launch = shell("");
  launch.argv = {"no-such-program-of-ours"};
  EXPECT_EQ(run_to_end(launch, nullptr).error().code, ErrorCode::kNotFound);
  launch.argv = {"sh"};
  launch.folder = "/no/such/folder";
  EXPECT_FALSE(run_to_end(launch, nullptr));
}

TEST_F(Subprocess, the_time_limit_ends_even_a_child_that_ignores_polite_signals) {
  Launch launch = shell("trap '' TERM; while true; do sleep 0.05; done");
  launch.timeout_seconds = 0.3;
  const auto ended = run_to_end(launch, nullptr);
  ASSERT_TRUE(ended);
  EXPECT_TRUE(ended->timed_out);
  EXPECT_EQ(ended->signal, SIGKILL);
  EXPECT_LT(ended->wall_seconds, 5);
}

TEST_F(Subprocess, descendants_that_left_the_group_are_ended_too) {
  const auto ended = run_to_end(shell("setsid sh -c 'echo $$; exec sleep 60' & sleep 0.2"), nullptr);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->ended_orphans, 1);
  const int orphan = std::atoi(output().c_str());
  ASSERT_GT(orphan, 0);
  EXPECT_EQ(kill(orphan, 0), -1) << "the orphan still lives";
}

TEST_F(Subprocess, an_interrupt_is_passed_on_to_the_group) {
  std::thread friendly([] {
    usleep(300'000);
    kill(getpid(), SIGINT);
  });
  const auto ended = run_to_end(shell("trap 'echo heard; exit 9' INT; while true; do sleep 0.05; done"), nullptr);
  friendly.join();
  ASSERT_TRUE(ended);
  EXPECT_TRUE(ended->interrupted);
  EXPECT_EQ(ended->exit_code, 9);
  EXPECT_EQ(output(), "heard\n");
}

TEST_F(Subprocess, a_started_process_is_ended_with_its_descendants) {
  const auto child = start_process(shell("sleep 60 & echo $!; wait"));
  ASSERT_TRUE(child);
  for (int i = 0; i < 3000 && output().empty(); ++i) usleep(10'000);
  const int grandchild = std::atoi(output().c_str());
  ASSERT_GT(grandchild, 0);
  end_process(*child, 0.5);
  EXPECT_EQ(kill(grandchild, 0), -1);
}

TEST_F(Subprocess, what_is_entered_is_entered_by_the_child_alone_and_in_its_folder) {
  Launch launch = shell("echo \"$(umask) in $(pwd)\"");
  launch.folder = "/usr";
  launch.enter = [] {
    if (fs::current_path() != "/usr") return Result<void>(fail(ErrorCode::kSystem, "not there yet"));
    ::umask(0123);
    return Result<void>();
  };
  const mode_t before = ::umask(0);
  ::umask(before);
  ASSERT_TRUE(run_to_end(launch, nullptr));
  EXPECT_EQ(output(), "0123 in /usr\n");
  EXPECT_EQ(::umask(before), before);
}

TEST_F(Subprocess, a_child_that_can_not_enter_is_an_error_that_says_why) {
  Launch launch = shell("echo ran");
  launch.enter = [] { return Result<void>(fail(ErrorCode::kSystem, "no way in", "the door")); };
  const auto ended = run_to_end(launch, nullptr);
  ASSERT_FALSE(ended);
  EXPECT_NE(ended.error().what.find("no way in"), std::string::npos);
  EXPECT_NE(ended.error().what.find("the door"), std::string::npos);
  EXPECT_EQ(output(), "");
}

TEST_F(Subprocess, programs_are_found_on_the_path_given) {
  EXPECT_TRUE(find_program("sh", {{"PATH", "/nowhere:/bin"}}));
  EXPECT_FALSE(find_program("sh", {{"PATH", "/nowhere"}}));
  EXPECT_EQ(find_program("/bin/sh", {}), fs::path("/bin/sh"));
}

}  // namespace
}  // namespace vramfit::base
