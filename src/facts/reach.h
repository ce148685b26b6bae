// How far a run went, out of what the hooks noted: its budget, the lines it executed, what was left out.
#ifndef VRAMFIT_FACTS_REACH_H
#define VRAMFIT_FACTS_REACH_H

#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "model/reach.h"

namespace vramfit::model {
struct Recording;
}

namespace vramfit::facts {

// Reads the reach of a run that ended by itself: what stopped one from outside is not in the notes.
model::Reach read_reach(std::span<const model::Recording> recordings);

// The code that any process executed of the script's own files, by file: lines, and branches that share a line with
// their test, by line and column.
struct Executed {
  std::map<std::string, std::set<int>, std::less<>> lines;
  std::map<std::string, std::set<std::pair<int, int>>, std::less<>> parts;
};
Executed read_executed(std::span<const model::Recording> recordings);

// Drops what was executed after all, by another process or in another run.
void drop_executed(const Executed& executed, model::Reach& reach);

}  // namespace vramfit::facts

#endif
