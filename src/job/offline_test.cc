#include "job/offline.h"

#include <gtest/gtest.h>

namespace vramfit::job {
namespace {

TEST(Offline, services_stay_offline_whatever_the_user_had_set) {
  base::Environment environment = {{"WANDB_MODE", "online"}, {"KEEP", "1"}};
  go_offline(environment);
  EXPECT_EQ(environment.at("WANDB_MODE"), "offline");
  EXPECT_EQ(environment.at("HF_HUB_OFFLINE"), "1");
  EXPECT_EQ(environment.at("NEPTUNE_MODE"), "offline");
  EXPECT_EQ(environment.at("CLEARML_OFFLINE_MODE"), "1");
  EXPECT_EQ(environment.at("SWANLAB_MODE"), "offline");
  EXPECT_EQ(environment.at("KEEP"), "1");
}

TEST(Offline, mlflow_keeps_its_own_folder_and_loses_a_server) {
  base::Environment server = {{"MLFLOW_TRACKING_URI", "https://tracking.example"}};
  go_offline(server);
  EXPECT_FALSE(server.contains("MLFLOW_TRACKING_URI"));
  for (const char* own : {"file:///home/me/runs", "sqlite:///runs.db", "/home/me/runs"}) {
    base::Environment folder = {{"MLFLOW_TRACKING_URI", own}};
    go_offline(folder);
    EXPECT_EQ(folder.at("MLFLOW_TRACKING_URI"), own);
  }
}

}  // namespace
}  // namespace vramfit::job
