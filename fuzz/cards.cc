// A catalogue of cards comes from the user as well (--gpu file.toml).
#include "ingest/cards.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto cards = vramfit::ingest::parse_cards({reinterpret_cast<const char*>(data), size}, "fuzz");
  (void)cards;
  return 0;
}
