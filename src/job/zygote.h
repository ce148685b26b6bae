// A Python process that has imported torch once and runs each job in a fork of itself (python/vramfit/zygote.py).
//
// Requests and answers are JSON, one object a line, over a socket pair:
//   -> {"id", "argv", "cwd", "env", "stdout_path", "stderr_path", "run_as": "script"|"module", "timeout",
//       "layer": null | {"library", "spec"}}
//   <- {"id", "exit_code" | "signal", "wall_seconds", "maxrss", "timed_out"}, "refused" if it could not enter its layer
#ifndef VRAMFIT_JOB_ZYGOTE_H
#define VRAMFIT_JOB_ZYGOTE_H

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/subprocess.h"
#include "job/python_command.h"

namespace vramfit::job {

struct ZygoteJob {
  PythonCommand command;
  std::string folder;
  base::Environment environment;
  std::string output;  // path; stdout and stderr go there
  std::string layer;   // isolate::to_text() of the layer that the fork enters; empty: none
  std::string layer_library;
  std::optional<double> timeout_seconds;
};

class Zygote {
 public:
  // `environment` must hold the preloads: they belong to the process, and its forks inherit them.
  static base::Result<Zygote> start(const PythonCommand& command, const base::Environment& environment);
  Zygote(Zygote&& other) noexcept;
  Zygote& operator=(Zygote&&) = delete;
  ~Zygote();

  // Runs one job and waits for it. An error means that the zygote is gone, or that the job could not enter its layer.
  base::Result<base::Ended> run(const ZygoteJob& job, const base::Tick& tick);

 private:
  Zygote(pid_t process, base::FileDescriptor socket) : process_(process), socket_(std::move(socket)) {}
  base::Result<std::string> read_line(const base::Tick& tick, std::optional<double> limit_seconds);

  pid_t process_ = -1;
  base::FileDescriptor socket_;
  std::string received_;
  int last_id_ = 0;
};

}  // namespace vramfit::job

#endif
