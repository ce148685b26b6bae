// Reads a memory snapshot: `_snapshot.pickle` of torch.cuda.memory._dump_snapshot, the same in gzip or zip, or one that
// torch.save wrote. Nothing in the file is executed, and no name in it is opened.
#ifndef VRAMFIT_INGEST_SNAPSHOT_READER_H
#define VRAMFIT_INGEST_SNAPSHOT_READER_H

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "base/error.h"
#include "model/snapshot.h"

namespace vramfit::ingest {

// Whether the first bytes of a file (some 512) may be those of a snapshot: a pickle whose first text is one of a
// snapshot's, gzip, or zip. What is packed is only known by reading it.
bool sniff_snapshot(std::span<const std::byte> head);

struct SnapshotLimits {
  // 0: 256 MiB and twice the size of the file, for packed ones up to 8 GiB.
  std::uint64_t memory_bytes = 0;
};

// A file that ends too early or is damaged gives what was complete before, with Snapshot::truncated_at; one without
// anything usable is an error with the offset.
base::Result<model::Snapshot> read_snapshot(const std::filesystem::path& path, SnapshotLimits limits = {});
base::Result<model::Snapshot> parse_snapshot(std::span<const std::byte> bytes, std::string_view name,
                                             SnapshotLimits limits = {});

}  // namespace vramfit::ingest

#endif
