#include "job/kept_environment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "base/bytes.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "job/platforms.h"

namespace vramfit::job {
namespace {

namespace fs = std::filesystem;
using base::Environment;
using base::ErrorCode;
using base::fail;
using base::ProgressSink;
using base::Result;

constexpr std::string_view kFolderPrefix = "torch-";
constexpr const char* kComplete = "vramfit.complete";
// torch 2.6.0 unpacked is 1.9 GB and its wheel, kept by pip while it unpacks, 0.8 GB.
constexpr std::int64_t kNeededBytes = 3'000'000'000;

fs::path envs_folder(const fs::path& cache) { return cache / "envs"; }

// pip and venv must see neither another environment nor a user's redirections.
Environment clean(Environment environment) {
  for (const char* name : {"PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV", "PIP_USER", "PIP_TARGET", "PIP_PREFIX"}) {
    environment.erase(name);
  }
  environment["PIP_DISABLE_PIP_VERSION_CHECK"] = "1";
  environment["PIP_NO_INPUT"] = "1";
  return environment;
}

// What pip calls an error comes before its advice; others say what is wrong last.
std::string find_what_failed(const fs::path& log) {
  constexpr std::size_t kLines = 6;
  const std::string text = base::read_file(log).value_or("");
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty()) lines.push_back(std::move(line));
  }
  const auto error = std::ranges::find_if(lines, [](const std::string& line) { return line.starts_with("ERROR:"); });
  const auto first = error != lines.end() ? error : lines.end() - static_cast<long>(std::min(kLines, lines.size()));
  const auto last = first + std::min<long>(kLines, lines.end() - first);
  return fmt::format("{}", fmt::join(first, last, "\n"));
}

struct Step {
  std::string label;   // "installing torch 2.12.1"
  std::string remedy;  // when it fails
  std::vector<std::string> argv;
  fs::path log;
};

Result<void> run_step(const Step& step, const Environment& environment, ProgressSink& progress) {
  base::Launch launch;
  launch.argv = step.argv;
  launch.environment = clean(environment);
  launch.output = step.log;
  const base::InterruptScope interruptible;
  const auto ended = base::run_to_end(
      launch, [&](double seconds) { progress.update(fmt::format("{}: {:.0f} s", step.label, seconds)); });
  progress.clear();
  if (!ended) return std::unexpected(ended.error());
  if (ended->interrupted) return fail(ErrorCode::kInterrupted, fmt::format("{} was interrupted", step.label));
  if (ended->shell_code() != 0) {
    return fail(ErrorCode::kSystem, fmt::format("{} failed", step.label), find_what_failed(step.log), step.remedy);
  }
  return {};
}

// Waits for its turn; the lock goes with the descriptor, also when this process is killed.
Result<base::FileDescriptor> lock(const fs::path& path, ProgressSink& progress) {
  base::FileDescriptor file(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644));
  if (!file)
    return base::fail_errno("a lock can't be made", path.string(), "set VRAMFIT_CACHE to a folder you may write");
  if (flock(file.number(), LOCK_EX | LOCK_NB) != 0) {
    progress.say("another vramfit is working on this Python environment: waiting for it");
    if (flock(file.number(), LOCK_EX) != 0) return base::fail_errno("a lock can't be taken", path.string());
  }
  return file;
}

Result<void> check_space(const fs::path& folder) {
  struct statvfs disk {};
  if (statvfs(folder.c_str(), &disk) != 0) return {};
  const auto available = static_cast<std::int64_t>(disk.f_bavail) * static_cast<std::int64_t>(disk.f_frsize);
  if (available >= kNeededBytes) return {};
  return fail(ErrorCode::kSystem,
              fmt::format("a torch environment needs about {:.0f} GB of disk, and {:.1f} GB are free",
                          static_cast<double>(kNeededBytes) / 1e9, static_cast<double>(available) / 1e9),
              folder.string(), "make room, or set VRAMFIT_CACHE to a folder on another disk");
}

Result<void> check_has_cuda(const KeptEnvironment& kept, const Environment& environment) {
  const auto found = inspect_interpreter(kept.python(), clean(environment));
  if (!found) return std::unexpected(found.error());
  if (!found->cuda.empty()) return {};
  return fail(ErrorCode::kUnsupported,
              found->torch.empty() ? std::string("pip gave no torch that can be found")
                                   : fmt::format("pip gave a torch without CUDA ({})", found->torch),
              kept.folder.string(), fmt::format("choose another version: --torch {}", first_class().version));
}

// For the Python that this environment has; others' wheels are not theirs. "3.11.7" -> .../torch-2.12.1-cp311.
fs::path fetched_folder(const KeptEnvironment& kept, const Environment& environment) {
  const fs::path all = kept.folder.parent_path().parent_path() / "fetched";
  std::error_code error;
  if (!fs::exists(all, error)) return {};
  const auto python = inspect_interpreter(kept.python(), clean(environment));
  if (!python) return {};
  const std::size_t first = python->python.find('.'), second = python->python.find('.', first + 1);
  if (first == std::string::npos || second == std::string::npos) return {};
  return all / fmt::format("torch-{}-cp{}{}", kept.version, python->python.substr(0, first),
                           python->python.substr(first + 1, second - first - 1));
}

std::optional<std::string> find_fetched(const fs::path& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".whl") return entry.path().string();
  }
  return std::nullopt;
}

Result<void> make(const KeptEnvironment& kept, const TorchRelease& release, const fs::path& base_python,
                  const Environment& environment, ProgressSink& progress) {
  std::error_code error;
  fs::remove_all(kept.folder, error);  // what an interrupted try left
  if (const auto enough = check_space(kept.folder.parent_path()); !enough) return enough;
  const fs::path log = kept.folder.string() + ".log";
  fs::remove(log, error);
  progress.say(fmt::format("no torch of your own: making a Python environment with torch {} (CUDA {}) in {} (once; {})",
                           release.version, release.cuda, kept.folder.string(),
                           "a download of 0.5 to 0.8 GB, a minute or two"));
  const Step venv{"making a virtual environment",
                  "install what Python needs for it (on Debian and Ubuntu: apt-get install python3-venv), "
                  "or name an interpreter that has torch: -- /path/to/python ...",
                  {base_python.string(), "-m", "venv", kept.folder.string()},
                  log};
  if (const auto done = run_step(venv, environment, progress); !done) return done;
  Step install{fmt::format("installing torch {}", release.version),
               "check the network and pip's settings, then try again: what was downloaded is kept by pip",
               {kept.python().string(), "-m", "pip", "install", "--no-deps", "--progress-bar", "off"},
               log};
  std::vector<std::string> requirements = requirements_of(release);
  const fs::path fetched = fetched_folder(kept, environment);
  if (const auto wheel = find_fetched(fetched)) requirements.front() = *wheel;  // torch itself stands first
  std::ranges::copy(requirements, std::back_inserter(install.argv));
  if (const auto done = run_step(install, environment, progress); !done) return done;
  if (!fetched.empty()) fs::remove_all(fetched, error);
  if (!check_has_cuda(kept, environment)) {
    // An index of the user's may hold 2.13.0+cpu beside PyPI's 2.13.0, and pip takes that for the newer of the two.
    install.argv.resize(install.argv.size() - requirements.size());
    for (const std::string& exact : exact_requirements_of(release)) install.argv.push_back(exact);
    if (const auto done = run_step(install, environment, progress); !done) return done;
  }
  if (const auto right = check_has_cuda(kept, environment); !right) return right;
  return base::write_file(kept.folder / kComplete, fmt::format("torch=={}\n", release.version));
}

bool is_wanted(const std::string& package) {
  for (const char* prefix : {"nvidia-", "cuda-"}) {
    if (package.starts_with(prefix)) return false;
  }
  return package != "torch" && package != "triton";
}

// What pip would install, as "name==version", from the report of a dry run.
Result<std::vector<std::string>> read_pip_report(const fs::path& report) {
  const auto parsed = nlohmann::json::parse(base::read_file(report).value_or(""), nullptr, false);
  if (!parsed.is_object() || !parsed.contains("install")) {
    return fail(ErrorCode::kCorrupt, "pip's report can't be read", report.string());
  }
  std::vector<std::string> packages;
  for (const auto& item : parsed["install"]) {
    const auto& metadata = item["metadata"];
    const std::string name = metadata.value("name", "");
    if (is_wanted(name)) packages.push_back(fmt::format("{}=={}", name, metadata.value("version", "")));
  }
  return packages;
}

}  // namespace

Result<fs::path> find_cache(const Environment& environment) {
  const auto value = [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string{} : found->second;
  };
  fs::path cache;
  if (!value("VRAMFIT_CACHE").empty()) {
    cache = fs::absolute(value("VRAMFIT_CACHE"));
  } else if (value("XDG_CACHE_HOME").starts_with('/')) {  // a relative one is to be ignored, says the specification
    cache = fs::path(value("XDG_CACHE_HOME")) / "vramfit";
  } else if (!value("HOME").empty()) {
    cache = fs::path(value("HOME")) / ".cache" / "vramfit";
  } else {
    return fail(ErrorCode::kUsage, "there is no folder to keep Python environments in: HOME is not set", {},
                "set VRAMFIT_CACHE to a folder");
  }
  std::error_code error;
  fs::create_directories(envs_folder(cache), error);
  if (error) {
    return fail(ErrorCode::kSystem, fmt::format("the cache folder can't be made: {}", error.message()), cache.string(),
                "set VRAMFIT_CACHE to a folder you may write");
  }
  return cache;
}

std::vector<KeptEnvironment> list_kept_environments(const Environment& environment) {
  std::vector<KeptEnvironment> all;
  const auto cache = find_cache(environment);
  if (!cache) return all;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(envs_folder(*cache), error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kFolderPrefix) && fs::exists(entry.path() / kComplete, error)) {
      all.push_back({name.substr(kFolderPrefix.size()), entry.path()});
    }
  }
  std::ranges::sort(all, {}, &KeptEnvironment::version);
  return all;
}

Result<KeptEnvironment> provide_environment(const TorchRelease& release, const fs::path& base_python,
                                            const Environment& environment, ProgressSink& progress) {
  const auto cache = find_cache(environment);
  if (!cache) return std::unexpected(cache.error());
  const KeptEnvironment kept{std::string(release.version),
                             envs_folder(*cache) / fmt::format("{}{}", kFolderPrefix, release.version)};
  const auto is_complete = [&kept] { return fs::exists(kept.folder / kComplete) && fs::exists(kept.python()); };
  if (is_complete()) return kept;
  const auto turn = lock(kept.folder.string() + ".lock", progress);
  if (!turn) return std::unexpected(turn.error());
  if (is_complete()) return kept;  // made by whoever had the lock
  if (const auto made = make(kept, release, base_python, environment, progress); !made) {
    std::error_code ignored;
    fs::remove_all(kept.folder, ignored);
    return std::unexpected(made.error());
  }
  return kept;
}

Result<void> add_packages(const KeptEnvironment& kept, const std::vector<std::string>& packages,
                          const Environment& environment, ProgressSink& progress) {
  const auto turn = lock(kept.folder.string() + ".lock", progress);
  if (!turn) return std::unexpected(turn.error());
  const fs::path log = kept.folder.string() + ".log", report = kept.folder.string() + ".report.json";
  std::error_code ignored;
  fs::remove(log, ignored);
  const std::vector<std::string> pip = {kept.python().string(), "-m", "pip", "install"};
  Step ask{"asking pip what it would install", "check the names and the network", pip, log};
  for (const std::string& word : {std::string("--dry-run"), std::string("--report"), report.string()}) {
    ask.argv.push_back(word);
  }
  ask.argv.push_back(fmt::format("torch=={}", kept.version));  // whatever needs torch must take this one
  std::ranges::copy(packages, std::back_inserter(ask.argv));
  if (const auto done = run_step(ask, environment, progress); !done) return done;
  const auto wanted = read_pip_report(report);
  fs::remove(report, ignored);
  if (!wanted) return std::unexpected(wanted.error());
  // triton is never a mere dependency here (it is big), but may be asked for.
  Step install{fmt::format("installing {}", fmt::join(*wanted, ", ")), "", pip, log};
  install.argv.emplace_back("--no-deps");
  std::ranges::copy(*wanted, std::back_inserter(install.argv));
  if (std::ranges::find(packages, "triton") != packages.end()) {
    const auto release = find_torch_release(kept.version);
    install.argv.push_back(release ? fmt::format("triton=={}", release->triton) : "triton");
  } else if (wanted->empty()) {
    progress.say("nothing to install: all of it is there");
    return {};
  }
  return run_step(install, environment, progress);
}

Result<void> remove_environment(const KeptEnvironment& kept) {
  std::error_code error;
  fs::remove(kept.folder / kComplete, error);  // first, so that a half removed one is no complete one
  fs::remove_all(kept.folder, error);
  if (error)
    return fail(ErrorCode::kSystem, fmt::format("can't be removed: {}", error.message()), kept.folder.string());
  for (const char* suffix : {".lock", ".log"}) fs::remove(kept.folder.string() + suffix, error);
  return {};
}

}  // namespace vramfit::job
