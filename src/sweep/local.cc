#include "sweep/local.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/host_memory.h"
#include "base/interrupt.h"
#include "base/subprocess.h"

namespace vramfit::sweep {

using base::Result;

namespace {

constexpr double kGraceSeconds = 5;
// `vramfit run` ends its job when the trial's time is over; this much later it is itself taken for hung.
constexpr double kOverdueSeconds = 30;
constexpr auto kLocalLook = std::chrono::milliseconds(50);

// The first line of vramfit's last complaint, or else the last line there is.
std::string last_line(const std::filesystem::path& log) {
  std::ifstream lines(log);
  std::string line, last, complaint;
  while (std::getline(lines, line)) {
    // Whoever shows it says who complained, and that it is an error.
    constexpr std::string_view kOurs = "vramfit: ", kError = "error: ";
    if (line.starts_with(kOurs)) complaint = line.substr(kOurs.size());
    if (complaint.starts_with(kError)) complaint.erase(0, kError.size());
    if (!line.empty()) last = line;
  }
  return complaint.empty() ? last : complaint;
}

}  // namespace

Result<std::string> own_program() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return base::fail(base::ErrorCode::kSystem, "cannot find this program's own file: " + error.message());
  return program.string();
}

std::size_t default_jobs() {
  constexpr std::int64_t kOfOne = std::int64_t{3} << 29;  // 1.5 GiB
  const auto by_memory = static_cast<std::size_t>(std::max<std::int64_t>(1, base::available_memory() / kOfOne));
  return std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, by_memory);
}

std::vector<std::string> trial_words(const std::string& program, const model::SweepSpec& spec,
                                     const SweepFolder& folder, std::size_t trial, const TrialCommand& command) {
  std::vector<std::string> words = {program, "run"};
  words.insert(words.end(), command.run_options.begin(), command.run_options.end());
  for (std::string word : {std::string("--timeout"), fmt::format("{}", spec.timeout_seconds), std::string("--json"),
                           folder.result_file(trial).string()}) {
    words.push_back(std::move(word));
  }
  if (!command.plan.changes.empty()) {
    words.push_back("--plan");
    words.push_back(folder.plan_file(trial).string());
  }
  words.push_back("--");
  words.insert(words.end(), command.command.begin(), command.command.end());
  return words;
}

Result<void> LocalTrialRunner::start_one(std::size_t trial) {
  const auto values = folder_.read_values(trial);
  if (!values) return std::unexpected(values.error());
  const auto command = build_trial(spec_, *values);
  if (!command) return std::unexpected(command.error());
  base::Launch launch;
  launch.argv = trial_words(program_, spec_, folder_, trial, *command);
  launch.environment = base::current_environment();
  launch.environment["VRAMFIT_STORE"] = "none";  // the sweep notes its trials itself, as its own
  launch.output = folder_.log_file(trial);
  const auto process = base::start_process(launch);
  if (!process) return std::unexpected(process.error());
  running_.emplace(*process, Running{trial, clock_.now_ns()});
  return {};
}

Result<void> LocalTrialRunner::start(const std::vector<std::size_t>& trials) {
  for (const std::size_t trial : trials) {
    if (auto started = start_one(trial); !started) return started;
  }
  return {};
}

// `vramfit run` that ends by itself without a result could not even begin: an option it refuses, no Python. Its own
// words say why. One that was killed leaves nothing, and is tried again.
void LocalTrialRunner::explain_failure(std::size_t trial, int status) {
  if (!WIFEXITED(status) || folder_.read_result(trial)) return;
  model::TrialResult result;
  result.verdict = "failed";
  result.reason = last_line(folder_.log_file(trial));
  result.exit_code = WEXITSTATUS(status);
  static_cast<void>(folder_.write_result(trial, result));
}

void LocalTrialRunner::end_overdue(pid_t process, const Running& running) {
  const double seconds = base::seconds_between(running.began_ns, clock_.now_ns());
  base::end_process(process, kGraceSeconds);
  model::TrialResult result;
  result.verdict = "timed_out";
  result.reason = fmt::format("it did not end in {:.0f} s and had to be killed", seconds);
  result.exit_code = 128 + SIGKILL;
  result.wall_seconds = seconds;
  // Where even that can't be written, the trial counts as lost.
  static_cast<void>(folder_.write_result(running.trial, result));
}

Result<std::vector<std::size_t>> LocalTrialRunner::wait() {
  std::vector<std::size_t> ended;
  for (auto each = running_.begin(); each != running_.end();) {
    const auto& [process, running] = *each;
    const auto status = base::take_ended(process);
    const bool is_over = status.has_value();
    const bool is_overdue =
        base::seconds_between(running.began_ns, clock_.now_ns()) > spec_.timeout_seconds + kOverdueSeconds;
    if (status) explain_failure(running.trial, *status);
    if (!is_over && is_overdue) end_overdue(process, running);
    if (is_over || is_overdue) {
      ended.push_back(running.trial);
      each = running_.erase(each);
    } else {
      ++each;
    }
  }
  if (ended.empty() && !running_.empty() && !base::was_interrupted()) std::this_thread::sleep_for(kLocalLook);
  return ended;
}

void LocalTrialRunner::cancel() {
  for (const auto& [process, running] : running_) base::end_process(process, kGraceSeconds);
  running_.clear();
}

}  // namespace vramfit::sweep
