// Gzip and zip: whatever the headers claim, what comes out is read to its end within bounds, or refused.
#include "ingest/snapshot/container.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace ingest = vramfit::ingest;
  ingest::pickle::MemoryStorage storage({reinterpret_cast<const std::byte*>(data), size});
  auto opened = ingest::snapshot::open_container(storage);
  if (!opened) {
    if (opened.error().what.empty()) std::abort();
    return 0;
  }
  // Deflate packs at most 1032 to 1.
  const std::size_t most = 1032 * size + 1024;
  std::vector<char> room(64 << 10);
  std::size_t total = 0;
  for (;;) {
    const auto got = opened->source->read(room);
    if (!got || *got == 0) return 0;
    total += *got;
    if (*got > room.size() || total > most) std::abort();
  }
}
