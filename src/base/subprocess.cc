#include "base/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <set>

#include "base/clock.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/job_control.h"

extern char** environ;

namespace vramfit::base {

namespace fs = std::filesystem;

std::string value_of(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

Environment current_environment() {
  Environment result;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) result.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return result;
}

std::optional<fs::path> find_program(const std::string& name, const Environment& environment) {
  const auto runs = [](const fs::path& path) { return ::access(path.c_str(), X_OK) == 0 && fs::is_regular_file(path); };
  if (name.find('/') != std::string::npos) return runs(name) ? std::optional(fs::path(name)) : std::nullopt;
  const auto path = environment.find("PATH");
  std::string folders = path == environment.end() ? "/usr/local/bin:/usr/bin:/bin" : path->second;
  for (std::size_t start = 0; start <= folders.size();) {
    const std::size_t end = std::min(folders.find(':', start), folders.size());
    const fs::path candidate = fs::path(folders.substr(start, end - start)) / name;
    if (runs(candidate)) return candidate;
    start = end + 1;
  }
  return std::nullopt;
}

namespace {

// What the child needs between fork and exec, all allocated before: only async-signal-safe calls follow the fork, but
// for `enter`.
struct Prepared {
  std::string program;
  std::vector<std::string> assignments;
  std::vector<char*> argv, envp;
  int input = -1, output = -1;
};

Prepared prepare(const Launch& launch, const fs::path& program) {
  Prepared result;
  result.program = program.string();
  for (const auto& [name, value] : launch.environment) {
    result.assignments.push_back(std::string(name).append("=").append(value));
  }
  for (const auto& word : launch.argv) result.argv.push_back(const_cast<char*>(word.c_str()));
  for (auto& assignment : result.assignments) result.envp.push_back(assignment.data());
  result.argv.push_back(nullptr);
  result.envp.push_back(nullptr);
  return result;
}

// What the failure pipe brings: errno, or 0 and a text.
[[noreturn]] void fail_in_child(int failure_pipe, int number, const std::string& text) {
  [[maybe_unused]] ssize_t told = write(failure_pipe, &number, sizeof number);
  told = write(failure_pipe, text.data(), text.size());
  _exit(127);
}

void die_with(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(127);
}

[[noreturn]] void become_child(const Launch& launch, const Prepared& prepared, int failure_pipe, pid_t parent) {
  // A killed vramfit can end nobody any more: the kernel does it. Who died before this call left us to another parent.
  die_with(parent);
  setpgid(0, 0);
  if (launch.takes_terminal) tcsetpgrp(STDIN_FILENO, getpgrp());
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTTOU, SIGPIPE}) ::signal(signal, SIG_DFL);
  if (::signal(SIGTSTP, SIG_DFL) == SIG_IGN) ::signal(SIGTSTP, SIG_IGN);  // as who started us wanted it
  if (prepared.input >= 0) dup2(prepared.input, STDIN_FILENO);
  if (prepared.output >= 0) {
    dup2(prepared.output, STDOUT_FILENO);
    dup2(prepared.output, STDERR_FILENO);
  }
  if (launch.inherited_fd >= 0) fcntl(launch.inherited_fd, F_SETFD, 0);
  if (!launch.folder.empty() && chdir(launch.folder.c_str()) != 0) fail_in_child(failure_pipe, errno, "");
  if (launch.enter) {
    if (const auto entered = launch.enter(); !entered) fail_in_child(failure_pipe, 0, to_string(entered.error()));
    die_with(parent);  // new capabilities had made the kernel forget it
  }
  execve(prepared.program.c_str(), prepared.argv.data(), prepared.envp.data());
  fail_in_child(failure_pipe, errno, "");
}

// Why the child did not become the program; nothing when it did.
std::optional<Error> read_failure(int pipe, const fs::path& program) {
  int number = 0;
  if (read(pipe, &number, sizeof number) != sizeof number) return std::nullopt;
  if (number != 0) {
    errno = number;
    return fail_errno("cannot run the program", program.string(), "an executable file and an existing folder").error();
  }
  std::string text;
  char part[512];
  for (ssize_t got = 0; (got = read(pipe, part, sizeof part)) > 0;) text.append(part, static_cast<std::size_t>(got));
  return Error{ErrorCode::kSystem, std::move(text), "", ""};
}

struct Kin {
  std::map<pid_t, pid_t> parents;  // of every running process
  std::set<pid_t> zombies;         // children of ours that ended and were not waited for
};

// Reads it from /proc.
Kin read_kin() {
  Kin kin;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.empty() || !std::isdigit(static_cast<unsigned char>(name.front()))) continue;
    std::ifstream stat(entry.path() / "stat");
    std::string line;
    if (!std::getline(stat, line)) continue;
    const std::size_t close = line.rfind(')');  // the command before it may hold anything
    char state = 0;
    int parent = 0;
    if (close == std::string::npos || std::sscanf(line.c_str() + close + 1, " %c %d", &state, &parent) != 2) continue;
    const pid_t pid = std::atoi(name.c_str());
    if (state != 'Z') {
      kin.parents[pid] = parent;
    } else if (parent == getpid()) {
      kin.zombies.insert(pid);
    }
  }
  return kin;
}

// All descendants of `root`, `root` itself not included.
std::set<pid_t> descendants(pid_t root) {
  const auto parents = read_kin().parents;
  std::set<pid_t> found;
  for (bool grew = true; grew;) {
    grew = false;
    for (const auto& [pid, parent] : parents) {
      if ((parent == root || found.contains(parent)) && found.insert(pid).second) grew = true;
    }
  }
  return found;
}

// Orphans that fell to us and ended.
void reap_orphans(const std::set<pid_t>& others) {
  for (const pid_t pid : read_kin().zombies) {
    if (!others.contains(pid)) waitpid(pid, nullptr, WNOHANG);
  }
}

void sleep_briefly(double seconds) {
  const timespec pause{static_cast<time_t>(seconds),
                       static_cast<long>((seconds - static_cast<double>(static_cast<time_t>(seconds))) * 1e9)};
  nanosleep(&pause, nullptr);
}

// A stopped process hears of it only when it goes on.
void ask_to_end(pid_t whom, int signal) {
  kill(whom, signal);
  kill(whom, SIGCONT);
}

// Processes of ours that were not there before the child was started: the child's orphans.
int end_orphans(const std::set<pid_t>& before, double grace_seconds) {
  const auto left = [&] {
    std::set<pid_t> result = descendants(getpid());
    for (const pid_t pid : before) result.erase(pid);
    return result;
  };
  std::set<pid_t> remaining = left();
  const int count = static_cast<int>(remaining.size());
  for (const pid_t pid : remaining) ask_to_end(pid, SIGTERM);
  const std::int64_t start = steady_clock().now_ns();
  while (!remaining.empty() && seconds_between(start, steady_clock().now_ns()) < grace_seconds) {
    sleep_briefly(0.02);
    remaining = left();
  }
  for (const pid_t pid : remaining) kill(pid, SIGKILL);
  if (!remaining.empty()) sleep_briefly(0.02);
  reap_orphans(before);
  return count;
}

// Passes on what came to us and what the clock says. SIGKILL follows when a polite signal does not help.
class Shepherd {
 public:
  Shepherd(pid_t group, const Launch& launch) : group_(group), launch_(launch) {}

  void look(double seconds) {
    if (const int signal = take_interrupt()) {
      interrupted_ = true;
      ask(++asked_ > 2 ? SIGKILL : signal, seconds);
    }
    if (!timed_out_ && launch_.timeout_seconds && seconds > *launch_.timeout_seconds) {
      timed_out_ = true;
      ask(SIGTERM, seconds);
    }
    const bool polite = asked_at_ >= 0 && !killed_;
    if (polite && (timed_out_ || interrupted_) && seconds > asked_at_ + launch_.grace_seconds) ask(SIGKILL, seconds);
  }
  bool timed_out() const { return timed_out_; }
  bool interrupted() const { return interrupted_; }

 private:
  void ask(int signal, double seconds) {
    if (asked_at_ < 0) asked_at_ = seconds;
    killed_ = killed_ || signal == SIGKILL;
    ask_to_end(-group_, signal);
  }

  pid_t group_;
  const Launch& launch_;
  double asked_at_ = -1;  // seconds since the start; negative: nothing was asked yet
  int asked_ = 0;
  bool killed_ = false, timed_out_ = false, interrupted_ = false;
};

// Waits at most 250 ms for the child; true when it ended or was stopped, as the status says.
bool changed_soon(int pidfd, pid_t child, int* status, rusage* usage) {
  if (pidfd >= 0) {
    pollfd waiting{pidfd, POLLIN, 0};
    poll(&waiting, 1, 250);
  } else {
    sleep_briefly(0.05);
  }
  return wait4(child, status, WNOHANG | WUNTRACED, usage) == child;
}

}  // namespace

Result<pid_t> start_process(const Launch& launch) {
  if (launch.argv.empty()) return fail(ErrorCode::kUsage, "there is no command to run");
  const auto program = find_program(launch.argv.front(), launch.environment);
  if (!program) {
    return fail(ErrorCode::kNotFound, "cannot find the program \"" + launch.argv.front() + "\"", "",
                "a path to it, or a name that is on PATH");
  }
  Prepared prepared = prepare(launch, *program);
  FileDescriptor input, output;
  if (!launch.input.empty()) {
    input = FileDescriptor(::open(launch.input.c_str(), O_RDONLY | O_NOCTTY | O_CLOEXEC));
    if (!input) return fail_errno("cannot open what the job is to read", launch.input.string());
    prepared.input = input.number();
  }
  if (!launch.output.empty()) {
    output = FileDescriptor(::open(launch.output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    if (!output) return fail_errno("cannot open the file for the job's output", launch.output.string());
    prepared.output = output.number();
  }
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fail_errno("cannot make a pipe");
  FileDescriptor read_end(ends[0]), write_end(ends[1]);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) return fail_errno("cannot start a process");
  if (child == 0) become_child(launch, prepared, write_end.number(), parent);
  setpgid(child, child);  // in both, whoever is first
  add_group(child);
  write_end.close();
  if (auto failure = read_failure(read_end.number(), *program)) {
    waitpid(child, nullptr, 0);
    forget_group(child);
    return std::unexpected(std::move(*failure));
  }
  return child;
}

int end_process(pid_t child, double grace_seconds) {
  const std::set<pid_t> own = descendants(child);
  std::set<pid_t> others = descendants(getpid());
  for (const pid_t pid : own) others.erase(pid);
  ask_to_end(-child, SIGTERM);
  const std::int64_t start = steady_clock().now_ns();
  while (waitpid(child, nullptr, WNOHANG) == 0) {
    if (seconds_between(start, steady_clock().now_ns()) > grace_seconds) kill(-child, SIGKILL);
    sleep_briefly(0.01);
  }
  forget_group(child);
  return end_orphans(others, grace_seconds);
}

std::optional<int> take_ended(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, WNOHANG) != child) return std::nullopt;
  forget_group(child);
  return status;
}

Result<Ended> run_to_end(const Launch& launch, const Tick& tick) {
  const std::set<pid_t> before = descendants(getpid());
  LentTerminal terminal(launch.takes_terminal);
  Launch with_terminal = launch;
  with_terminal.takes_terminal = terminal.is_ours();
  const std::int64_t start = awake_clock().now_ns();
  const auto child = start_process(with_terminal);
  if (!child) return std::unexpected(child.error());
  const FileDescriptor pidfd(static_cast<int>(syscall(SYS_pidfd_open, *child, 0)));
  Shepherd shepherd(*child, launch);
  int status = 0;
  rusage usage{};
  if (with_terminal.takes_terminal) terminal.note_lent();
  while (true) {
    const bool changed = changed_soon(pidfd.number(), *child, &status, &usage);
    if (changed && !WIFSTOPPED(status)) break;
    if (changed) terminal.child_stopped(*child, WSTOPSIG(status));
    terminal.lend(*child);
    const double seconds = seconds_between(start, awake_clock().now_ns());
    shepherd.look(seconds);
    if (tick) tick(seconds);
  }
  forget_group(*child);
  Ended ended;
  ended.wall_seconds = seconds_between(start, awake_clock().now_ns());
  const bool heard_terminal = terminal.is_lent();
  terminal.take_back();
  if (WIFEXITED(status)) ended.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
  ended.timed_out = shepherd.timed_out();
  // A child with the terminal hears Ctrl-C directly; its death tells us.
  ended.interrupted = shepherd.interrupted() || (heard_terminal && ended.signal == SIGINT);
  ended.peak_resident_bytes = std::int64_t{usage.ru_maxrss} * 1024;
  ended.ended_orphans = end_orphans(before, launch.grace_seconds);
  return ended;
}

}  // namespace vramfit::base
