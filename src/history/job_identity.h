// What a command is, for the history: which file is the job, a hash of it, and the version of the sources around it.
#ifndef VRAMFIT_HISTORY_JOB_IDENTITY_H
#define VRAMFIT_HISTORY_JOB_IDENTITY_H

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "model/stored_run.h"

namespace vramfit::history {

// The first word that is a file of this name and no program: "train.py" of {"torchrun", "--nproc", "2", "train.py"}.
std::filesystem::path find_script(const std::vector<std::string>& command, const std::filesystem::path& folder);

// A name-based UUID of these contents (RFC 9562, version 5: SHA-1, namespace OID): Python's
// uuid.uuid5(uuid.NAMESPACE_OID, contents).
std::string hash_contents(std::string_view contents);

// Empty where there is no git or no repository. Asks git once, read-only, for two seconds at most.
model::GitState read_git(const std::filesystem::path& folder);

// Everything of a run's start that the command alone tells.
model::RunStart describe_job(std::string verb, const std::vector<std::string>& command, std::string version);

}  // namespace vramfit::history

#endif
