// Makes a ledger by hand, for tests and for vramfit_ledger_tool; the product's own creator is src/job.
#ifndef VRAMFIT_VIRTUAL_GPU_TESTING_SESSION_H
#define VRAMFIT_VIRTUAL_GPU_TESTING_SESSION_H

#include <string>
#include <vector>

#include "vramfit/ledger.h"

namespace vramfit::testing {

// An RTX 3090 as its driver describes it (sizes seen in logs; context as measured for CUDA 12).
vf_card example_card();

struct SessionOptions {
  std::vector<vf_card> cards = {example_card()};
  unsigned driver_version = 13000;
  std::string driver_name = "580.95.05";
  unsigned values = 0;
  long long nccl_channel_bytes = 0;
};

// Fails when the file exists. Returns an empty text, or why not.
std::string create_session(const std::string& path, const SessionOptions& options);
// Maps it for reading and writing; null when it cannot.
vf_ledger* open_session(const std::string& path);
void close_session(vf_ledger* ledger);

}  // namespace vramfit::testing

#endif
