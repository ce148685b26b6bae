// TensorBoard's event files: scalars of memory over time.
//
//   file    record ...
//   record  length u64 | masked crc32c of the length u32 | bytes | masked crc32c of the bytes u32   little-endian
//   bytes   tensorflow.Event in protobuf's wire format (tensorflow/core/util/event.proto, framework/summary.proto)
#ifndef VRAMFIT_REPORT_EXPORTS_TENSORBOARD_H
#define VRAMFIT_REPORT_EXPORTS_TENSORBOARD_H

#include <cstdint>
#include <string>
#include <string_view>

#include "report/exports/facts.h"

namespace vramfit::report::exports {

// The bytes of one file. Steps are milliseconds since the beginning; values are MiB, because the format keeps 24 bits.
std::string counters_to_events(const ExportFacts& facts);

// A name that TensorBoard takes for an event file.
std::string event_file_name(const ExportFacts& facts);

// CRC-32C (Castagnoli).
std::uint32_t crc32c(std::string_view bytes);

}  // namespace vramfit::report::exports

#endif
