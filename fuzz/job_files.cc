// Small JSON files about jobs, written by us, by hand and by others: the first byte chooses the reader.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "chosen_reader.h"
#include "ingest/network_files.h"
#include "ingest/output_seen.h"
#include "ingest/patch_file.h"
#include "ingest/warm_answer.h"
#include "isolate/layer.h"
#include "job/learned.h"
#include "sweep/slurm_text.h"

namespace {

namespace ingest = vramfit::ingest;
namespace isolate = vramfit::isolate;

void read_output_seen(std::string_view text) { static_cast<void>(ingest::parse_output_seen(text)); }
void read_patch(std::string_view text) { static_cast<void>(ingest::parse_patch(text, "fuzz")); }
void read_config(std::string_view text) { static_cast<void>(ingest::parse_model_config(text, "fuzz")); }
void read_networks(std::string_view text) { static_cast<void>(ingest::parse_networks(text, "fuzz")); }
void read_answer(std::string_view text) { static_cast<void>(ingest::read_warm_answer(text)); }
void read_learned(std::string_view text) { static_cast<void>(vramfit::job::parse_learned(text, "t4")); }

// What is read can be written, and is the same when it is read again.
void read_slurm_jobs(std::string_view text) {
  namespace sweep = vramfit::sweep;
  const auto jobs = sweep::parse_slurm_jobs(text, "fuzz");
  vramfit::fuzz::require(!jobs || *sweep::parse_slurm_jobs(sweep::to_text(*jobs), "again") == *jobs);
}

void read_slurm(std::string_view text) {
  static_cast<void>(vramfit::sweep::parse_submitted(std::string(text)));
  static_cast<void>(vramfit::sweep::parse_queue(std::string(text)));
}

// Likewise.
void read_layer(std::string_view text) {
  const auto spec = isolate::parse_layer_spec(std::string(text));
  if (!spec) return;
  const std::string written = isolate::to_text(*spec);
  const auto again = isolate::parse_layer_spec(written);
  vramfit::fuzz::require(again && isolate::to_text(*again) == written);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return vramfit::fuzz::read_as_chosen(data, size,
                                       {{'p', read_patch},
                                        {'o', read_output_seen},
                                        {'n', read_config},
                                        {'t', read_networks},
                                        {'l', read_learned},
                                        {'w', read_answer},
                                        {'s', read_layer},
                                        {'j', read_slurm_jobs},
                                        {'q', read_slurm}});
}
