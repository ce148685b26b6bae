// Reads memory errors and reports of programs other than PyTorch's allocators: TensorFlow, JAX, vLLM, SGLang, RMM,
// CuPy, Paddle, ONNX Runtime, TensorRT, llama.cpp and Ollama, Numba, MXNet.
#ifndef VRAMFIT_INGEST_TEXT_FOREIGN_H
#define VRAMFIT_INGEST_TEXT_FOREIGN_H

#include <optional>
#include <string_view>

#include "ingest/text/reader.h"

namespace vramfit::ingest {

extern const TextFormat kForeignFormat;

// One line by itself; without `at` and `speaker`.
std::optional<model::ForeignDump> parse_foreign(std::string_view text);

}  // namespace vramfit::ingest

#endif
