#include "probe/proc_text.h"

#include <gtest/gtest.h>

namespace vramfit::probe {
namespace {

using namespace std::string_literals;

TEST(ProcText, a_name_may_hold_spaces_and_parentheses) {
  const std::string line =
      "4242 (a) b (c)) Z 17 4242 4242 0 -1 4194560 1 0 0 0 5 3 0 0 20 0 1 0 987654 1000 250 18446744073709551615 1 1";
  const auto stat = parse_stat(line);
  ASSERT_TRUE(stat);
  EXPECT_EQ(*stat,
            (Stat{.name = "a) b (c)", .state = 'Z', .parent = 17, .started_ticks = 987654, .resident_pages = 250}));
  EXPECT_FALSE(parse_stat("4242 (cut off) R 17"));
  EXPECT_FALSE(parse_stat(""));
}

TEST(ProcText, amounts_are_bytes_and_names_are_whole) {
  const std::string text = "VmLck:\t       8 kB\nVmPin:\t  0 kB\nShmem:   12 kB\nThreads:\t3\n";
  EXPECT_EQ(find_amount(text, "VmLck"), 8192);
  EXPECT_EQ(find_amount(text, "VmPin"), 0);
  EXPECT_EQ(find_amount(text, "Threads"), 3);
  EXPECT_EQ(find_amount(text, "Vm"), std::nullopt);
  EXPECT_EQ(find_amount(text, "Swap"), std::nullopt);
}

TEST(ProcText, a_command_is_one_printable_line) {
  EXPECT_EQ(parse_command("python\0train.py\0--name\0a\nb\033[2J\0"s), "python train.py --name a?b?[2J");
}

TEST(ProcText, containers_jobs_and_pods_are_found_in_cgroups_of_both_versions) {
  const std::string id(64, 'a');
  EXPECT_EQ(parse_belonging("0::/system.slice/docker-" + id + ".scope\n").container, "aaaaaaaaaaaa");
  EXPECT_EQ(parse_belonging("9:memory:/docker/" + id + "\n8:cpu:/\n").container, "aaaaaaaaaaaa");
  EXPECT_EQ(parse_belonging("0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0\n").slurm_job, "4711");
  EXPECT_EQ(parse_belonging("4:memory:/slurm/uid_1000/job_12/step_batch\n").slurm_job, "12");
  const Belonging pod = parse_belonging(
      "0::/kubepods.slice/kubepods-burstable.slice/"
      "kubepods-burstable-pod1b4e28ba_2fa1_11d2_883f_0016d3cca427.slice/cri-containerd-" +
      id + ".scope\n");
  EXPECT_EQ(pod.kubernetes_pod, "1b4e28ba-2fa1-11d2-883f-0016d3cca427");
  EXPECT_EQ(pod.container, "aaaaaaaaaaaa");
  EXPECT_EQ(parse_belonging("0::/user.slice/user-0.slice\n"), Belonging());
}

TEST(ProcText, the_memory_group_of_version_one_goes_before_an_empty_one_of_version_two) {
  EXPECT_EQ(parse_memory_group("4:memory:/a/b\n0::/\n"), (MemoryGroup{false, "/a/b"}));
  EXPECT_EQ(parse_memory_group("0::/x\n"), (MemoryGroup{true, "/x"}));
  EXPECT_EQ(parse_memory_group(""), std::nullopt);
}

TEST(ProcText, ranks_come_from_any_launcher) {
  EXPECT_EQ(find_rank("A=1\0RANK=3\0WORLD_SIZE=8\0"s), (Rank{"3", "8"}));
  EXPECT_EQ(find_rank("SLURM_PROCID=1\0SLURM_NTASKS=2\0"s), (Rank{"1", "2"}));
  EXPECT_EQ(find_rank("LOCAL_RANK=1\0XRANK=2\0"s), Rank());
}

}  // namespace
}  // namespace vramfit::probe
