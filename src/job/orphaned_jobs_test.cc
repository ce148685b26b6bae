#include "job/orphaned_jobs.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>

namespace vramfit::job {
namespace {

pid_t start_sleep(const std::string& folder) {
  const std::string variable = "VRAMFIT_RUN_DIR=" + folder;
  const char* const environment[] = {"OTHER=1", variable.c_str(), nullptr};
  const pid_t child = fork();
  if (child == 0) {
    ::execle("/bin/sleep", "sleep", "600", nullptr, environment);
    ::_exit(127);
  }
  for (std::string name; name != "sleep";) {  // it has its own environment then
    std::ifstream file("/proc/" + std::to_string(child) + "/comm");
    std::getline(file, name);
  }
  return child;
}

TEST(OrphanedJobs, those_of_one_session_end_and_no_others) {
  const std::string top = ::testing::TempDir() + "orphaned." + std::to_string(getpid());
  const pid_t ours = start_sleep(top + "/one"), other = start_sleep(top + "/one-more");
  EXPECT_EQ(end_processes_of(top + "/one"), 1);
  int status = 0;
  ASSERT_EQ(::waitpid(ours, &status, 0), ours);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_EQ(::waitpid(other, &status, WNOHANG), 0) << "a longer name is another's";
  EXPECT_EQ(end_processes_of(top + "/one-more"), 1);
  EXPECT_EQ(::waitpid(other, &status, 0), other);
}

}  // namespace
}  // namespace vramfit::job
