// Reads the errors of shared memory (/dev/shm) that is too small.
#ifndef VRAMFIT_INGEST_TEXT_SHM_ERROR_H
#define VRAMFIT_INGEST_TEXT_SHM_ERROR_H

#include <optional>
#include <string_view>

#include "ingest/text/reader.h"

namespace vramfit::ingest {

extern const TextFormat kShmErrorFormat;

// The error without `at` and `speaker`.
std::optional<model::ShmError> parse_shm_error(std::string_view text);

}  // namespace vramfit::ingest

#endif
