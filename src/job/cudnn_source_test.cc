#include "job/cudnn_source.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace vramfit::job {
namespace {

namespace fs = std::filesystem;

class CudnnSourceTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(library_.parent_path());
    std::ofstream(library_) << "not a real one";
  }
  void TearDown() override { fs::remove_all(site_); }

  const fs::path site_ = fs::path(testing::TempDir()) / ("cudnn-source-" + std::to_string(getpid()));
  const fs::path library_ = site_ / "nvidia" / "cudnn" / "lib" / "libcudnn_graph.so.9";
  const base::Environment environment_ = {{"VRAMFIT_CACHE", (site_ / "cache").string()}};
  Interpreter interpreter_{.torch_folder = site_ / "torch"};
};

TEST_F(CudnnSourceTest, the_one_beside_torch_is_asked_and_its_answers_are_kept_in_the_cache) {
  const auto found = find_cudnn("auto", interpreter_, environment_);
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->folder, library_.parent_path());
  EXPECT_EQ((*found)->answers, site_ / "cache" / "cudnn-answers");
}

TEST_F(CudnnSourceTest, nobody_is_asked_where_torch_has_none_or_none_is_wanted) {
  EXPECT_EQ(find_cudnn("zero", interpreter_, environment_).value(), std::nullopt);
  interpreter_.torch_folder = site_ / "elsewhere" / "torch";
  EXPECT_EQ(find_cudnn("auto", interpreter_, environment_).value(), std::nullopt);
  EXPECT_EQ(find_cudnn("auto", Interpreter{}, environment_).value(), std::nullopt);
}

TEST_F(CudnnSourceTest, a_folder_without_the_library_is_an_error_that_names_it) {
  const auto found = find_cudnn((site_ / "torch").string(), interpreter_, environment_);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().where, (site_ / "torch").string());
  EXPECT_TRUE(find_cudnn(library_.parent_path().string(), interpreter_, environment_).value().has_value());
}

}  // namespace
}  // namespace vramfit::job
