#include "ingest/text/host_kill.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ingest/text/printed_size.h"
#include "ingest/text/read_text.h"

namespace vramfit::ingest {
namespace {

using model::HostKill;
using model::HostKillKind;

std::vector<HostKill> all(std::string_view text) { return parse_text_evidence(text, "log").host_kills; }

TEST(HostKill, shells_say_it_in_their_ways) {
  for (const std::string_view text :
       {"Killed\n", "Killed: 9", "zsh: killed     python train.py", "[1]+  Killed                  python train.py",
        "[1]    4242 killed     python train.py", "./run.sh: line 5:  4242 Killed                  python train.py",
        "./run.sh: line 3:  4112 Killed: 9               python train.py",
        " 50%|##   | 1/2 [00:10<00:10, 10.1s/it]Killed", "已杀死", "Getötet"}) {
    const auto kills = all(text);
    ASSERT_EQ(kills.size(), 1u) << text;
    EXPECT_EQ(kills[0].kind, HostKillKind::kShell) << text;
    EXPECT_EQ(kills[0].signal, 9);
  }
  EXPECT_EQ(all("./run.sh: line 5:  4242 Killed                  python train.py").at(0).pid, 4242);
}

TEST(HostKill, other_uses_of_the_word_are_none) {
  for (const std::string_view text :
       {"Job was killed by the user", "Killed in action: 3 units", "I killed the process, then it ran",
        "Sending process 3274844 closing signal SIGTERM",
        "Unable to shutdown process 3 via 15, forcefully exiting via signal 9", "step 137 loss 0.5", "exit code 1",
        "\"OOMKilled\": false,", "DataLoader worker (pid 7) is killed by signal: Terminated."}) {
    EXPECT_TRUE(all(text).empty()) << text;
  }
}

TEST(HostKill, of_earlyoom_is_told_with_whom_it_ends) {
  EXPECT_EQ(all("earlyoom: mem avail:  1211 of 64221 MiB ( 1.89%), swap free:    0 of 2047 MiB ( 0.00%)\n"
                "sending SIGTERM to process 991 uid 1000 \"python\": badness 1102, VmRSS 55001 MiB\n")
                .size(),
            1u);
}

TEST(HostKill, exit_status_137_and_minus_9) {
  for (const std::string_view text :
       {"Process finished with exit code 137 (interrupted by signal 9: SIGKILL)", "exits with return code = -9",
        "command terminated with exit code 137", "      Exit Code:    137", "container exited with code 137",
        "exit_code: 137, reason: Error", "{\"exit_code\": 137}", "{\"exitCode\":137,\"reason\":\"Error\"}",
        "subprocess.CalledProcessError: Command died with <Signals.SIGKILL: 9>.",
        "Error: llama runner process has terminated: signal: killed",  // Go's os/exec
        "torch.multiprocessing.spawn.ProcessExitedException: process 0 terminated with signal SIGKILL"}) {
    const auto kills = all(text);
    ASSERT_EQ(kills.size(), 1u) << text;
    EXPECT_EQ(kills[0].kind, HostKillKind::kExitStatus) << text;
  }
}

TEST(HostKill, of_the_kernel_has_the_process_and_its_memory) {
  const auto kills = all(
      "[12345.678901] Out of memory: Killed process 4242 (python3) total-vm:31244124kB, anon-rss:29384756kB, "
      "file-rss:1234kB, shmem-rss:16kB, UID:1000 pgtables:60000kB oom_score_adj:0\n"
      "Nov 21 10:02:05 node7 kernel: Memory cgroup out of memory: Killed process 123 (pt_main_thread) total-vm:9000kB, "
      "anon-rss:8000kB, file-rss:0kB\n"
      "Nov 21 10:02:05 node7 kernel: oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=a,mems_allowed=0,"
      "oom_memcg=/docker/abc,task_memcg=/docker/abc,task=python,pid=123,uid=0\n"
      "[55.123456] memory: usage 1048576kB, limit 1048576kB, failcnt 40\n");
  ASSERT_EQ(kills.size(), 4u);
  EXPECT_EQ(kills[0].kind, HostKillKind::kKernel);
  EXPECT_EQ(kills[0].pid, 4242);
  EXPECT_EQ(kills[0].process, "python3");
  EXPECT_EQ(kills[0].anon_rss, model::exactly(base::Bytes(29384756 * kKib)));
  EXPECT_EQ(kills[0].shmem_rss, model::exactly(base::Bytes(16 * kKib)));
  EXPECT_EQ(kills[1].kind, HostKillKind::kCgroup);
  EXPECT_EQ(kills[1].shmem_rss, std::nullopt);
  EXPECT_EQ(kills[2].cgroup, "/docker/abc");
  EXPECT_EQ(kills[2].process, "python");
  EXPECT_EQ(kills[3].limit, model::exactly(base::Bytes::gib(1)));
}

TEST(HostKill, counters_of_a_cgroup_stand_on_lines_of_their_own) {
  const auto kills = all("low 0\nhigh 0\nmax 120\noom 5\noom_kill 3\n");
  ASSERT_EQ(kills.size(), 1u);
  EXPECT_EQ(kills[0].counters.at("oom_kill"), 3);
  EXPECT_EQ(kills[0].counters.at("max"), 120);
}

TEST(HostKill, of_schedulers_containers_and_workers) {
  const auto kind = [](std::string_view text) { return all(text).at(0).kind; };
  EXPECT_EQ(
      kind("slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of the step tasks have been OOM Killed."),
      HostKillKind::kScheduler);
  EXPECT_EQ(kind("srun: error: node1: task 0: Out Of Memory"), HostKillKind::kScheduler);
  EXPECT_EQ(kind("      Reason:       OOMKilled"), HostKillKind::kContainer);
  EXPECT_EQ(kind("RuntimeError: DataLoader worker (pid 7) is killed by signal: Killed. "), HostKillKind::kDataWorker);
  EXPECT_EQ(kind("RuntimeError: DataLoader worker is killed by signal: Killed."), HostKillKind::kDataWorker);
  EXPECT_EQ(kind("systemd[1]: app.service: A process of this unit has been killed by the OOM killer."),
            HostKillKind::kDaemon);
  EXPECT_EQ(kind("MemoryError"), HostKillKind::kAllocation);
  const auto job = all("slurmstepd: error: Job 1 exceeded memory limit (8400000 > 8388608), being killed").at(0);
  EXPECT_EQ(job.limit, model::exactly(base::Bytes::gib(8)));
  EXPECT_TRUE(all("MemoryError: std::bad_alloc: RMM_ERROR_OUT_OF_MEMORY").empty());
  EXPECT_TRUE(all("MemoryError: std::bad_alloc: out_of_memory: CUDA error at: rmm.hpp:70").empty())
      << "that is the card's";
  EXPECT_TRUE(all("MemoryError: std::bad_alloc: CUDA error at: cuda_memory_resource.hpp:68\nMemoryError:\n").empty())
      << "and so is the name alone behind it";
  EXPECT_EQ(all("MemoryError:\n").size(), 1u);
  const auto of_opencv = [](std::string_view bytes) {
    return all(
        fmt::format("cv2.error: OpenCV(4.8.0) alloc.cpp:73: error: (-4:Insufficient memory) Failed to allocate "
                    "{} bytes in function 'OutOfMemoryError'",
                    bytes));
  };
  EXPECT_EQ(of_opencv("1228800").at(0).usage, model::exactly(base::Bytes(1228800)));
  EXPECT_TRUE(of_opencv("712956604754240").empty()) << "no machine has that: it was computed wrongly";
}

TEST(HostKill, of_a_bound_that_was_exceeded_is_not_told_of_cards) {
  for (const char* text :
       {"Container killed by YARN for exceeding memory limits. 11.2 GB of 11 GB used", "Memory limit exceeded (16Gi)",
        "Memory limit of 512 MiB exceeded with 520 MiB used", "the job exceeded its memory quota"}) {
    EXPECT_EQ(all(text).size(), 1u) << text;
  }
  for (const char* text :
       {"RuntimeError: job exceeded the memory limit of GPU 0", "if the job exceeds its memory limit it ends",
        "task exceeded its time limit; memory 3 GB", "MemoryError: Failed to allocate memory on GPU"}) {
    EXPECT_TRUE(all(text).empty()) << text;
  }
}

}  // namespace
}  // namespace vramfit::ingest
