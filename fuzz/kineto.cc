// Traces of PyTorch's profiler, as anybody may hand them to `vramfit check`.
#include <cstddef>
#include <cstdint>
#include <span>

#include "ingest/kineto/reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static_cast<void>(vramfit::ingest::parse_kineto(std::as_bytes(std::span(data, size)), "fuzz"));
  return 0;
}
