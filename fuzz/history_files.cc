// Files of runs and sweeps, written by us and by hand: the first byte chooses the reader. What is read and can be
// written comes back the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "chosen_reader.h"
#include "ingest/history_file.h"
#include "ingest/run_file.h"
#include "ingest/sweep_file.h"

namespace {

namespace ingest = vramfit::ingest;
using vramfit::fuzz::require;

void read_end(std::string_view text) { static_cast<void>(ingest::parse_run_end(text)); }
void read_history(std::string_view text) { static_cast<void>(ingest::parse_history(text, "fuzz")); }
void read_toml(std::string_view text) { static_cast<void>(ingest::parse_sweep_toml(text, "fuzz")); }

void read_json(std::string_view text) {
  const auto spec = ingest::parse_sweep_json(text, "fuzz");
  if (spec) require(ingest::parse_sweep_json(ingest::sweep_to_json(*spec), "again").has_value());
}

void read_words(std::string_view text) {
  const auto words = ingest::parse_words(text, "fuzz");
  if (words) require(ingest::parse_words(ingest::words_to_json(*words), "again") == *words);
}

void read_result(std::string_view text) {
  const auto result = ingest::parse_trial_result(text, "fuzz");
  if (result) require(ingest::parse_trial_result(ingest::trial_result_to_json(*result), "again").has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return vramfit::fuzz::read_as_chosen(data, size,
                                       {{'e', read_end},
                                        {'h', read_history},
                                        {'t', read_toml},
                                        {'j', read_json},
                                        {'w', read_words},
                                        {'r', read_result}});
}
