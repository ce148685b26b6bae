// Reads Python tracebacks: plain, IPython's, rich's and faulthandler's; chained, carried over from worker processes and
// threads, and of several ranks at once, with or without a prefix that tells whose line it is.
#ifndef VRAMFIT_INGEST_TEXT_TRACEBACK_H
#define VRAMFIT_INGEST_TEXT_TRACEBACK_H

#include <memory>
#include <vector>

#include "ingest/text/reader.h"

namespace vramfit::ingest {

extern const TextFormat kTracebackFormat;

// Finds the marks (model/evidence.h) that the frames of tracebacks bear, outermost first.
class PhaseMarks {
 public:
  PhaseMarks();
  ~PhaseMarks();
  std::vector<model::PhaseMark> find(const model::Traceback& traceback);

 private:
  struct Known;  // what the names of earlier frames told
  std::unique_ptr<Known> known_;
};

}  // namespace vramfit::ingest

#endif
