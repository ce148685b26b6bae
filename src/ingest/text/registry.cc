#include "ingest/text/registry.h"

#include <array>

#include "ingest/text/oom_message.h"

namespace vramfit::ingest {

std::span<const TextFormat* const> text_formats() {
  static constexpr std::array<const TextFormat*, 1> kFormats{&kOomMessageFormat};
  return kFormats;
}

}  // namespace vramfit::ingest
