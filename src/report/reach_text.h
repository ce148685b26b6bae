// How far a run went, in sentences; text and pages share them.
#ifndef VRAMFIT_REPORT_REACH_TEXT_H
#define VRAMFIT_REPORT_REACH_TEXT_H

#include <string>
#include <vector>

#include "model/reach.h"

namespace vramfit::report {

// "everything was run for 1,250 batches and steps (16.1 s), then cut short", "looked at 5,000 of 118,287 samples ..."
std::vector<std::string> reach_sentences(const model::Reach& reach);

// "line 212 of train.py, evaluate(model), was not reached (every 1,000 steps)": lines that use the card, or may.
std::vector<std::string> unreached_sentences(const model::Reach& reach, std::size_t most);

}  // namespace vramfit::report

#endif
