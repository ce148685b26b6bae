#include "job/zygote.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "job/testing/fake_python.h"

namespace vramfit::job {
namespace {

// A warm process that is a shell script: it keeps the request it got and answers with these lines.
class ZygoteTest : public ::testing::Test {
 protected:
  base::Result<Zygote> start(const std::string& answers) {
    machine_.add_script("bin/python",
                        "#!/bin/sh\nPATH=/usr/bin:/bin\nfor last; do :; done\n"
                        "eval \"exec 3<&$last 4>&$last\"\n"
                        "read -r request <&3\n"
                        "printf '%s' \"$request\" > \"" +
                            request_file() + "\"\n" + answers);
    return Zygote::start({(machine_.root() / "bin" / "python").string(), {"-u"}, false, {"train.py"}},
                         machine_.environment());
  }
  std::string request_file() const { return (machine_.root() / "request.json").string(); }

  static ZygoteJob job() {
    ZygoteJob job;
    job.command.argv = {"train.py", "--lr", "0.1"};
    job.folder = "/tmp";
    job.environment = {{"A", "b"}};
    job.output = "/dev/null";
    job.timeout_seconds = 5;
    return job;
  }

  testing::FakeMachine machine_;
};

TEST_F(ZygoteTest, a_jobs_answer_is_read_and_its_request_complete) {
  auto zygote = start(R"(echo '{"id": 1, "exit_code": 3, "wall_seconds": 1.5, "maxrss": 10}' >&4; sleep 5)");
  ASSERT_TRUE(zygote);
  const auto ended = zygote->run(job(), {});
  ASSERT_TRUE(ended) << ended.error().what;
  EXPECT_EQ(ended->exit_code, 3);
  EXPECT_FALSE(ended->signal);
  EXPECT_EQ(ended->wall_seconds, 1.5);
  EXPECT_EQ(ended->peak_resident_bytes, 10240);
  const auto request = nlohmann::json::parse(*base::read_file(request_file()));
  EXPECT_EQ(request["argv"], (std::vector<std::string>{"train.py", "--lr", "0.1"}));
  EXPECT_EQ(request["run_as"], "script");
  EXPECT_EQ(request["env"]["A"], "b");
  EXPECT_EQ(request["timeout"], 5);
}

TEST_F(ZygoteTest, a_job_that_was_killed_has_a_signal_and_no_exit_code) {
  auto zygote = start(R"(echo '{"id": 1, "signal": 9, "timed_out": true, "wall_seconds": 5}' >&4; sleep 5)");
  ASSERT_TRUE(zygote);
  const auto ended = zygote->run(job(), {});
  ASSERT_TRUE(ended) << ended.error().what;
  EXPECT_EQ(ended->signal, 9);
  EXPECT_TRUE(ended->timed_out);
  EXPECT_EQ(ended->shell_code(), 137);
}

TEST_F(ZygoteTest, a_warm_process_that_ends_is_an_error_and_not_a_job_that_failed) {
  auto zygote = start("exit 1");
  ASSERT_TRUE(zygote);
  EXPECT_FALSE(zygote->run(job(), {}));
}

TEST_F(ZygoteTest, an_answer_to_something_else_is_not_taken_for_this_jobs) {
  auto zygote = start(R"(echo '{"id": 7, "exit_code": 0}' >&4; sleep 5)");
  ASSERT_TRUE(zygote);
  const auto ended = zygote->run(job(), {});
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, base::ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace vramfit::job
