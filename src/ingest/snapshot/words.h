// The words of a memory snapshot: torch/csrc/cuda/Module.cpp (THCPModule_memorySnapshot) and memory_snapshot.cpp, 2.0
// to 2.15. They are interned first, so that a word's pool id is its number here.
#ifndef VRAMFIT_INGEST_SNAPSHOT_WORDS_H
#define VRAMFIT_INGEST_SNAPSHOT_WORDS_H

#include <array>
#include <cstdint>
#include <string_view>

namespace vramfit::ingest::snapshot {

enum Word : std::uint32_t {
  kSegments,
  kDeviceTraces,
  kAllocatorSettings,
  kExternalAnnotations,
  kHostSegments,
  kHostTraces,
  kDevice,
  kAddress,
  kTotalSize,
  kAllocatedSize,
  kActiveSize,
  kRequestedSize,
  kStream,
  kSegmentType,
  kSegmentPoolId,
  kIsExpandable,
  kBlocks,
  kFrames,
  kSize,
  kState,
  kHistory,
  kRealSize,
  kAddr,
  kAction,
  kTimeUs,
  kDeviceFree,
  kCompileContext,
  kUserMetadata,
  kInternalMetadata,
  kPoolId,
  kFilename,
  kName,
  kLine,
  kFxNodeOp,
  kFxNodeName,
  kFxOriginalTrace,
  kStage,
  kWordCount,
};
static_assert(kWordCount <= 64, "a set of words is a 64-bit mask");

inline constexpr std::array<std::string_view, kWordCount> kWords = {"segments",
                                                                    "device_traces",
                                                                    "allocator_settings",
                                                                    "external_annotations",
                                                                    "host_segments",
                                                                    "host_traces",
                                                                    "device",
                                                                    "address",
                                                                    "total_size",
                                                                    "allocated_size",
                                                                    "active_size",
                                                                    "requested_size",
                                                                    "stream",
                                                                    "segment_type",
                                                                    "segment_pool_id",
                                                                    "is_expandable",
                                                                    "blocks",
                                                                    "frames",
                                                                    "size",
                                                                    "state",
                                                                    "history",
                                                                    "real_size",
                                                                    "addr",
                                                                    "action",
                                                                    "time_us",
                                                                    "device_free",
                                                                    "compile_context",
                                                                    "user_metadata",
                                                                    "internal_metadata",
                                                                    "pool_id",
                                                                    "filename",
                                                                    "name",
                                                                    "line",
                                                                    "fx_node_op",
                                                                    "fx_node_name",
                                                                    "fx_original_trace",
                                                                    "stage"};

}  // namespace vramfit::ingest::snapshot

#endif
