// What `vramfit run --json` wrote, as much of it as the history keeps in tables.
#ifndef VRAMFIT_INGEST_RUN_FILE_H
#define VRAMFIT_INGEST_RUN_FILE_H

#include <string>
#include <string_view>

#include "base/error.h"
#include "model/stored_run.h"

namespace vramfit::ingest {

base::Result<model::RunEnd> parse_run_end(std::string_view text);

}  // namespace vramfit::ingest

#endif
