// Runs a request, and once more with retry: when the script reads a value that steers it and was not computed, or
// fails where a shortened run on a virtual card may be why.
#ifndef VRAMFIT_JOB_ANOTHER_TRY_H
#define VRAMFIT_JOB_ANOTHER_TRY_H

#include <functional>
#include <optional>
#include <string_view>

#include "job/run.h"

namespace vramfit::job {

// What the script is worth running again with; nothing when it neither asked nor failed, or there is nothing more to
// try.
std::optional<RetryOptions> find_retry(const RunRequest& request, const RunOutcome& outcome);

// Runs `request` and leaves in it what it was run again with. Tracked values that help nothing are not: the first
// failure is the script's.
base::Result<RunOutcome> run_with_retries(RunRequest& request,
                                          const std::function<base::Result<RunOutcome>(const RunRequest&)>& run_once,
                                          const std::function<void(std::string_view)>& say);

}  // namespace vramfit::job

#endif
