#include "job/environment.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "job/kept_environment.h"
#include "job/missing_module.h"
#include "job/platforms.h"
#include "job/testing/fake_python.h"

namespace vramfit::job {
namespace {

namespace fs = std::filesystem;
using testing::FakeMachine;

model::Card card(const std::string& name, int major, int minor) {
  model::Card card;
  card.name = name;
  card.capability = {major, minor};
  return card;
}

const model::Card kTuring = card("NVIDIA GeForce GTX 1650", 7, 5);
const model::Card kPascal = card("NVIDIA GeForce GTX 1070", 6, 1);

EnvironmentRequest request(const FakeMachine& machine, std::vector<std::string> command) {
  return {std::move(command), {}, {kTuring}, machine.environment()};
}

base::Result<JobEnvironment> choose(const EnvironmentRequest& request) {
  return choose_environment(request, base::silent_progress());
}

TEST(Environment, the_users_own_torch_is_used_as_it_is) {
  FakeMachine machine;
  machine.add_python("bin/python");
  machine.add_torch("torch", "2.12.1+cu130", "'13.0'", "sm_75 sm_80");
  const auto job = choose(request(machine, {"python", "train.py", "--x"}));
  ASSERT_TRUE(job) << base::to_string(job.error());
  EXPECT_FALSE(job->is_kept);
  EXPECT_EQ(job->command, (std::vector<std::string>{(machine.root() / "bin/python").string(), "train.py", "--x"}));
  EXPECT_EQ(job->environment, machine.environment());
  EXPECT_TRUE(job->notes.empty());
  EXPECT_FALSE(fs::exists(machine.root() / "cache/envs/torch-2.12.1"));
}

TEST(Environment, a_program_that_starts_no_python_asks_for_no_torch) {
  FakeMachine machine;
  machine.add_python("bin/python");
  for (const std::vector<std::string>& command : {std::vector<std::string>{"/bin/true"}, {"/bin/sleep", "5"}}) {
    const auto job = choose(request(machine, command));
    ASSERT_TRUE(job) << base::to_string(job.error());
    EXPECT_FALSE(job->is_kept);
    EXPECT_EQ(job->command, command);
    EXPECT_FALSE(fs::exists(machine.root() / "cache/envs"));
    ASSERT_EQ(job->notes.size(), 1u);
    EXPECT_TRUE(job->notes[0].contains("no Python program"));
  }
}

TEST(Environment, a_card_the_users_build_has_no_kernels_for_is_told_with_the_version_that_has) {
  FakeMachine machine;
  machine.add_python("bin/python");
  machine.add_torch("torch", "2.12.1+cu130", "'13.0'", "sm_75 sm_80");
  auto asked = request(machine, {"python", "train.py"});
  asked.cards = {kPascal};
  const auto job = choose(asked);
  ASSERT_TRUE(job);
  ASSERT_EQ(job->notes.size(), 1u);
  EXPECT_EQ(
      job->notes[0],
      "torch 2.12.1+cu130 has no kernels for NVIDIA GeForce GTX 1070 (compute capability 6.1): it fails there as on "
      "the real card; torch 2.6.0 (CUDA 12.4) has them: --torch 2.6.0");
}

TEST(Environment, without_a_torch_one_is_made_once_and_kept_outside) {
  FakeMachine machine;
  machine.add_python("bin/python3");
  const auto job = choose(request(machine, {"python", "train.py"}));
  ASSERT_TRUE(job) << base::to_string(job.error());
  const fs::path kept = machine.root() / "cache/envs/torch-2.12.1";
  EXPECT_TRUE(job->is_kept);
  EXPECT_EQ(job->command[0], (kept / "bin/python").string());
  EXPECT_EQ(job->environment.at("VIRTUAL_ENV"), kept.string());
  EXPECT_TRUE(job->environment.at("PATH").starts_with((kept / "bin").string() + ":"));
  const std::string asked_of_pip = base::read_file(kept / "pip.txt").value_or("");
  EXPECT_NE(asked_of_pip.find("--no-deps"), std::string::npos);
  EXPECT_NE(asked_of_pip.find("torch==2.12.1 torchvision==0.27.1"), std::string::npos);

  ASSERT_TRUE(choose(request(machine, {"python", "train.py"})));
  EXPECT_EQ(base::read_file(kept / "pip.txt").value_or(""), asked_of_pip) << "made a second time";
}

TEST(Environment, a_torch_that_was_fetched_before_is_installed_and_then_thrown_away) {
  FakeMachine machine;
  machine.add_python("bin/python3", "3.11.7");
  const std::string wheel = "cache/fetched/torch-2.12.1-cp311/torch-2.12.1-cp311-cp311-linux_x86_64.whl";
  machine.add_script(wheel, "");
  machine.add_script("cache/fetched/torch-2.12.1-cp39/torch-2.12.1-cp39-cp39-linux_x86_64.whl", "");
  ASSERT_TRUE(choose(request(machine, {"python", "train.py"})));
  const std::string asked = base::read_file(machine.root() / "cache/envs/torch-2.12.1/pip.txt").value_or("");
  EXPECT_NE(asked.find((machine.root() / wheel).string() + " torchvision==0.27.1"), std::string::npos) << asked;
  EXPECT_EQ(asked.find("torch==2.12.1"), std::string::npos);
  EXPECT_FALSE(fs::exists((machine.root() / wheel).parent_path()));
}

TEST(Environment, a_torch_that_was_fetched_for_another_python_stays) {
  FakeMachine machine;
  machine.add_python("bin/python3", "3.11.7");
  const std::string wheel = "cache/fetched/torch-2.12.1-cp312/torch-2.12.1-cp312-cp312-linux_x86_64.whl";
  machine.add_script(wheel, "");
  ASSERT_TRUE(choose(request(machine, {"python", "train.py"})));
  const std::string asked = base::read_file(machine.root() / "cache/envs/torch-2.12.1/pip.txt").value_or("");
  EXPECT_NE(asked.find("torch==2.12.1 torchvision==0.27.1"), std::string::npos) << asked;
  EXPECT_TRUE(fs::exists(machine.root() / wheel));
}

TEST(Environment, a_half_made_environment_is_made_anew) {
  FakeMachine machine;
  machine.add_python("bin/python3");
  const fs::path kept = machine.root() / "cache/envs/torch-2.12.1";
  machine.add_script("cache/envs/torch-2.12.1/bin/python", "#!/bin/sh\nexit 1\n");
  const auto job = choose(request(machine, {"python", "train.py"}));
  ASSERT_TRUE(job) << base::to_string(job.error());
  EXPECT_TRUE(fs::exists(kept / "vramfit.complete"));
}

TEST(Environment, a_failed_install_says_so_and_leaves_nothing_half_made) {
  FakeMachine machine;
  machine.add_python("bin/python3");
  auto asked = request(machine, {"python", "train.py"});
  asked.environment["FAKE_TORCH"] = "none";
  const auto job = choose(asked);
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().what, "installing torch 2.12.1 failed");
  EXPECT_NE(job.error().where.find("no matching distribution"), std::string::npos);
  EXPECT_FALSE(fs::exists(machine.root() / "cache/envs/torch-2.12.1"));
}

TEST(Environment, a_build_without_cuda_from_the_index_is_refused) {
  FakeMachine machine;
  machine.add_python("bin/python3");
  auto asked = request(machine, {"python", "train.py"});
  asked.environment["FAKE_TORCH"] = "2.13.0+cpu";
  asked.torch = "2.13.0";
  const auto job = choose(asked);
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().what, "pip gave a torch without CUDA (2.13.0+cpu)");
  EXPECT_EQ(job.error().remedy, "choose another version: --torch 2.12.1");
}

TEST(Environment, a_build_without_cuda_beside_one_with_it_is_passed_over) {
  FakeMachine machine;
  machine.add_python("bin/python3");
  auto asked = request(machine, {"python", "train.py"});
  asked.environment["FAKE_TORCH"] = "2.13.0+cpu";
  asked.environment["FAKE_EXACT_TORCH"] = "2.13.0+cu130";
  asked.torch = "2.13.0";
  const auto job = choose(asked);
  ASSERT_TRUE(job) << base::to_string(job.error());
  const std::string asked_of_pip = base::read_file(machine.root() / "cache/envs/torch-2.13.0/pip.txt").value_or("");
  EXPECT_NE(asked_of_pip.find("torch===2.13.0 torchvision===0.28.0"), std::string::npos) << asked_of_pip;
}

TEST(Environment, an_older_torch_is_kept_for_a_card_the_newest_does_not_know) {
  FakeMachine machine;
  machine.add_python("bin/python3");
  auto asked = request(machine, {"python", "train.py"});
  asked.cards = {kPascal};
  asked.environment["FAKE_TORCH"] = "2.6.0+cu124";
  const auto job = choose(asked);
  ASSERT_TRUE(job) << base::to_string(job.error());
  EXPECT_EQ(fs::path(job->command[0]).parent_path().parent_path().filename(), "torch-2.6.0");
  ASSERT_EQ(job->notes.size(), 1u);
  EXPECT_EQ(job->notes[0],
            "torch 2.12.1 has no kernels for NVIDIA GeForce GTX 1070 (compute capability 6.1): using torch 2.6.0 (CUDA "
            "12.4), which has");
}

TEST(Environment, the_users_cpu_build_makes_way_for_a_kept_one_and_is_named) {
  FakeMachine machine;
  machine.add_python("bin/python");
  machine.add_torch("torch", "2.12.1+cpu", "None", "");
  const auto job = choose(request(machine, {"python", "train.py"}));
  ASSERT_TRUE(job) << base::to_string(job.error());
  EXPECT_TRUE(job->is_kept);
  ASSERT_EQ(job->notes.size(), 1u);
  EXPECT_NE(job->notes[0].find("is a build without CUDA"), std::string::npos);
}

TEST(Environment, a_python_without_torch_is_not_replaced_in_silence) {
  FakeMachine machine;
  machine.add_python("bin/python3");
  const auto job = choose(request(machine, {"python3", "train.py"}));
  ASSERT_TRUE(job) << base::to_string(job.error());
  EXPECT_TRUE(job->is_kept);
  ASSERT_EQ(job->notes.size(), 1u);
  EXPECT_NE(job->notes[0].find("bin/python3 has no torch: the script runs in vramfit's own environment, with torch"),
            std::string::npos);
}

TEST(Environment, a_version_asked_for_wins_over_the_users_own) {
  FakeMachine machine;
  machine.add_python("bin/python");
  machine.add_torch("torch", "2.12.1+cu130", "'13.0'", "sm_75");
  auto asked = request(machine, {"python", "train.py"});
  asked.torch = "2.6";
  asked.environment["FAKE_TORCH"] = "2.6.0+cu124";
  const auto job = choose(asked);
  ASSERT_TRUE(job) << base::to_string(job.error());
  EXPECT_TRUE(job->is_kept);
  EXPECT_EQ(job->interpreter.torch, "2.6.0+cu124");
}

TEST(Environment, a_python_without_a_wheel_for_the_version_is_refused_with_the_range) {
  FakeMachine machine;
  machine.add_python("bin/python3", "3.14.0");
  auto asked = request(machine, {"python", "train.py"});
  asked.torch = "2.6.0";
  const auto job = choose(asked);
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().what, "torch 2.6.0 needs Python 3.9 to 3.13, and none is on the PATH");
}

TEST(Environment, the_newest_python_of_the_table_is_found_under_its_own_name) {
  FakeMachine machine;
  const int newest = find_pythons()->last;
  machine.add_python(fmt::format("bin/python3.{}", newest), fmt::format("3.{}.0", newest));
  auto asked = request(machine, {"python", "train.py"});
  asked.torch = torch_releases().front().version;
  asked.environment["FAKE_TORCH"] = asked.torch.value() + "+cu130";
  const auto job = choose(asked);
  ASSERT_TRUE(job) << base::to_string(job.error());
  EXPECT_TRUE(job->is_kept);
}

TEST(Environment, a_mistyped_release_of_torch_is_refused_before_anything_is_made) {
  FakeMachine machine;
  auto asked = request(machine, {"python", "train.py"});
  asked.torch = "2.66";
  const auto job = choose(asked);
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().what, "no release \"2.66\" of torch is known; did you mean 2.6?");
  EXPECT_EQ(job.error().where, "--torch");
  EXPECT_TRUE(job.error().remedy.ends_with("its whole version, as 2.66.0")) << job.error().remedy;
  asked.torch = "latest";
  EXPECT_EQ(choose(asked).error().what, "no release \"latest\" of torch is known");
  asked.torch = "2.66.0";
  EXPECT_EQ(choose(asked).error().what, "there is no python3 on the PATH") << "it may be one of tomorrow";
}

TEST(Environment, a_machine_without_python_is_told_which_would_do) {
  FakeMachine machine;
  auto asked = request(machine, {"python", "train.py"});
  for (const bool is_asked : {false, true}) {
    if (is_asked) asked.torch = "9.9.0";
    const auto job = choose(asked);
    ASSERT_FALSE(job);
    EXPECT_EQ(job.error().what, "there is no python3 on the PATH");
    EXPECT_NE(job.error().remedy.find(fmt::format("install Python {}, or", to_string(*find_pythons()))),
              std::string::npos)
        << job.error().remedy;
  }
}

TEST(Environment, cards_that_only_an_older_torch_knows_are_told_its_pythons) {
  FakeMachine machine;
  machine.add_python("bin/python3", "3.14.0");
  auto asked = request(machine, {"python", "train.py"});
  asked.cards = {kPascal};
  EXPECT_EQ(choose(asked).error().remedy, "put a Python from 3.9 to 3.13 on the PATH");
  asked.cards = {kPascal, card("NVIDIA B200", 10, 0)};
  EXPECT_EQ(choose(asked).error().remedy, "emulate cards of one generation");
}

TEST(Environment, a_launcher_that_a_kept_environment_lacks_is_told_how_to_get) {
  FakeMachine machine;
  machine.add_python("bin/python3");
  const auto job = choose(request(machine, {"accelerate", "launch", "train.py"}));
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().what, "vramfit's own environment has no accelerate");
  EXPECT_TRUE(job.error().remedy.starts_with("vramfit env add accelerate --torch 2.12.1"));
}

TEST(Environment, a_missing_module_is_answered_with_the_command_that_brings_it) {
  JobEnvironment kept;
  kept.is_kept = true;
  kept.interpreter.torch = "2.12.1+cu130";
  EXPECT_TRUE(remedy_for_missing_module(kept, "transformers.models")
                  .starts_with("vramfit env add transformers --torch 2.12.1; or "));
  EXPECT_TRUE(remedy_for_missing_module(kept, "yaml").starts_with("vramfit env add pyyaml"));
  const std::string unknown = remedy_for_missing_module(kept, "cleanrl_utils.evals");
  EXPECT_EQ(unknown.find("env add"), std::string::npos) << "who took that name on PyPI is not known";
  EXPECT_NE(unknown.find("the package that has cleanrl_utils"), std::string::npos);
}

TEST(KeptEnvironments, are_listed_and_removed) {
  FakeMachine machine;
  machine.add_python("bin/python3");
  ASSERT_TRUE(choose(request(machine, {"python", "train.py"})));
  const auto all = list_kept_environments(machine.environment());
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].version, "2.12.1");
  ASSERT_TRUE(remove_environment(all[0]));
  EXPECT_TRUE(list_kept_environments(machine.environment()).empty());
  EXPECT_FALSE(fs::exists(all[0].folder));
}

}  // namespace
}  // namespace vramfit::job
