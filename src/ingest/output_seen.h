// The file by which a job asks to be run again with values (model::told::kValuesWantedFile): what it had printed.
#ifndef VRAMFIT_INGEST_OUTPUT_SEEN_H
#define VRAMFIT_INGEST_OUTPUT_SEEN_H

#include <optional>
#include <string_view>

#include "model/told.h"

namespace vramfit::ingest {

// None: it is not whole.
std::optional<model::told::OutputSeen> parse_output_seen(std::string_view text);

}  // namespace vramfit::ingest

#endif
