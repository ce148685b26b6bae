// One look at the whole machine, as often as asked: NVML, the virtual cards of running sessions, /proc and cgroups.
#ifndef VRAMFIT_PROBE_MACHINE_PROBE_H
#define VRAMFIT_PROBE_MACHINE_PROBE_H

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/machine.h"
#include "probe/host.h"
#include "probe/ledger_source.h"
#include "probe/nvml_source.h"
#include "probe/process_table.h"
#include "probe/recording_tail.h"

namespace vramfit::probe {

struct ProbeOptions {
  NvmlSource::Opener open_nvml;
  NvmlPace pace;
  bool sessions = true;  // virtual cards of running sessions too
  std::filesystem::path session_folder = "/dev/shm";
  HostPlaces host;
};

class MachineProbe {
 public:
  explicit MachineProbe(ProbeOptions options);

  // `now_ns` is monotonic and never goes back; `unix_ns` is stamped on the sample.
  model::MachineSample read(std::int64_t now_ns, std::int64_t unix_ns);

 private:
  void add_sessions(std::int64_t now_ns, model::MachineSample& sample, std::vector<ListedUse>& uses);
  void add_processes(std::int64_t now_ns, model::MachineSample& sample, std::vector<ListedUse>& uses);
  void add_allocator(const KnownProcess& process, const model::MachineSample& sample, model::CardUse& use);

  ProbeOptions options_;
  NvmlSource nvml_;
  LedgerSource ledgers_;
  ProcessTable processes_;
  model::HostReading host_;
  std::int64_t next_host_ns_ = 0;
  // What PyTorch last reported, by the process (pid and start) and its device number.
  std::map<std::pair<std::int64_t, std::int64_t>, std::map<int, AllocatorReading>> allocators_;
};

// The number under which a process with these CUDA_VISIBLE_DEVICES sees the card with this index and UUID; -1: not at
// all. Without the variable it is the index itself.
int device_number(const KnownProcess& process, const model::CardReading& card);

}  // namespace vramfit::probe

#endif
