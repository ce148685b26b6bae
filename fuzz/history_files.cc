// Files of runs and sweeps, written by us and by hand: the first byte chooses the reader. What is read and can be
// written comes back the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "ingest/history_file.h"
#include "ingest/run_file.h"
#include "ingest/sweep_file.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace ingest = vramfit::ingest;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'e':
      static_cast<void>(ingest::parse_run_end(text));
      break;
    case 'h':
      static_cast<void>(ingest::parse_history(text, "fuzz"));
      break;
    case 't':
      static_cast<void>(ingest::parse_sweep_toml(text, "fuzz"));
      break;
    case 'j':
      if (const auto spec = ingest::parse_sweep_json(text, "fuzz")) {
        require(ingest::parse_sweep_json(ingest::sweep_to_json(*spec), "again").has_value());
      }
      break;
    case 'w':
      if (const auto words = ingest::parse_words(text, "fuzz")) {
        require(ingest::parse_words(ingest::words_to_json(*words), "again") == *words);
      }
      break;
    case 'r':
      if (const auto result = ingest::parse_trial_result(text, "fuzz")) {
        require(ingest::parse_trial_result(ingest::trial_result_to_json(*result), "again").has_value());
      }
      break;
    default:
      return -1;  // nothing for the corpus
  }
  return 0;
}
