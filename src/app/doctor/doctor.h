// The use case behind `vramfit doctor`: reads what there is, runs the script if one is given, and diagnoses it all.
#ifndef VRAMFIT_APP_DOCTOR_DOCTOR_H
#define VRAMFIT_APP_DOCTOR_DOCTOR_H

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/progress.h"
#include "job/run.h"
#include "model/finding.h"

namespace vramfit::app {

struct DoctorRequest {
  std::vector<std::filesystem::path> files;  // "-": standard input
  std::optional<job::RunRequest> run;        // the script
  std::string gpu;                           // its card as typed, for the commands of the advice
  std::optional<model::Card> card;           // that the files are of, where the user names it
};

// A file that can't be read is an error unless something else was read; then it is a warning of the diagnosis.
base::Result<model::Diagnosis> diagnose(const DoctorRequest& request, job::Runner& runner,
                                        base::ProgressSink& progress);

// The card that texts speak of, for a script that is to be run on the same; none: they don't say.
std::optional<job::CardChoice> card_named_in(const std::vector<std::filesystem::path>& files);

}  // namespace vramfit::app

#endif
