// A value as JSON, for people and for keeping fields that nothing else understands.
#ifndef VRAMFIT_INGEST_PICKLE_JSON_H
#define VRAMFIT_INGEST_PICKLE_JSON_H

#include <cstddef>
#include <string>

#include "ingest/pickle/heap.h"
#include "ingest/pickle/strings.h"
#include "ingest/pickle/value.h"

namespace vramfit::ingest::pickle {

// Shared containers are written out each time, so the text is cut (with "...") at about `most` bytes and containers
// below 32 levels are "...": a few bytes of pickle may stand for a text without end. Bytes are base16, classes and
// calls objects that name them, integers beyond 64 bits text in base 16, non-finite floats text.
std::string to_json(const Value& value, const Strings& strings, const Heap& heap, std::size_t most = 1000);

// A JSON string literal. What is not UTF-8 becomes U+FFFD.
std::string quote_json(std::string_view text);

}  // namespace vramfit::ingest::pickle

#endif
