// "X could not get N bytes of Y", whoever X is: a verb of asking for memory, words that it was refused, and an amount.
// For lines that no program's own form is known of.
#ifndef VRAMFIT_INGEST_TEXT_REFUSED_REQUEST_H
#define VRAMFIT_INGEST_TEXT_REFUSED_REQUEST_H

#include <optional>
#include <string_view>

#include "model/evidence.h"

namespace vramfit::ingest {

// The first amount in a line that asks for memory: "allocating 19871.42 MiB on device 0".
std::optional<model::PrintedBytes> find_requested(std::string_view text);

// "cannot reserve 6 GiB": that an amount was asked for and refused, by whomever.
bool refuses_an_amount(std::string_view text);

// `program` is the name of what asked, where one stands there ("PxgCudaDeviceMemoryAllocator"), else empty.
std::optional<model::ForeignDump> parse_refused_request(std::string_view text);

}  // namespace vramfit::ingest

#endif
