// The options that every verb which runs a job has, and the request they make.
#ifndef VRAMFIT_CLI_JOB_OPTIONS_H
#define VRAMFIT_CLI_JOB_OPTIONS_H

#include <string>
#include <vector>

#include "base/error.h"
#include "base/progress.h"
#include "cli/parser.h"
#include "job/run.h"
#include "model/stored_run.h"

namespace vramfit::cli {

struct JobOptions {
  std::vector<std::string> gpus;
  std::string steps, within = "20", values = "auto", occupied, context, torch, cudnn = "auto";
  std::string address_order = "auto";
  bool no_learned = false;
  double timeout_seconds = 0;
  std::string files, keep_files;  // `files` and `steps` empty: as is usual for the card
  bool network = false;
  std::string json;
  bool verbose = false;
};

void add_job_options(const Parser& parser, JobOptions& options);

// --files, --network and --keep-files, where they make sense for these cards.
base::Result<job::FileOptions> build_file_options(const JobOptions& options, bool real);

// Says on `progress` what was chosen where the user left it open.
base::Result<job::RunRequest> build_request(const JobOptions& options, const std::vector<std::string>& command,
                                            base::ProgressSink& progress);

// What recordings of the card taught (`check --learn`), for what the options leave open.
void take_learned(const JobOptions& options, job::RunRequest& request);

// What the history notes when a verb starts a job. `plan` is the file of a plan that is applied; may be empty.
model::RunStart describe_start(std::string verb, const JobOptions& options, const std::vector<std::string>& command,
                               const std::string& plan);

// Writes the --json file, if one was asked for.
base::Result<void> write_json(const std::string& file, const std::string& text);

}  // namespace vramfit::cli

#endif
