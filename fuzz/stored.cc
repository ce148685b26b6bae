// What runs left in the history, read again for `show`, `compare` and the pages: the first byte chooses the reader.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "ingest/stored_diagnosis.h"
#include "ingest/stored_modules.h"
#include "ingest/stored_result.h"
#include "ingest/stored_sweep.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace ingest = vramfit::ingest;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'r':
      static_cast<void>(ingest::read_stored_result(text));
      break;
    case 'd':
      static_cast<void>(ingest::read_stored_diagnosis(text));
      break;
    case 's':
      static_cast<void>(ingest::read_stored_sweep(text));
      break;
    case 'm': {
      try {
        static_cast<void>(ingest::read_modules(nlohmann::json::parse(text)));
      } catch (const nlohmann::json::exception&) {  // as it says of what is no table
      }
      break;
    }
    default:
      return -1;  // nothing for the corpus
  }
  return 0;
}
