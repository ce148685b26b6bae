// A plan file is written by hand too: a wrong one is an error with a place, and a right one survives the round trip.
#include "ingest/plan_file.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace ingest = vramfit::ingest;
  const auto plan = ingest::parse_plan({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!plan) return 0;
  const std::string text = ingest::plan_to_json(*plan);
  if (!ingest::parse_plan(text, "again")) std::abort();
  return 0;
}
