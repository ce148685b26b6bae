// Reads torchrun's account of which process failed first.
#ifndef VRAMFIT_INGEST_TEXT_LAUNCH_FAILURE_H
#define VRAMFIT_INGEST_TEXT_LAUNCH_FAILURE_H

#include "ingest/text/reader.h"

namespace vramfit::ingest {

extern const TextFormat kLaunchFailureFormat;

}  // namespace vramfit::ingest

#endif
