#include "history/job_identity.h"

#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <sstream>

#include "base/file.h"
#include "base/subprocess.h"
#include "base/temporary_file.h"

namespace vramfit::history {

namespace fs = std::filesystem;

namespace {

constexpr double kGitSeconds = 2;

bool is_source(const fs::path& path) {
  std::error_code ignored;
  return path.extension() == ".py" && fs::is_regular_file(path, ignored);
}

// git status --porcelain=v2 --branch: "# branch.oid HASH", "# branch.head NAME", then a line for each changed file.
model::GitState parse_git_status(const std::string& text) {
  model::GitState state;
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) {
    if (line.starts_with("# branch.oid ")) {
      state.commit = line.substr(13);
    } else if (line.starts_with("# branch.head ")) {
      state.branch = line.substr(14);
    } else if (!line.starts_with('#')) {
      state.has_changes = true;
    }
  }
  return state;
}

}  // namespace

fs::path find_script(const std::vector<std::string>& command, const fs::path& folder) {
  for (std::size_t i = 0; i < command.size(); ++i) {
    if (command[i] == "-m" && i + 1 < command.size()) {  // python -m package.module
      std::string module = command[i + 1];
      for (char& letter : module) letter = letter == '.' ? '/' : letter;
      for (const char* ending : {".py", "/__main__.py"}) {
        if (is_source(folder / (module + ending))) return folder / (module + ending);
      }
    }
    if (is_source(folder / command[i])) return folder / command[i];
  }
  return {};
}

std::string hash_contents(std::string_view contents) {
  return boost::uuids::to_string(
      boost::uuids::name_generator_sha1(boost::uuids::ns::oid())(contents.data(), contents.size()));
}

model::GitState read_git(const fs::path& folder) {
  const base::TemporaryFile answer("git");
  if (!answer) return {};
  base::Launch launch;
  // Optional locks are left out: nothing in the user's repository is touched.
  launch.argv = {"git",    "--no-optional-locks", "-C",       folder.string(),
                 "status", "--porcelain=v2",      "--branch", "--untracked-files=no"};
  launch.environment = base::current_environment();
  launch.environment["LC_ALL"] = "C";
  launch.output = answer.path();
  launch.timeout_seconds = kGitSeconds;
  const auto ended = base::run_to_end(launch, {});
  if (!ended || ended->shell_code() != 0) return {};
  const auto text = base::read_file(answer.path());
  return text ? parse_git_status(*text) : model::GitState{};
}

model::RunStart describe_job(std::string verb, const std::vector<std::string>& command, std::string version) {
  model::RunStart start;
  start.verb = std::move(verb);
  start.version = std::move(version);
  start.command = command;
  std::error_code ignored;
  const fs::path folder = fs::current_path(ignored);
  start.folder = folder.string();
  const fs::path script = find_script(command, folder);
  if (!script.empty()) {
    start.script = script.lexically_normal().string();
    // What is read from a pipe is gone for the job.
    if (fs::is_regular_file(script, ignored)) {
      if (const auto contents = base::read_file(script)) start.script_hash = hash_contents(*contents);
    }
  }
  start.git = read_git(script.empty() ? folder : script.parent_path());
  return start;
}

}  // namespace vramfit::history
