// Failure injection for monitors: what a card would do that is busy, divided, lost or out of reach. Without
// VRAMFIT_NVML_SCRIPT there is none of it. The variable names a file that is read again whenever it changes:
//
//   driver gone                     no driver: every call fails, and NVML must be initialised again when it is back
//   driver mismatch                 the same, as after an update of the driver
//   0 lost                          card 0 fell off the bus;  `reset`: it needs one
//   0 denied                        no permission to see its processes
//   0 old                           answers no call newer than 2015
//   0 mig 3g.20gb:21474836480:1048576 2g.10gb:...     divided: name, bytes and used bytes of each slice
//   0 process 1234 1073741824 [1 0] one more process, by GPU and compute instance of a slice; bytes may be `unknown`
//   0 hidden 1073741824             memory that no listed process holds
//   0 utilization 97                a reading: utilization memory_utilization temperature power power_limit fan
//                                   sm_clock memory_clock throttle ecc_corrected ecc_uncorrected pcie_generation
//                                   pcie_width pcie_sent pcie_received nvlinks nvlinks_up performance_state persistence
#ifndef VRAMFIT_VIRTUAL_GPU_NVML_SCRIPT_H
#define VRAMFIT_VIRTUAL_GPU_NVML_SCRIPT_H

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "virtual_gpu/nvml/nvml.h"

namespace vramfit::nvml {

constexpr unsigned kMostSlices = 7;  // of one card

struct ScriptedSlice {
  std::string name;
  uint64_t total = 0, used = 0;
};

struct ScriptedProcess {
  uint32_t pid = 0;
  uint64_t used_bytes = 0;
  uint32_t gpu_instance = 0xffffffff, compute_instance = 0xffffffff;
};

struct ScriptedCard {
  int answer = kSuccess;          // of every call about it
  int process_answer = kSuccess;  // of its lists of processes
  bool old = false;
  std::vector<ScriptedSlice> slices;
  std::vector<ScriptedProcess> processes;
  int64_t hidden_bytes = 0;
  std::map<std::string, int64_t, std::less<>> readings;

  int64_t extra_bytes() const;  // of scripted processes and hidden memory
  std::optional<int64_t> reading(std::string_view name) const;
};

struct Script {
  int driver = kSuccess;
  std::map<int, ScriptedCard> cards;
};

// Lines that make no sense are left out.
Script parse_script(std::string_view text);

// The script as it is now; an empty one without the variable.
std::shared_ptr<const Script> script();
// The script for one card; an empty one for others.
std::shared_ptr<const ScriptedCard> scripted(int card);
// The answer that a script forces on calls about this handle; kSuccess: none.
int forced_answer(Handle handle);
// The scripted reading of a card.
std::optional<int64_t> scripted_reading(Handle handle, std::string_view name);

// Slices, of scripts and of the ledger, are named by handles of their own.
Handle slice_handle(int card, unsigned slice);
struct SliceName {
  int card = -1;
  unsigned slice = 0;
};
std::optional<SliceName> find_slice(Handle handle);

}  // namespace vramfit::nvml

#endif
