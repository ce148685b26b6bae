// A child process in a group of its own, with its descendants: started, waited for, and cleared away.
//
//   vramfit ── child (group leader) ── workers ...      Ctrl-C, SIGTERM and the time limit go to the whole group
//      └────── orphans                                   whoever leaves the group (torchrun's workers start sessions of
//                                                        their own) falls to us when its parent dies, and is ended too
#ifndef VRAMFIT_BASE_SUBPROCESS_H
#define VRAMFIT_BASE_SUBPROCESS_H

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace vramfit::base {

using Environment = std::map<std::string, std::string>;

// This process's own environment.
Environment current_environment();
std::string value_of(const Environment& environment, const std::string& name);  // empty where it is not set

struct Launch {
  std::vector<std::string> argv;  // argv[0] is looked up in the PATH of `environment`
  Environment environment;
  std::filesystem::path folder;           // empty: ours
  std::filesystem::path input;            // stdin; empty: ours is inherited
  std::filesystem::path output;           // stdout and stderr are appended here; empty: ours are inherited
  std::optional<double> timeout_seconds;  // then SIGTERM, and SIGKILL after the grace period
  double grace_seconds = 5;
  bool takes_terminal = false;          // the child reads the terminal and hears Ctrl-C itself
  int inherited_fd = -1;                // stays open in the child under the same number
  std::function<Result<void>()> enter;  // called in the child, in its folder, right before it becomes the program
};

struct Ended {
  std::optional<int> exit_code;
  std::optional<int> signal;  // that killed it
  bool timed_out = false;
  bool interrupted = false;  // Ctrl-C or SIGTERM came to us while it ran
  double wall_seconds = 0;
  double cpu_seconds = 0;                // of the processor, by the child and those it waited for; 0: not known
  double waited_seconds = 0;             // of these seconds, for a processor that others had; 0: not known
  std::int64_t peak_resident_bytes = 0;  // of the largest single process
  int ended_orphans = 0;                 // descendants that had to be ended after it

  // What a shell would report: 128 + signal for a killed child.
  int shell_code() const { return exit_code ? *exit_code : 128 + signal.value_or(0); }
};

// Called about four times a second with the seconds since the start.
using Tick = std::function<void(double seconds)>;

// Runs it to its end. Needs an InterruptScope around it for Ctrl-C to be passed on.
Result<Ended> run_to_end(const Launch& launch, const Tick& tick);

// Starts a child that serves requests, ended by end_process or when we die.
Result<pid_t> start_process(const Launch& launch);
// The wait status of a started process that has ended, once.
std::optional<int> take_ended(pid_t child);
// Ends a started process and every descendant; returns how many descendants were left.
int end_process(pid_t child, double grace_seconds);

// The path execvp would run, or nothing.
std::optional<std::filesystem::path> find_program(const std::string& name, const Environment& environment);

}  // namespace vramfit::base

#endif
