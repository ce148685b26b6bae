#include "isolate/job_layer.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace vramfit::isolate {
namespace {

namespace fs = std::filesystem;

constexpr Mechanism kAll[] = {Mechanism::kOverlay, Mechanism::kUserNamespace, Mechanism::kSupervisor};

class JobLayerTest : public ::testing::Test {
 protected:
  JobLayerTest() {
    // In memory where that can be: a supervisor's layer is bounded by what its disk loses, to others as well.
    const fs::path temporary = fs::temp_directory_path();
    const fs::path own = ::access("/dev/shm", W_OK) == 0 ? fs::path("/dev/shm") : temporary;
    std::string name = (own / "vramfit-job-layer.XXXXXX").string();
    own_ = ::mkdtemp(name.data());
    std::string files = (temporary / "vramfit-job-files.XXXXXX").string();
    folder_ = ::mkdtemp(files.data());
  }
  ~JobLayerTest() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
    fs::remove_all(own_, ignored);
  }

  // What a job of one line of shell leaves in its layer.
  base::Result<LayerContents> run(JobLayer& layer, const std::string& line) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (!enter(layer.spec())) ::_exit(99);
      ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      ::_exit(98);
    }
    ::waitpid(child, &status_, 0);
    return layer.look();
  }

  fs::path folder_, own_;  // the job's, and the layer's own
  int status_ = 0;
};

TEST_F(JobLayerTest, a_mechanism_is_known_by_its_name) {
  for (const Mechanism mechanism : kAll) EXPECT_EQ(parse_mechanism(to_string(mechanism)), mechanism);
  EXPECT_FALSE(parse_mechanism("1"));
}

TEST_F(JobLayerTest, what_each_mechanism_holds_is_told_by_name_and_not_there_outside) {
  const fs::path own = own_, work = folder_ / "work";
  fs::create_directories(work);
  std::ofstream(work / "old") << "mine";
  std::ofstream(work / "gone") << "mine";
  for (const Mechanism mechanism : kAll) {
    LayerSpec wanted;
    wanted.near = {work.string()};
    if (!find_mechanism(wanted, mechanism, own / "probe")) continue;
    auto layer = JobLayer::open(wanted, mechanism, own / to_string(mechanism));
    ASSERT_TRUE(layer);
    const auto seen = run(*layer, "cd " + work.string() + "; echo abcd > new; echo x >> old; rm gone");
    ASSERT_TRUE(seen) << seen.error().what;
    EXPECT_EQ(status_, 0) << to_string(mechanism);
    EXPECT_EQ(seen->written, 2);
    EXPECT_EQ(seen->replaced, 1);
    EXPECT_EQ(seen->deleted, 1);
    EXPECT_EQ(seen->bytes, 5 + 6);
    EXPECT_GT(seen->held, 0);
    EXPECT_EQ(seen->entries.size(), 3U);
    const LayerEntry removed{(work / "gone").string(), LayerChange::kRemoved, 0};
    EXPECT_NE(std::ranges::find(seen->entries, removed), seen->entries.end());
    EXPECT_FALSE(fs::exists(work / "new"));
    EXPECT_TRUE(fs::exists(work / "gone"));
    EXPECT_EQ(fs::file_size(work / "old"), 4U);
  }
}

TEST_F(JobLayerTest, with_files_shared_only_the_network_is_the_jobs_own) {
  const fs::path own = own_;
  for (const Mechanism mechanism : kAll) {
    LayerSpec wanted;
    wanted.has_files = false;
    if (!find_mechanism(wanted, mechanism, own / "probe")) continue;
    auto layer = JobLayer::open(wanted, mechanism, own / to_string(mechanism));
    ASSERT_TRUE(layer);
    const fs::path written = folder_ / to_string(mechanism);
    const auto seen = run(*layer, "echo > " + written.string() + "; bash -c 'echo > /dev/udp/203.0.113.7/9'");
    ASSERT_TRUE(seen) << seen.error().what;
    EXPECT_NE(status_, 0) << "nothing may be sent";
    EXPECT_TRUE(fs::exists(written)) << to_string(mechanism);
    EXPECT_GE(seen->network_attempts, 1);
    EXPECT_EQ(seen->written, 0);
  }
}

TEST_F(JobLayerTest, a_full_layer_says_so) {
  const fs::path own = own_;
  for (const Mechanism mechanism : kAll) {
    LayerSpec wanted;
    wanted.near = {folder_.string()};
    wanted.limit_bytes = 8 << 20;
    if (!find_mechanism(wanted, mechanism, own / "probe")) continue;
    auto layer = JobLayer::open(wanted, mechanism, own / to_string(mechanism));
    ASSERT_TRUE(layer);
    const auto seen =
        run(*layer, "cd " + folder_.string() + " && head -c 16M /dev/urandom > big && head -c 16M /dev/urandom > more");
    ASSERT_TRUE(seen) << seen.error().what;
    EXPECT_NE(status_, 0) << to_string(mechanism);
    EXPECT_TRUE(seen->is_full);
  }
}

}  // namespace
}  // namespace vramfit::isolate
