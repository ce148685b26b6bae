// A text as people post it: prose around logs, under headings. Its sentences tell what somebody saw, and which lines
// tell of nothing that happened: wishes, proposals, what a program is to print one day, source that handles errors.
#ifndef VRAMFIT_INGEST_TEXT_POST_H
#define VRAMFIT_INGEST_TEXT_POST_H

#include "ingest/text/reader.h"

namespace vramfit::ingest {

extern const TextFormat kPostFormat;

}  // namespace vramfit::ingest

#endif
