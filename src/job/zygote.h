// A Python process that has imported torch once and runs each job in a fork of itself (python/vramfit/zygote.py).
//
// Requests and answers are JSON, one object a line, over a socket pair: asked::WarmRequest and told::WarmAnswer of
// docs/notes.md.
//
// One that several vramfits share listens at a socket. Its requests say which Python they want, and bring stdin, stdout
// and stderr where the job is to have them. What it could not run as a new process would is "unsuitable".
#ifndef VRAMFIT_JOB_ZYGOTE_H
#define VRAMFIT_JOB_ZYGOTE_H

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/subprocess.h"
#include "job/python_command.h"
#include "model/told.h"

namespace vramfit::job {

struct ZygoteJob {
  PythonCommand command;
  std::string folder;
  base::Environment environment;
  std::string input;             // path; stdin is read from there
  std::string output;            // path; stdout and stderr go there
  bool has_our_streams = false;  // instead: stdin, stdout and stderr are ours. Of a shared one only
  std::string layer;             // isolate::to_text() of the layer that the fork enters; empty: none
  std::string layer_library;
  std::optional<double> timeout_seconds;
  std::optional<double> patient_seconds;  // the same, less what it waits for a processor
  double grace_seconds = 0;               // from SIGTERM at the time limit to SIGKILL
};

class Zygote {
 public:
  // `environment` must hold the preloads: they belong to the process, and its forks inherit them.
  static base::Result<Zygote> start(const PythonCommand& command, const base::Environment& environment);
  // One that somebody else has started, which listens at this path.
  static base::Result<Zygote> join(const std::string& path);
  Zygote(Zygote&& other) noexcept;
  Zygote& operator=(Zygote&&) = delete;
  ~Zygote();

  bool is_shared() const { return process_ < 0; }
  // Runs one job and waits for it. An error means that the zygote is gone, or that the job could not enter its layer;
  // kUnsupported: this job is not for a zygote that is shared.
  base::Result<base::Ended> run(const ZygoteJob& job, const base::Tick& tick);
  // The two halves of it: several jobs may run at once. A number for the job, and its end.
  base::Result<int> start(const ZygoteJob& job);
  base::Result<base::Ended> wait(int id, const ZygoteJob& job, const base::Tick& tick);

 private:
  Zygote(pid_t process, base::FileDescriptor socket) : process_(process), socket_(std::move(socket)) {}
  base::Result<std::string> read_line(const base::Tick& tick, std::optional<double> limit_seconds);
  base::Result<model::told::WarmAnswer> read_answer(int id, const base::Tick& tick,
                                                    std::optional<double> limit_seconds);

  pid_t process_ = -1;
  base::FileDescriptor socket_;
  std::string received_;
  int last_id_ = 0;
  std::map<std::int64_t, model::told::WarmAnswer> answers_;  // of jobs that nobody has waited for yet
};

// VRAMFIT_WARM: where the zygote listens that this vramfit and others share. Tests have one for all their runs.
std::optional<std::string> shared_zygote();

}  // namespace vramfit::job

#endif
