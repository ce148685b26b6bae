// A recording of a real card, read from any of the formats, in the form in which it is compared.
#ifndef VRAMFIT_APP_CHECK_RECORDED_H
#define VRAMFIT_APP_CHECK_RECORDED_H

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "compare/event_stream.h"

namespace vramfit::app {

enum class RecordedFormat { kSnapshot, kKineto, kRunFolder };

struct Recorded {
  RecordedFormat format = RecordedFormat::kSnapshot;
  compare::EventStream stream;
  int device = 0;
  std::string card;    // a Kineto trace names it; else empty
  std::string torch;   // what the file tells of it: "2.6 or later"
  std::string damage;  // what is missing of the file; empty: it is whole
  std::vector<std::string> notes;
};

std::string_view name_of(RecordedFormat format);  // "memory snapshot", ...

// `device`: nothing is the one with the most events.
base::Result<Recorded> read_recorded(const std::filesystem::path& path, std::optional<int> device);

}  // namespace vramfit::app

#endif
