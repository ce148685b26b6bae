#include "job/file_layer.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

namespace vramfit::job {
namespace {

namespace fs = std::filesystem;

class FileLayerTest : public ::testing::Test {
 protected:
  FileLayerTest() {
    std::string name = (std::filesystem::temp_directory_path() / "vramfit-file-layer.XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~FileLayerTest() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  base::Result<FileLayer> open(const base::Environment& environment = {}) {
    return FileLayer::open(request_, {folder_, {}, {}}, environment);
  }

  fs::path folder_;
  RunRequest request_;
};

TEST_F(FileLayerTest, a_job_on_a_real_card_has_none_and_nothing_is_said_of_it) {
  request_.real = true;
  auto layer = open();
  ASSERT_TRUE(layer);
  EXPECT_FALSE(layer->entry());
  EXPECT_EQ(layer->spec(), "");
  std::vector<model::Remark> warnings;
  EXPECT_FALSE(layer->finish(warnings));
}

TEST_F(FileLayerTest, shared_files_and_the_network_leave_nothing_to_enter_and_are_told) {
  request_.files = {false, true, {}};
  auto layer = open();
  ASSERT_TRUE(layer);
  EXPECT_FALSE(layer->entry());
  std::vector<model::Remark> warnings;
  const auto files = layer->finish(warnings);
  ASSERT_TRUE(files);
  EXPECT_FALSE(files->is_private);
  EXPECT_TRUE(files->network);
}

TEST_F(FileLayerTest, what_is_no_mechanism_and_no_size_is_refused) {
  EXPECT_EQ(open({{"VRAMFIT_LAYER_KIND", "magic"}}).error().where, "VRAMFIT_LAYER_KIND");
  EXPECT_EQ(open({{"VRAMFIT_LAYER_LIMIT", "much"}}).error().where, "VRAMFIT_LAYER_LIMIT");
}

TEST_F(FileLayerTest, a_folder_for_reports_that_stays_empty_is_not_left) {
  const fs::path reports = folder_ / "reports";
  {
    const auto layer = open({{"VRAMFIT_ON_OOM", "report"}, {"VRAMFIT_ON_OOM_DIR", reports.string()}});
    if (!layer) GTEST_SKIP() << "this machine gives no layer";
    EXPECT_TRUE(fs::exists(reports));
    EXPECT_NE(layer->spec().find(reports.string()), std::string::npos) << "it is the real one for the job";
  }
  EXPECT_FALSE(fs::exists(reports));
}

TEST(RemedyForLayer, names_the_option_that_helps) {
  model::FilesResult files;
  files.is_private = true;
  const auto remedy = [&](std::string type, std::string message) {
    model::ScriptError error;
    error.type = std::move(type);
    error.message = std::move(message);
    return remedy_for_layer(error, files);
  };
  EXPECT_NE(remedy("OSError", "[Errno 101] Network is unreachable").find("--network"), std::string::npos);
  EXPECT_NE(remedy("OfflineModeIsEnabled", "Cannot reach https://huggingface.co").find("--network"), std::string::npos);
  EXPECT_NE(remedy("OSError", "[Errno 28] No space left on device").find("VRAMFIT_LAYER_LIMIT"), std::string::npos);
  EXPECT_EQ(remedy("ValueError", "no such column"), "");
  files.network = true;
  EXPECT_EQ(remedy("OSError", "[Errno 101] Network is unreachable"), "");
}

}  // namespace
}  // namespace vramfit::job
