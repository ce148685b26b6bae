#include "probe/process_table.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "probe/host.h"
#include "probe/machine_probe.h"

namespace vramfit::probe {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

// A /proc of plain files.
class ProcessTableTest : public ::testing::Test {
 protected:
  void SetUp() override {
    proc_ = fs::path(::testing::TempDir()) / ("proc." + std::to_string(::getpid()));
    fs::remove_all(proc_);
    write("stat", "cpu 1\nbtime 1700000000\n");
  }
  void TearDown() override { fs::remove_all(proc_); }
  void write(const fs::path& name, const std::string& text) {
    fs::create_directories((proc_ / name).parent_path());
    std::ofstream(proc_ / name) << text;
  }
  void add(const std::string& pid, const std::string& state, int started) {
    write(pid + "/stat", pid + " (python) " + state + " 7 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 " +
                             std::to_string(started) + " 1000 3 0 0\n");
    write(pid + "/status", "VmLck:\t4 kB\nVmPin:\t8 kB\n");
    write(pid + "/cmdline", "python\0train.py\0"s);
    write(pid + "/environ", "RANK=1\0WORLD_SIZE=2\0VRAMFIT_RUN_DIR=/run\0CUDA_VISIBLE_DEVICES=1\0"s);
    write(pid + "/cgroup", "0::/job_9/step_0\n");
  }
  fs::path proc_;
};

TEST_F(ProcessTableTest, tells_what_proc_tells) {
  add("7", "S", 10);
  add("42", "S", 500);
  ProcessTable table(proc_, 1);
  const KnownProcess& known = table.look(42, 100);
  EXPECT_EQ(known.reading.command, "python train.py");
  EXPECT_EQ(known.reading.rank, "1");
  EXPECT_EQ(known.reading.slurm_job, "9");
  EXPECT_EQ(known.reading.parent, 7);
  EXPECT_EQ(known.reading.parent_name, "python");
  EXPECT_EQ(known.reading.locked_bytes, model::Reading(12288));
  EXPECT_EQ(known.reading.started_unix_seconds, model::Reading(1700000000 + 500 / ::sysconf(_SC_CLK_TCK)));
  EXPECT_EQ(known.run_folder, "/run");
}

TEST_F(ProcessTableTest, a_process_that_is_nowhere_is_unseen_and_a_dead_one_a_zombie) {
  add("42", "Z", 500);
  ProcessTable table(proc_, 1);
  EXPECT_EQ(table.look(42, 100).reading.state, model::ProcessState::kZombie);
  EXPECT_EQ(table.look(43, 100).reading.state, model::ProcessState::kUnseen);
  EXPECT_EQ(table.look(43, 100).reading.pid, 43);
}

TEST_F(ProcessTableTest, a_recycled_pid_is_another_process) {
  add("42", "S", 500);
  ProcessTable table(proc_, 1);
  table.look(42, 100);
  add("42", "S", 900);
  write("42/cmdline", "other\0"s);
  EXPECT_EQ(table.look(42, 200).reading.command, "other");
}

TEST_F(ProcessTableTest, the_real_proc_shows_a_zombie) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t info;
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  ProcessTable table("/proc", 1);
  EXPECT_EQ(table.look(child, 1).reading.state, model::ProcessState::kZombie);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(table.look(child, 2).reading.state, model::ProcessState::kUnseen);
}

TEST_F(ProcessTableTest, a_device_number_follows_what_the_process_may_see) {
  model::CardReading card{.uuid = "GPU-abcdef", .index = 3};
  KnownProcess process;
  EXPECT_EQ(device_number(process, card), 3);
  process.has_visible_cards = true;
  process.visible_cards = "2, 3";
  EXPECT_EQ(device_number(process, card), 1);
  process.visible_cards = "GPU-abc";
  EXPECT_EQ(device_number(process, card), 0);
  process.visible_cards = "";
  EXPECT_EQ(device_number(process, card), -1);
}

TEST_F(ProcessTableTest, the_tightest_limit_of_all_groups_above_holds) {
  write("meminfo",
        "MemTotal: 100 kB\nMemAvailable: 40 kB\nCached: 30 kB\nShmem: 10 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n");
  write("self/cgroup", "0::/job/step\n");
  write("groups/job/memory.max", "4096\n");
  write("groups/job/step/memory.max", "max\n");
  write("groups/job/step/memory.current", "1024\n");
  write("groups/job/step/memory.events", "oom 9\noom_kill 2\n");
  const auto host = read_host({.proc = proc_, .cgroups = proc_ / "groups", .shm = "/nowhere"});
  EXPECT_EQ(host.memory_total_bytes, model::Reading(102400));
  EXPECT_EQ(host.page_cache_bytes, model::Reading(20480));
  EXPECT_EQ(host.swap_used_bytes, model::Reading(0));
  EXPECT_EQ(host.cgroup_limit_bytes, model::Reading(4096));
  EXPECT_EQ(host.cgroup_used_bytes, model::Reading(1024));
  EXPECT_EQ(host.cgroup_oom_kills, model::Reading(2));
  EXPECT_EQ(host.shm_total_bytes, model::Reading(model::Absence::kNotSupported));
  EXPECT_EQ(host.locked_bytes, model::Reading(model::Absence::kNotSupported));
}

TEST_F(ProcessTableTest, version_one_has_other_names_and_its_largest_number_is_no_limit) {
  write("self/cgroup", "4:memory:/box\n");
  write("groups/memory/box/memory.limit_in_bytes", "9223372036854771712\n");
  write("groups/memory/box/memory.usage_in_bytes", "77\n");
  const auto host = read_host({.proc = proc_, .cgroups = proc_ / "groups", .shm = "/nowhere"});
  EXPECT_EQ(host.cgroup_limit_bytes, model::Reading(model::Absence::kNotSupported));
  EXPECT_EQ(host.cgroup_used_bytes, model::Reading(77));
}

}  // namespace
}  // namespace vramfit::probe
