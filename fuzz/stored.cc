// What runs left in the history, read again for `show`, `compare` and the pages: the first byte chooses the reader.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "chosen_reader.h"
#include "ingest/stored_diagnosis.h"
#include "ingest/stored_modules.h"
#include "ingest/stored_result.h"
#include "ingest/stored_sweep.h"

namespace {

namespace ingest = vramfit::ingest;

void read_result(std::string_view text) { static_cast<void>(ingest::read_stored_result(text)); }
void read_diagnosis(std::string_view text) { static_cast<void>(ingest::read_stored_diagnosis(text)); }
void read_sweep(std::string_view text) { static_cast<void>(ingest::read_stored_sweep(text)); }

void read_table(std::string_view text) {
  try {
    static_cast<void>(ingest::read_modules(nlohmann::json::parse(text)));
  } catch (const nlohmann::json::exception&) {  // as it says of what is no table
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return vramfit::fuzz::read_as_chosen(
      data, size, {{'r', read_result}, {'d', read_diagnosis}, {'s', read_sweep}, {'m', read_table}});
}
