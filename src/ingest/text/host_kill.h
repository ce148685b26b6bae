// Reads the signs that the host, not the card, ran out of memory: the shell's "Killed", exit status 137, the kernel's
// and the cgroups' OOM lines, containers, schedulers, and allocations that the host refused.
#ifndef VRAMFIT_INGEST_TEXT_HOST_KILL_H
#define VRAMFIT_INGEST_TEXT_HOST_KILL_H

#include <optional>
#include <string_view>

#include "ingest/text/reader.h"

namespace vramfit::ingest {

extern const TextFormat kHostKillFormat;

// One line by itself; without `at` and `speaker`.
std::optional<model::HostKill> parse_host_kill(std::string_view text);

}  // namespace vramfit::ingest

#endif
