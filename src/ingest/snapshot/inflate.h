// Deflated bytes, unpacked a window at a time by zlib: what comes out needs no memory but the reader's.
#ifndef VRAMFIT_INGEST_SNAPSHOT_INFLATE_H
#define VRAMFIT_INGEST_SNAPSHOT_INFLATE_H

#include <memory>

#include "ingest/pickle/source.h"

namespace vramfit::ingest::snapshot {

enum class DeflateForm {
  kGzip,  // also several one after the other, as `cat a.gz b.gz` makes them
  kRaw,   // of a zip member
};

std::unique_ptr<pickle::Source> inflate(std::unique_ptr<pickle::Source> packed, DeflateForm form);

}  // namespace vramfit::ingest::snapshot

#endif
