#include "virtual_gpu/nccl/mailbox.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

namespace vramfit::nccl {
namespace {

using std::chrono::milliseconds;

class MailboxTest : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder_); }
  const std::string folder_ = testing::TempDir() + "/mailbox-" + std::to_string(getpid());
  const Mailbox box_{folder_};
};

TEST_F(MailboxTest, a_message_posted_by_another_process_arrives_whole) {
  const std::string text(60000, 'x');
  const pid_t child = fork();
  if (child == 0) {
    std::this_thread::sleep_for(milliseconds(20));
    _exit(box_.post("k", text.data(), text.size()) ? 0 : 1);
  }
  EXPECT_EQ(box_.fetch("k", milliseconds(5000)), text);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(MailboxTest, a_message_that_never_comes_is_given_up) {
  EXPECT_EQ(box_.fetch("nobody", milliseconds(5)), std::nullopt);
}

TEST_F(MailboxTest, an_empty_message_is_a_message_and_a_removed_one_is_not) {
  ASSERT_TRUE(box_.post("empty", "", 0));
  EXPECT_EQ(box_.fetch("empty", milliseconds(0)), "");
  box_.remove("empty");
  EXPECT_EQ(box_.fetch("empty", milliseconds(0)), std::nullopt);
}

TEST_F(MailboxTest, a_folder_that_can_not_be_made_is_told) {
  EXPECT_FALSE(Mailbox("/proc/no/such/folder").post("k", "x", 1));
}

}  // namespace
}  // namespace vramfit::nccl
