// The use case behind `vramfit doctor`: runs the script if one is given, and diagnoses it with what files told.
#ifndef VRAMFIT_APP_DOCTOR_DOCTOR_H
#define VRAMFIT_APP_DOCTOR_DOCTOR_H

#include <optional>
#include <string>

#include "app/doctor/case_files.h"
#include "base/error.h"
#include "base/progress.h"
#include "job/run.h"
#include "model/finding.h"

namespace vramfit::app {

struct DoctorRequest {
  CaseFiles files;
  std::optional<job::RunRequest> run;  // the script
  std::string gpu;                     // its card as typed, for the commands of the advice
  std::optional<model::Card> card;     // that the files are of, where the user names it
};

// A file that can't be read is an error unless something else was read; then it is a warning of the diagnosis.
base::Result<model::Diagnosis> diagnose(DoctorRequest request, job::Runner& runner, base::ProgressSink& progress);

// The card that texts speak of, for a script that is to be run on the same; none: they don't say.
std::optional<job::CardChoice> card_named_in(const CaseFiles& files);

}  // namespace vramfit::app

#endif
