// All formats of text that vramfit reads.
#ifndef VRAMFIT_INGEST_TEXT_REGISTRY_H
#define VRAMFIT_INGEST_TEXT_REGISTRY_H

#include <span>

#include "ingest/text/reader.h"

namespace vramfit::ingest {

std::span<const TextFormat* const> text_formats();

}  // namespace vramfit::ingest

#endif
