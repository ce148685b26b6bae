// Reads errors of the libraries under PyTorch (cuBLAS, cuDNN, NCCL, NVML, the driver, ...), which often stand where a
// CUDA out-of-memory error should.
#ifndef VRAMFIT_INGEST_TEXT_LIBRARY_ERROR_H
#define VRAMFIT_INGEST_TEXT_LIBRARY_ERROR_H

#include <optional>
#include <string_view>

#include "ingest/text/reader.h"

namespace vramfit::ingest {

extern const TextFormat kLibraryErrorFormat;

// The error without `at` and `speaker`.
std::optional<model::LibraryError> parse_library_error(std::string_view text);

}  // namespace vramfit::ingest

#endif
