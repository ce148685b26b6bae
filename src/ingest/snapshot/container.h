// What a snapshot may be packed in: gzip, or a zip archive (torch.save writes one; so do people).
#ifndef VRAMFIT_INGEST_SNAPSHOT_CONTAINER_H
#define VRAMFIT_INGEST_SNAPSHOT_CONTAINER_H

#include <memory>
#include <string>

#include "base/error.h"
#include "ingest/pickle/source.h"

namespace vramfit::ingest::snapshot {

enum class Packing { kNone, kGzip, kZip };

struct Opened {
  std::unique_ptr<pickle::Source> source;
  Packing packing = Packing::kNone;
  std::string member;  // of a zip archive
};

// The pickle in the storage, unpacked while it is read. The storage must outlive it. Names inside archives are never
// used as paths. A zip archive without its end is read up to where it was cut.
base::Result<Opened> open_container(pickle::Storage& storage);

}  // namespace vramfit::ingest::snapshot

#endif
