// What the cold and the warm way of running a job share: finding its Python, setting a session up, and reading it.
#ifndef VRAMFIT_JOB_JOB_RUN_H
#define VRAMFIT_JOB_JOB_RUN_H

#include <string>
#include <vector>

#include "base/subprocess.h"
#include "job/cudnn_source.h"
#include "job/environment.h"
#include "job/file_layer.h"
#include "job/installation.h"
#include "job/run.h"
#include "job/session.h"
#include "job/zygote.h"

namespace vramfit::job {

// What holds for every run of one command.
struct JobSetup {
  Installation installation;
  JobEnvironment job;
  int cuda_major = 0;
  std::optional<CudnnSource> cudnn;   // whom to ask about workspaces
  std::vector<std::string> untested;  // model::RunResult has it
};

base::Result<JobSetup> prepare_job(const RunRequest& request, base::ProgressSink& progress);

// One run: its session lives as long as this does.
class JobRun {
 public:
  static base::Result<JobRun> open(const JobSetup& setup, const RunRequest& request);

  base::Environment environment() const;  // for the child
  ZygoteJob for_zygote(const PythonCommand& command) const;
  const Session& session() const { return session_; }
  const FileLayer& layer() const { return layer_; }
  // Reads everything the job left, once. The session may go afterwards.
  base::Result<RunOutcome> read(const base::Ended& ended);

 private:
  JobRun(const JobSetup& setup, RunRequest request, std::vector<model::EmulatedCard> cards, Session session,
         FileLayer layer)
      : setup_(&setup),
        request_(std::move(request)),
        cards_(std::move(cards)),
        session_(std::move(session)),
        layer_(std::move(layer)) {}

  const JobSetup* setup_;
  RunRequest request_;
  std::vector<model::EmulatedCard> cards_;
  Session session_;
  FileLayer layer_;  // lies in the session's folder
};

}  // namespace vramfit::job

#endif
