// Lines that a script's own loop prints: alike but for their numbers. Whether one of the numbers is memory, its unit
// tells, or its label, or what else the text says: the call that is printed, or a message whose figure it ends at.
#ifndef VRAMFIT_INGEST_TEXT_LOOP_PRINT_H
#define VRAMFIT_INGEST_TEXT_LOOP_PRINT_H

#include "ingest/text/reader.h"

namespace vramfit::ingest {

extern const TextFormat kLoopPrintFormat;

}  // namespace vramfit::ingest

#endif
