#include "job/zygote.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/file.h"
#include "isolate/descriptors.h"
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

TEST_F(ZygoteTest, of_two_jobs_at_once_each_gets_its_own_answer) {
  auto zygote = start(R"(read -r second <&3
                         echo '{"id": 2, "exit_code": 4}' >&4
                         echo '{"id": 1, "exit_code": 3}' >&4; sleep 5)");
  ASSERT_TRUE(zygote);
  const auto first = zygote->start(job()), second = zygote->start(job());
  ASSERT_TRUE(first && second);
  const auto of_first = zygote->wait(*first, job(), {}), of_second = zygote->wait(*second, job(), {});
  ASSERT_TRUE(of_first && of_second);
  EXPECT_EQ(of_first->exit_code, 3);
  EXPECT_EQ(of_second->exit_code, 4);
}

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
  EXPECT_TRUE(request["layer"].is_null() && request["shared"].is_null() && request["patience"].is_null());
}

TEST_F(ZygoteTest, a_job_is_told_its_layer_and_one_that_can_not_enter_it_did_not_run) {
  auto zygote = start(R"(echo '{"id": 1, "exit_code": 1, "refused": "no overlay"}' >&4; sleep 5)");
  ASSERT_TRUE(zygote);
  ZygoteJob layered = job();
  layered.layer = "spec";
  layered.layer_library = "/lib/layer.so";
  const auto ended = zygote->run(layered, {});
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().what, "no overlay");
  const auto request = nlohmann::json::parse(*base::read_file(request_file()));
  EXPECT_EQ(request["layer"]["library"], "/lib/layer.so");
  EXPECT_EQ(request["layer"]["spec"], "spec");
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

// A zygote that several vramfits share: it takes one connection, keeps what it got and gives this answer.
class SharedZygoteTest : public ZygoteTest {
 protected:
  base::Result<base::Ended> run_with_answer(const std::string& answer) {
    const std::string path = (machine_.root() / "socket").string();
    const base::FileDescriptor listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(bind(listener.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener.number(), 1), 0);
    std::thread answers([&] {
      const base::FileDescriptor connection(accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC));
      while (!received_.ends_with('\n')) {
        auto parcel = isolate::receive_parcel(connection.number());
        if (!parcel) break;
        received_ += parcel->text;
        files_ += parcel->files.size();
      }
      EXPECT_EQ(send(connection.number(), answer.data(), answer.size(), MSG_NOSIGNAL),
                static_cast<ssize_t>(answer.size()));
    });
    auto zygote = Zygote::join(path);
    ZygoteJob shared = job();
    shared.command.python = "/bin/python3";
    shared.has_our_streams = true;
    auto ended =
        zygote ? zygote->run(shared, {}) : base::Result<base::Ended>(std::unexpected(std::move(zygote.error())));
    answers.join();
    return ended;
  }

  std::string received_;
  std::size_t files_ = 0;
};

TEST_F(SharedZygoteTest, it_is_told_which_python_it_would_have_to_be_and_given_our_streams) {
  const auto ended = run_with_answer("{\"id\": 1, \"exit_code\": 3}\n");
  ASSERT_TRUE(ended) << ended.error().what;
  EXPECT_EQ(ended->exit_code, 3);
  EXPECT_EQ(files_, 3u);
  const auto request = nlohmann::json::parse(received_);
  EXPECT_EQ(request["shared"]["python"], "/bin/python3");
  EXPECT_TRUE(request["shared"]["flags"].empty());
}

TEST_F(SharedZygoteTest, a_job_that_is_not_for_it_can_be_told_from_one_that_failed) {
  const auto ended = run_with_answer("{\"id\": 1, \"unsuitable\": \"it has a terminal\"}\n");
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, base::ErrorCode::kUnsupported);
  EXPECT_EQ(ended.error().what, "it has a terminal");
}

TEST_F(SharedZygoteTest, one_that_is_not_there_is_an_error) {
  const auto zygote = Zygote::join((machine_.root() / "nobody").string());
  ASSERT_FALSE(zygote);
  EXPECT_EQ(zygote.error().code, base::ErrorCode::kSystem);
}

}  // namespace
}  // namespace vramfit::job
