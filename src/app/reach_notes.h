// How far a run went, out of what the hooks noted: its budget, the lines it executed, what was left out.
#ifndef VRAMFIT_APP_REACH_NOTES_H
#define VRAMFIT_APP_REACH_NOTES_H

#include <map>
#include <set>
#include <span>
#include <string>

#include "model/reach.h"
#include "model/recording.h"

namespace vramfit::app {

// `ended` says that the script came to an end of its own: nobody stopped it from outside.
model::Reach read_reach(std::span<const model::Recording> recordings, bool ended);

// Lines of the script's own files that any process executed, by file.
using ExecutedLines = std::map<std::string, std::set<int>, std::less<>>;
ExecutedLines read_executed(std::span<const model::Recording> recordings);

// Drops what was executed after all, by another process or in another run.
void drop_executed(const ExecutedLines& executed, model::Reach& reach);

}  // namespace vramfit::app

#endif
