// Words of a memory that is full or nearly so, without any that says what failed: a program's warning ("only 412 MB
// VRAM remaining"), or what a user tells ("gpu ram goes to 100 % and it dies").
#ifndef VRAMFIT_INGEST_TEXT_MEMORY_PRESSURE_H
#define VRAMFIT_INGEST_TEXT_MEMORY_PRESSURE_H

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace vramfit::ingest {

// The place of such words in a line in lower case, from their first byte to behind their last.
std::optional<std::pair<std::size_t, std::size_t>> find_memory_pressure(std::string_view low);

}  // namespace vramfit::ingest

#endif
