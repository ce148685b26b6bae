#include "doctor/ranks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "doctor/diagnose.h"

namespace vramfit::doctor {
namespace {

model::PrintedBytes gib(double count) {
  const auto bytes = [](double value) { return Bytes(static_cast<std::int64_t>(value * (1 << 30))); };
  return {bytes(count), bytes(count - 0.005), bytes(count + 0.005)};
}

// A message of GPU 0, of 24 GiB, with no rank in it, below these words.
Case rank_case(const std::string& words, const std::vector<double>& others, std::int64_t repeated = 1) {
  model::OomMessage oom;
  oom.at = {"job.log", 9, "CUDA out of memory"};
  oom.form = others.empty() ? model::OomForm::kReservedTotal : model::OomForm::kProcessesHint;
  oom.device = model::OomDevice::kCuda;
  oom.gpu = 0;
  oom.tried = gib(1);
  oom.total = gib(23.64);
  oom.free = gib(0.1);
  oom.allocated = gib(5.2);
  oom.repeated = repeated;
  auto& sums = oom.arithmetic;
  sums.tensor = oom.tried;
  sums.live = oom.allocated;
  sums.idle = gib(0.2);
  sums.reserved = gib(5.4);
  sums.outside = *oom.total - *oom.free - *sums.reserved;
  if (!others.empty()) {
    sums.own_process = gib(5.9);
    sums.others = *oom.total - *oom.free - *sums.own_process;
  }
  for (const double size : others)
    oom.processes.push_back({4100 + static_cast<std::int64_t>(oom.processes.size()), gib(size)});
  model::TextFile file;
  file.name = "job.log";
  file.sample = words + "\nCUDA out of memory\n";
  Case given;
  given.texts.files = {file};
  given.texts.ooms = {oom};
  return given;
}

bool advises_to_kill(const model::Diagnosis& diagnosis) {
  return std::ranges::any_of(diagnosis.findings, [](const model::Finding& finding) {
    return std::ranges::any_of(finding.fixes, [](const model::Fix& fix) { return fix.command.contains("kill "); });
  });
}

TEST(Ranks, of_a_launchers_job_that_print_no_rank_are_not_somebody_elses) {
  const char* const kLaunched[] = {
      "+ torchrun --nproc_per_node=4 train.py", "accelerate launch train.py",
      "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 0",
      "-- Process 2 terminated with the following error:",
      "mpirun detected that one or more processes exited with non-zero status, thus causing"};
  for (const char* words : kLaunched) {
    for (const Case& given : {rank_case(words, {5.8, 5.8, 5.9}), rank_case(words, {}, 2)}) {
      const model::Diagnosis diagnosis = diagnose(given);
      EXPECT_EQ(diagnosis.findings.front().label, "wrong_device") << words;
      EXPECT_GE(diagnosis.findings.front().confidence, 0.8) << words;
      EXPECT_FALSE(advises_to_kill(diagnosis)) << words;
    }
  }
}

TEST(Ranks, that_slurm_or_mpi_started_are_known_by_what_counts_them) {
  const char* const kStarted[] = {"SLURM_PROCID=3",
                                  "SLURM_NTASKS: 4",
                                  "#SBATCH --ntasks-per-node=4",
                                  "+ srun -N 1 -n 4 python train.py",
                                  "mpirun -np 2 python train.py",
                                  "Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/4",
                                  "hello from rank 0 of 4",
                                  "world_size: 4",
                                  "srun: error: node1: task 2: Exited with exit code 1",
                                  "0: loading\n1: loading\n0: step 1\n1: step 1"};
  for (const char* words : kStarted) {
    const model::Diagnosis diagnosis = diagnose(rank_case(words, {5.8, 5.8, 5.9}));
    EXPECT_EQ(diagnosis.findings.front().label, "wrong_device") << words;
    EXPECT_GE(diagnosis.findings.front().confidence, 0.8) << words;
    EXPECT_FALSE(advises_to_kill(diagnosis)) << words;
  }
}

TEST(Ranks, that_the_text_itself_names_are_never_somebody_elses) {
  for (const char* words : {"[INFO] [launch.py:256:main] process 4100 spawned with command: ['python', 'train.py']",
                            "[INFO] [launch.py:319:sigkill_handler] Killing subprocess 4100",
                            "WARNING api.py: Sending process 4100 closing signal SIGTERM",
                            "failed (exitcode: 1) local_rank: 1 (pid: 4100) of binary: python"}) {
    const model::Diagnosis diagnosis = diagnose(rank_case(words, {11.1}));
    EXPECT_EQ(diagnosis.findings.front().label, "wrong_device") << words;
    EXPECT_FALSE(advises_to_kill(diagnosis)) << words;
  }
  for (const char* words : {"Killing subprocess 41001", "process 4100 of my colleague", "step 4100 spawned"})
    EXPECT_EQ(diagnose(rank_case(words, {11.1})).findings.front().label, "other_process") << words;
}

TEST(Ranks, of_which_the_launcher_names_one_that_failed_on_the_first_card) {
  const auto first_of = [](const std::string& words) { return diagnose(rank_case(words, {})).findings.front().label; };
  const std::string failed = "Command '['python', '-u', 'train.py', '--local_rank=";
  EXPECT_EQ(first_of(failed + "3']' returned non-zero exit status 1."), "wrong_device");
  EXPECT_EQ(first_of(failed + "0']' returned non-zero exit status 1."), "other_process");
  EXPECT_EQ(first_of("CUDA_VISIBLE_DEVICES=3\n" + failed + "3']' returned non-zero exit status 1."), "other_process");
}

TEST(Ranks, of_slurm_are_told_its_own_variable) {
  const auto told = [](const std::string& words) {
    const model::Diagnosis diagnosis = diagnose(rank_case(words, {5.8, 5.8}));
    std::string commands;
    for (const model::Fix& fix : diagnosis.findings.front().fixes) commands += fix.command + "\n";
    return commands;
  };
  EXPECT_TRUE(told("SLURM_PROCID=1").contains("SLURM_LOCALID"));
  EXPECT_TRUE(told("SLURM_PROCID=1").contains("--gpus-per-task=1"));
  EXPECT_TRUE(told("torchrun --nproc_per_node=3 train.py").contains("\"LOCAL_RANK\""));
}

TEST(Ranks, whose_messages_name_each_other_need_no_launcher) {
  Case given = rank_case("python train.py", {17.4});
  model::OomMessage second = given.texts.ooms[0];
  second.at.line = 20;
  second.arithmetic.own_process = gib(17.4);
  second.processes = {{4200, gib(5.9)}};
  given.texts.ooms.push_back(second);
  const model::Diagnosis diagnosis = diagnose(given);
  EXPECT_EQ(diagnosis.findings.front().label, "wrong_device");
  EXPECT_FALSE(advises_to_kill(diagnosis));
  // The same process, that failed again beside the same stranger
  given.texts.ooms[1] = given.texts.ooms[0];
  given.texts.ooms[1].at.line = 20;
  EXPECT_EQ(diagnose(given).findings.front().label, "other_process");
}

TEST(Ranks, are_not_supposed_without_a_launcher_or_beside_a_larger_process) {
  const auto is_others = [](const Case& given) {
    const model::Diagnosis diagnosis = diagnose(given);
    return diagnosis.findings.front().label == "other_process" && advises_to_kill(diagnosis);
  };
  EXPECT_TRUE(is_others(rank_case("python train.py", {5.8, 5.8, 5.9})));
  EXPECT_TRUE(is_others(rank_case("torchrun --nproc_per_node=1 train.py", {5.8, 5.8, 5.9})));
  EXPECT_TRUE(is_others(rank_case("LOCAL_RANK: 0 - CUDA_VISIBLE_DEVICES: [0]", {5.8, 5.8, 5.9})));
  for (const char* words :
       {"srun python train.py", "SLURM_NTASKS=1", "SLURM_PROCID=0", "srun: error: node1: task 0: Exited", "MEMBER: 1/1",
        "world_size=1", "1: prepare\n2: train\n3: test"}) {
    EXPECT_TRUE(is_others(rank_case(words, {5.8, 5.8, 5.9}))) << words;
  }
  EXPECT_TRUE(is_others(rank_case("torchrun --nproc_per_node=4 train.py", {17.5})));
  EXPECT_TRUE(is_others(rank_case("torchrun --nproc_per_node=4 train.py", {})));
}

}  // namespace
}  // namespace vramfit::doctor
