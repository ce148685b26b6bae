// Reads what the host's own tools print: df, free -h, ulimit -a, /proc/meminfo, docker inspect's shared memory size.
#ifndef VRAMFIT_INGEST_TEXT_HOST_INFO_H
#define VRAMFIT_INGEST_TEXT_HOST_INFO_H

#include <optional>
#include <string_view>

#include "ingest/text/reader.h"

namespace vramfit::ingest {

extern const TextFormat kHostInfoFormat;

// One line; without `at`. `header` is the line above, which a row of df needs for its unit.
std::optional<model::HostInfo> parse_host_info(std::string_view text, std::string_view header = {});

}  // namespace vramfit::ingest

#endif
