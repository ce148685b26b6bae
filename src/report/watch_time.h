// Points in time and durations as people and files write them.
#ifndef VRAMFIT_REPORT_WATCH_TIME_H
#define VRAMFIT_REPORT_WATCH_TIME_H

#include <cstdint>
#include <string>

namespace vramfit::report {

// "2026-11-21T10:28:17.250Z"
std::string to_rfc3339(std::int64_t unix_ns);
// "10:28:17" on this machine's clock.
std::string to_clock(std::int64_t unix_ns);
// Writes an age in at most six columns: "59s", "3m07s", "2h05m", "3d04h".
std::string to_age(std::int64_t seconds);

}  // namespace vramfit::report

#endif
