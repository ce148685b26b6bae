// Files that say what was to be run, and not what came of it: programs, job scripts, settings, lists of packages.
#ifndef VRAMFIT_DOCTOR_NOT_RUN_H
#define VRAMFIT_DOCTOR_NOT_RUN_H

#include <optional>
#include <string>

#include "doctor/scene.h"

namespace vramfit::doctor {

struct NotRun {
  std::string what;       // "a program's source"
  std::string command;    // that runs it, as far as its text or its name tells
  bool fills_in = false;  // a name of the user's own has to be put into the command
};

// What such a file is; nothing, where something that a run printed stands in it.
std::optional<NotRun> find_not_run(const Scene& scene, const model::TextFile& file);

// Nothing was given but such files: what any of them would do is not known.
bool was_nothing_run(const Scene& scene);

}  // namespace vramfit::doctor

#endif
