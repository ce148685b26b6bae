// The few calls in pickles whose result is plain data: bytes before protocol 3, sets before protocol 4, ordered dicts.
#ifndef VRAMFIT_INGEST_PICKLE_KNOWN_CALLS_H
#define VRAMFIT_INGEST_PICKLE_KNOWN_CALLS_H

#include <optional>

#include "ingest/pickle/heap.h"
#include "ingest/pickle/strings.h"
#include "ingest/pickle/value.h"

namespace vramfit::ingest::pickle {

// The result, worked out here and not by calling anything; nothing for every other callable.
std::optional<Value> evaluate_known_call(const Value& callable, const Value& arguments, Strings& strings, Heap& heap);

}  // namespace vramfit::ingest::pickle

#endif
