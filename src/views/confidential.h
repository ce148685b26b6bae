// What of a page may be given away: sizes, cards, versions, module names; not the job's sources nor where it lies.
#ifndef VRAMFIT_VIEWS_CONFIDENTIAL_H
#define VRAMFIT_VIEWS_CONFIDENTIAL_H

#include <string>
#include <string_view>

#include "report/page/facts.h"

namespace vramfit::views {

// Leaves out source lines, stacks, messages, paths, command, folder, script, host, branch, notes and marks. Sentences
// that stay lose every word that looks like a path or a place in a script.
void make_confidential(report::page::PageFacts& facts);

// "saved to /data/me/run/out.pt (12 times)" -> "saved to [left out] (12 times)"
std::string without_paths(std::string_view text);

}  // namespace vramfit::views

#endif
