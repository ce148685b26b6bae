// Reads Python tracebacks: plain, IPython's, rich's and faulthandler's; chained, carried over from worker processes and
// threads, and of several ranks at once, with or without a prefix that tells whose line it is.
#ifndef VRAMFIT_INGEST_TEXT_TRACEBACK_H
#define VRAMFIT_INGEST_TEXT_TRACEBACK_H

#include "ingest/text/reader.h"

namespace vramfit::ingest {

extern const TextFormat kTracebackFormat;

// The marks (model/evidence.h) that the frames of a traceback bear, outermost first.
std::vector<model::PhaseMark> find_phase_marks(const model::Traceback& traceback);

}  // namespace vramfit::ingest

#endif
