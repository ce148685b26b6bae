#include "isolate/job_layer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <utility>

#include "isolate/descriptors.h"
#include "isolate/lockdown.h"

namespace vramfit::isolate {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::Result;

namespace {

constexpr std::array<std::pair<Mechanism, std::string_view>, 3> kNames = {
    {{Mechanism::kOverlay, "overlay"},
     {Mechanism::kUserNamespace, "user_namespace"},
     {Mechanism::kSupervisor, "supervisor"}}};

// What is written during a trial: a file that nobody else may see, and one that everybody must.
struct TrialFiles {
  fs::path own, shared;
};

// Runs in the child. Why it does not work goes to `told`.
[[noreturn]] void try_inside(const LayerSpec& spec, const TrialFiles& trial, int told) {
  std::string problem;
  if (const auto entered = enter(spec); !entered) problem = entered.error().what;
  for (const fs::path& path : {trial.own, trial.shared}) {
    if (problem.empty() && !std::ofstream(path).put('x').flush()) problem = "files can't be written inside";
  }
  [[maybe_unused]] const ssize_t sent = ::write(told, problem.data(), problem.size());
  ::_exit(problem.empty() ? 0 : 1);
}

std::string judge(const LayerSpec& spec, const TrialFiles& trial) {
  std::error_code ignored;
  if (spec.has_files && fs::exists(trial.own, ignored)) return "what is written inside is seen outside";
  return fs::exists(trial.shared, ignored) ? "" : "what is shared is not seen outside";
}

// Empty: it works.
std::string why_not(LayerSpec wanted, Mechanism mechanism, const fs::path& folder) {
  if (mechanism == Mechanism::kOverlay && !may_mount()) return "needs the right to mount";
  std::error_code ignored;
  fs::create_directories(folder / "shared", ignored);
  wanted.shared = {fs::canonical(folder / "shared", ignored).string()};
  auto layer = JobLayer::open(std::move(wanted), mechanism, folder);
  if (!layer) return layer.error().what;
  const TrialFiles trial{folder / "own", folder / "shared" / "file"};
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return base::fail_errno("no pipe").error().what;
  const base::FileDescriptor ours(ends[0]);
  base::FileDescriptor theirs(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return base::fail_errno("cannot start a process").error().what;
  if (child == 0) try_inside(layer->spec(), trial, theirs.number());
  theirs.close();
  const std::string problem = read_all(ours.number());
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!problem.empty()) return problem;
  if (status != 0) return "a process that enters it ends";
  if (std::string wrong = judge(layer->spec(), trial); !wrong.empty()) return wrong;
  const auto seen = layer->look();
  return seen ? "" : seen.error().what;
}

}  // namespace

std::string_view to_string(Mechanism mechanism) {
  for (const auto& [known, name] : kNames) {
    if (known == mechanism) return name;
  }
  return "";
}

std::optional<Mechanism> parse_mechanism(std::string_view text) {
  for (const auto& [mechanism, name] : kNames) {
    if (name == text) return mechanism;
  }
  return std::nullopt;
}

Result<JobLayer> JobLayer::open(LayerSpec wanted, Mechanism mechanism, const fs::path& folder) {
  const fs::path staging = folder / "layer";
  std::error_code problem;
  fs::create_directories(staging, problem);
  if (problem) return base::fail(ErrorCode::kSystem, "cannot make a folder: " + problem.message(), staging.string());
  // The kernel calls it so: links on the way would make it look like another folder.
  const fs::path real = fs::canonical(folder, problem);
  if (problem) return base::fail(ErrorCode::kSystem, "cannot find a folder: " + problem.message(), folder.string());
  wanted.staging = (real / "layer").string();
  wanted.report = (real / LayerWatch::kSocket).string();
  wanted.is_supervised = mechanism == Mechanism::kSupervisor;
  wanted.in_user_namespace = mechanism == Mechanism::kUserNamespace;
  if (wanted.is_supervised) {
    auto memory = SharedMemoryFolder::make(real);
    if (!memory) return std::unexpected(memory.error());
    wanted.shared_memory = memory->path();
    auto watch = SupervisedWatch::listen(wanted);
    if (!watch) return std::unexpected(watch.error());
    return JobLayer(std::move(wanted), std::move(*watch), std::move(*memory));
  }
  auto watch = LayerWatch::listen(real);
  if (!watch) return std::unexpected(watch.error());
  return JobLayer(std::move(wanted), std::move(*watch));
}

Result<LayerContents> JobLayer::look() {
  if (auto* watch = std::get_if<LayerWatch>(&watch_)) return watch->look();
  return std::get<std::unique_ptr<SupervisedWatch>>(watch_)->look();
}

Result<std::vector<std::string>> JobLayer::keep(const fs::path& folder) const {
  if (const auto* watch = std::get_if<LayerWatch>(&watch_)) return watch->keep(folder);
  return std::get<std::unique_ptr<SupervisedWatch>>(watch_)->keep(folder);
}

Result<Mechanism> find_mechanism(const LayerSpec& wanted, std::optional<Mechanism> only, const fs::path& folder) {
  std::string reasons;
  for (const auto& [mechanism, name] : kNames) {
    if (only && *only != mechanism) continue;
    const std::string reason = why_not(wanted, mechanism, folder / name);
    if (reason.empty()) return mechanism;
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", name, reason);
  }
  return base::fail(ErrorCode::kUnsupported, reasons);
}

}  // namespace vramfit::isolate
