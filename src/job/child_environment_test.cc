#include "job/child_environment.h"

#include <gtest/gtest.h>

namespace vramfit::job {
namespace {

const Installation kInstallation{"/opt/vf"};

TEST(ChildEnvironment, ours_come_first_and_the_users_stay) {
  RunRequest request;
  request.steps = "3";
  const auto environment = child_environment(
      {{"LD_PRELOAD", "/usr/lib/theirs.so"},
       {"PYTHONPATH", "/home/x"},
       {"KEEP", "1"},
       {"PATH", "/usr/bin"},
       {"VRAMFIT_PLAN", "/old"}},
      kInstallation, request, {"/dev/shm/ledger", "/run/folder", 13, CudnnSource{"/cudnn/lib", "/cache/answers"}});
  EXPECT_EQ(environment.at("LD_PRELOAD"),
            "/opt/vf/lib/cu13/libvramfit_preload.so:/opt/vf/lib/libvramfit_recorder.so:/usr/lib/theirs.so");
  EXPECT_EQ(environment.at("PYTHONPATH"), "/opt/vf/python/vramfit/hook:/opt/vf/python:/home/x");
  EXPECT_EQ(environment.at("VRAMFIT_HOOKS"), "/opt/vf/python/vramfit/hook:/opt/vf/python");
  EXPECT_EQ(environment.at("LD_LIBRARY_PATH"), "/opt/vf/lib/cu13");
  EXPECT_EQ(environment.at("VRAMFIT_PRELOAD"),
            "/opt/vf/lib/cu13/libvramfit_preload.so:/opt/vf/lib/libvramfit_recorder.so");
  EXPECT_EQ(environment.at("VRAMFIT_LIBRARIES"), "/opt/vf/lib/cu13");
  EXPECT_EQ(environment.at("LIBRARY_PATH"), "/opt/vf/lib/cu13");
  EXPECT_EQ(environment.at("PATH"), "/opt/vf/lib/commands:/usr/bin");
  EXPECT_EQ(environment.at("VRAMFIT_LEDGER"), "/dev/shm/ledger");
  EXPECT_EQ(environment.at("VRAMFIT_RUN_DIR"), "/run/folder");
  EXPECT_EQ(environment.at("VRAMFIT_STEPS"), "3");
  EXPECT_EQ(environment.at("VRAMFIT_VALUES"), "zeros");
  EXPECT_EQ(environment.at("OMP_WAIT_POLICY"), "PASSIVE");
  EXPECT_EQ(environment.at("THP_MEM_ALLOC_ENABLE"), "1");
  EXPECT_EQ(environment.at("VRAMFIT_CUDNN_LIBRARY"), "/cudnn/lib");
  EXPECT_EQ(environment.at("VRAMFIT_CUDNN_CACHE"), "/cache/answers");
  EXPECT_EQ(environment.at("KEEP"), "1");
  EXPECT_EQ(environment.at("WANDB_MODE"), "offline");
  EXPECT_EQ(environment.at("VRAMFIT_NETWORK"), "off");
  EXPECT_FALSE(environment.contains("VRAMFIT_LAYER"));
  EXPECT_FALSE(environment.contains("VRAMFIT_PLAN")) << "a plan of an outer run is not this one's";
}

TEST(ChildEnvironment, obstacles_are_looked_for_where_no_plan_is_applied) {
  RunRequest request;
  EXPECT_FALSE(child_environment({{"VRAMFIT_OBSTACLES", "1"}}, kInstallation, request, {"", "/run", 13, {}})
                   .contains("VRAMFIT_OBSTACLES"));
  request.obstacles = true;
  EXPECT_EQ(child_environment({}, kInstallation, request, {"", "/run", 13, {}}).at("VRAMFIT_OBSTACLES"), "1");
  request.plan = "plan.json";
  EXPECT_FALSE(child_environment({}, kInstallation, request, {"", "/run", 13, {}}).contains("VRAMFIT_OBSTACLES"));
}

TEST(ChildEnvironment, lines_are_told_of_what_somebody_reads) {
  RunRequest request;
  EXPECT_EQ(child_environment({}, kInstallation, request, {}).at("VRAMFIT_COVERAGE"), "1");
  request.tells_lines = false;
  EXPECT_EQ(child_environment({}, kInstallation, request, {}).at("VRAMFIT_COVERAGE"), "seen");
  request.steps = model::asked::kStepsQuick;
  request.plan = "plan.json";
  EXPECT_FALSE(child_environment({{"VRAMFIT_COVERAGE", "1"}}, kInstallation, request, {}).contains("VRAMFIT_COVERAGE"));
}

TEST(ChildEnvironment, a_comparison_says_in_full_what_it_wants_to_see) {
  RunRequest request;
  EXPECT_FALSE(child_environment({{"VRAMFIT_VERIFY", "{}"}}, kInstallation, request, {}).contains("VRAMFIT_VERIFY"));
  request.first_steps = {.steps = 4, .samples = 8, .group = 2, .outputs = 3, .tokens = 16, .side = 128, .seconds = 20};
  EXPECT_EQ(child_environment({}, kInstallation, request, {}).at("VRAMFIT_VERIFY"),
            R"({"group":2,"outputs":3,"parts":0,"samples":8,"seconds":20.0,"side":128,"steps":4,"tokens":16})");
}

TEST(ChildEnvironment, a_real_card_gets_the_recorder_only) {
  RunRequest request;
  request.real = true;
  request.plan = "plan.json";
  const auto environment = child_environment({}, kInstallation, request, {"", "/run/folder", 12, {}});
  EXPECT_EQ(environment.at("LD_PRELOAD"), "/opt/vf/lib/libvramfit_recorder.so");
  EXPECT_EQ(environment.at("VRAMFIT_REAL"), "1");
  EXPECT_EQ(environment.at("VRAMFIT_ON_OOM"), "doctor");
  const auto wished =
      child_environment({{"VRAMFIT_ON_OOM", "report"}}, kInstallation, request, {"", "/run/folder", 12, {}});
  EXPECT_EQ(wished.at("VRAMFIT_ON_OOM"), "report");
  EXPECT_FALSE(environment.contains("VRAMFIT_LEDGER"));
  EXPECT_FALSE(environment.contains("VRAMFIT_PRELOAD"));
  EXPECT_FALSE(environment.contains("LD_LIBRARY_PATH"));
  EXPECT_FALSE(environment.contains("LIBRARY_PATH"));
  EXPECT_TRUE(std::filesystem::path(environment.at("VRAMFIT_PLAN")).is_absolute());
}

TEST(ChildEnvironment, the_pages_of_batches_are_as_the_user_said_and_as_ever_beside_a_real_card) {
  const ChildPlaces places{"/dev/shm/ledger", "/run/folder", 13, {}};
  EXPECT_EQ(child_environment({{"THP_MEM_ALLOC_ENABLE", "0"}}, kInstallation, {}, places).at("THP_MEM_ALLOC_ENABLE"),
            "0");
  RunRequest real;
  real.real = true;
  EXPECT_FALSE(child_environment({}, kInstallation, real, places).contains("THP_MEM_ALLOC_ENABLE"));
}

TEST(ChildEnvironment, how_threads_wait_is_left_alone_where_they_compute_or_the_user_said) {
  const ChildPlaces places{"/dev/shm/ledger", "/run/folder", 13, {}};
  const auto wished = child_environment({{"OMP_WAIT_POLICY", "ACTIVE"}}, kInstallation, {}, places);
  EXPECT_EQ(wished.at("OMP_WAIT_POLICY"), "ACTIVE");
  RunRequest computing, real;
  computing.values = Values::kCpu;
  real.real = true;
  EXPECT_FALSE(child_environment({}, kInstallation, computing, places).contains("OMP_WAIT_POLICY"));
  EXPECT_FALSE(child_environment({}, kInstallation, real, places).contains("OMP_WAIT_POLICY"));
}

TEST(ChildEnvironment, a_missing_part_is_named) {
  const auto parts = check_parts(kInstallation, false, 12);
  ASSERT_FALSE(parts);
  EXPECT_EQ(parts.error().where, "/opt/vf/lib/libvramfit_recorder.so");
}

}  // namespace
}  // namespace vramfit::job
