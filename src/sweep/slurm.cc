#include "sweep/slurm.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>

#include "base/file.h"
#include "base/interrupt.h"
#include "base/shell_word.h"
#include "base/subprocess.h"

namespace vramfit::sweep {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

constexpr auto kSlurmLook = std::chrono::milliseconds(500);
constexpr int kLooksBetweenAsking = 4;  // squeue is asked every two seconds: it is a service that others share
constexpr double kCommandSeconds = 60;
// A controller that restarts answers again after a while; the jobs go on meanwhile.
constexpr double kMostSilenceSeconds = 600;

// Runs one of Slurm's commands and returns what it printed, on both streams.
Result<std::string> ask(const std::vector<std::string>& words, const std::filesystem::path& answer) {
  std::error_code ignored;
  std::filesystem::remove(answer, ignored);
  base::Launch launch;
  launch.argv = words;
  launch.environment = base::current_environment();
  launch.environment["LC_ALL"] = "C";
  launch.output = answer;
  launch.timeout_seconds = kCommandSeconds;
  const auto ended = base::run_to_end(launch, {});
  if (!ended) {
    base::Error error = ended.error();
    if (error.code == ErrorCode::kNotFound) error.remedy = "--slurm needs Slurm's own commands on this machine";
    return std::unexpected(error);
  }
  const auto text = base::read_file(answer);
  std::filesystem::remove(answer, ignored);
  if (ended->shell_code() != 0) {
    return fail(ErrorCode::kSystem, fmt::format("{} failed: {}", words.front(), text.value_or("")), "--slurm");
  }
  return text.value_or("");
}

}  // namespace

Result<SlurmTrialRunner> SlurmTrialRunner::create(const SweepFolder& folder, std::string program, SlurmOptions options,
                                                  const base::Clock& clock) {
  SlurmTrialRunner runner(folder, std::move(program), std::move(options), clock);
  if (auto read = runner.read_jobs(); !read) return std::unexpected(read.error());
  return runner;
}

std::string SlurmTrialRunner::job_script() const {
  const std::string log = (folder_.path() / "trials" / "%a.log").string();
  return fmt::format(
      "#!/bin/bash\n"
      "#SBATCH --job-name=vramfit-sweep\n"
      "#SBATCH --output={}\n"
      "#SBATCH --open-mode=append\n"
      "#SBATCH --requeue\n"  // a node that fails takes no trial with it
      "exec {} sweep --out {} --run-trial \"$SLURM_ARRAY_TASK_ID\"\n",
      log, base::in_single_quotes(program_), base::in_single_quotes(folder_.path().string()));
}

Result<void> SlurmTrialRunner::read_jobs() {
  const auto text = base::read_file(folder_.path() / "slurm.json");
  if (!text) return {};  // nothing was submitted from here yet
  auto jobs = parse_slurm_jobs(*text, (folder_.path() / "slurm.json").string());
  if (!jobs) return std::unexpected(jobs.error());
  jobs_ = std::move(*jobs);
  return {};
}

Result<void> SlurmTrialRunner::write_jobs() const {
  return base::write_file(folder_.path() / "slurm.json", to_text(jobs_));
}

std::size_t SlurmTrialRunner::room() const {
  constexpr std::size_t kMostTasks = 1000;  // MaxArraySize is 1001 where nobody changed it
  return kMostTasks - std::min(kMostTasks, running_.size());
}

Result<void> SlurmTrialRunner::start(const std::vector<std::size_t>& trials) {
  std::vector<std::size_t> fresh = trials;
  if (!jobs_.empty()) {
    const auto queued = ask_queue();
    if (!queued) return std::unexpected(queued.error());
    std::erase_if(fresh, [&](std::size_t trial) { return queued->contains(trial); });
  }
  running_.insert(trials.begin(), trials.end());
  if (fresh.empty()) return {};
  const std::filesystem::path script = folder_.path() / "job.sh";
  if (auto written = base::write_file(script, job_script()); !written) return written;
  std::string array = fmt::format("--array={}", fmt::join(fresh, ","));
  if (options_.at_once > 0) array += fmt::format("%{}", options_.at_once);
  std::vector<std::string> words = {"sbatch", "--parsable", array};
  words.insert(words.end(), options_.words.begin(), options_.words.end());
  words.push_back(script.string());
  const auto answer = ask(words, folder_.path() / "sbatch.out");
  if (!answer) return std::unexpected(answer.error());
  const std::string job = parse_submitted(*answer);
  if (job.empty()) return fail(ErrorCode::kSystem, "sbatch named no job: " + *answer, "--slurm");
  for (const std::size_t trial : fresh) jobs_[trial] = job;
  return write_jobs();
}

// The trials that Slurm has waiting or running. A job it no longer knows has ended.
Result<std::set<std::size_t>> SlurmTrialRunner::ask_queue() {
  std::set<std::string> ids;
  for (const auto& [trial, job] : jobs_) ids.insert(job);
  std::set<std::size_t> queued;
  for (const std::string& id : ids) {
    const auto answer =
        ask({"squeue", "--noheader", "--array", "--jobs=" + id, "--format=%K %T"}, folder_.path() / "squeue.out");
    if (!answer) {
      if (answer.error().what.find("Invalid job id") != std::string::npos) continue;
      return std::unexpected(answer.error());
    }
    for (const std::size_t trial : parse_queue(*answer)) {
      if (jobs_.contains(trial) && jobs_[trial] == id) queued.insert(trial);
    }
  }
  return queued;
}

Result<std::vector<std::size_t>> SlurmTrialRunner::wait() {
  for (int i = 0; i < kLooksBetweenAsking && !base::was_interrupted(); ++i) std::this_thread::sleep_for(kSlurmLook);
  if (base::was_interrupted()) return std::vector<std::size_t>();
  const auto queued = ask_queue();
  if (!queued) {
    if (silent_since_ns_ == 0) silent_since_ns_ = clock_.now_ns();
    const bool gone = base::seconds_between(silent_since_ns_, clock_.now_ns()) > kMostSilenceSeconds;
    if (gone) return std::unexpected(queued.error());
    return std::vector<std::size_t>();
  }
  silent_since_ns_ = 0;
  std::vector<std::size_t> ended;
  for (const std::size_t trial : running_) {
    if (!queued->contains(trial)) ended.push_back(trial);
  }
  for (const std::size_t trial : ended) running_.erase(trial);
  return ended;
}

void SlurmTrialRunner::cancel() {
  std::set<std::string> ids;
  for (const std::size_t trial : running_) ids.insert(jobs_[trial]);
  // What can't be cancelled ends by itself and leaves its results in the folder.
  for (const std::string& id : ids) static_cast<void>(ask({"scancel", id}, folder_.path() / "scancel.out"));
  running_.clear();
}

}  // namespace vramfit::sweep
