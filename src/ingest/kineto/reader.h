// Reads Kineto traces, plain or in gzip, an event at a time: only what tells of memory is kept, and who was running.
#ifndef VRAMFIT_INGEST_KINETO_READER_H
#define VRAMFIT_INGEST_KINETO_READER_H

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

#include "base/error.h"
#include "model/kineto_trace.h"

namespace vramfit::ingest {

// Whether a file begins, once it is unpacked, as JSON does. False also for what can't be read.
bool sniff_kineto(const std::filesystem::path& path);

// An error for JSON that is no such trace, and for one without memory of a card (profile_memory was off).
base::Result<model::KinetoTrace> read_kineto(const std::filesystem::path& path);
base::Result<model::KinetoTrace> parse_kineto(std::span<const std::byte> bytes, std::string_view name);

}  // namespace vramfit::ingest

#endif
