// The host's memory as programs print it beside their steps: "rss 12.1GB", "cpu_mem: 8123 MB". Of the card's memory the
// readers make a series of their own (memory_series.h).
#ifndef VRAMFIT_DOCTOR_HOST_SERIES_H
#define VRAMFIT_DOCTOR_HOST_SERIES_H

#include <optional>
#include <string>

#include "model/evidence.h"

namespace vramfit::doctor {

struct HostRise {
  model::SourceLine at;  // the last reading
  std::string label;
  double first = 0, last = 0;  // in the unit in which it is printed
  std::size_t readings = 0;
};

// The first label of the host's memory whose figure rises through both halves of a text, to half as much again or more.
std::optional<HostRise> find_host_rise(const model::TextFile& file);

}  // namespace vramfit::doctor

#endif
