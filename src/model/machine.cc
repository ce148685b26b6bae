#include "model/machine.h"

#include <array>

namespace vramfit::model {

std::string_view to_string(Absence why) {
  switch (why) {
    case Absence::kNotRead:
      return "not read";
    case Absence::kNotSupported:
      return "not supported";
    case Absence::kNoPermission:
      return "no permission";
    case Absence::kLost:
      return "lost";
    case Absence::kFailed:
      return "failed";
  }
  return "not read";
}

std::string_view to_string(ProcessState state) {
  switch (state) {
    case ProcessState::kRunning:
      return "running";
    case ProcessState::kZombie:
      return "zombie";
    case ProcessState::kUnseen:
      return "unseen";
  }
  return "running";
}

namespace {

using Card = CardReading;
constexpr std::array kCardFields = {
    Field<Card>{"index", &Card::index, Unit::kCount, "Number of the card in the driver's order"},
    Field<Card>{"total_bytes", &Card::total_bytes, Unit::kBytes, "Memory of the card"},
    Field<Card>{"used_bytes", &Card::used_bytes, Unit::kBytes, "Memory in use, the driver's own left out"},
    Field<Card>{"free_bytes", &Card::free_bytes, Unit::kBytes, "Memory that can still be taken"},
    Field<Card>{"reserved_bytes", &Card::reserved_bytes, Unit::kBytes, "Memory the driver keeps for itself"},
    Field<Card>{"unexplained_bytes", &Card::unexplained_bytes, Unit::kBytes,
                "Memory in use by no process that the driver shows"},
    Field<Card>{"peak_used_bytes", &Card::peak_used_bytes, Unit::kBytes, "Exact peak of a virtual card"},
    Field<Card>{"bar1_used_bytes", &Card::bar1_used_bytes, Unit::kBytes, "Memory mapped through BAR1"},
    Field<Card>{"bar1_total_bytes", &Card::bar1_total_bytes, Unit::kBytes, "Size of BAR1"},
    Field<Card>{"gpu_percent", &Card::gpu_percent, Unit::kPercent, "Time in which a kernel ran"},
    Field<Card>{"memory_percent", &Card::memory_percent, Unit::kPercent, "Time in which memory was read or written"},
    Field<Card>{"temperature_celsius", &Card::temperature_celsius, Unit::kCelsius, "Temperature of the chip"},
    Field<Card>{"fan_percent", &Card::fan_percent, Unit::kPercent, "Intended fan speed"},
    Field<Card>{"power_milliwatts", &Card::power_milliwatts, Unit::kMilliwatts, "Power drawn by the board"},
    Field<Card>{"power_limit_milliwatts", &Card::power_limit_milliwatts, Unit::kMilliwatts, "Enforced power limit"},
    Field<Card>{"sm_clock_mhz", &Card::sm_clock_mhz, Unit::kMegahertz, "Clock of the multiprocessors"},
    Field<Card>{"memory_clock_mhz", &Card::memory_clock_mhz, Unit::kMegahertz, "Clock of the memory"},
    Field<Card>{"max_sm_clock_mhz", &Card::max_sm_clock_mhz, Unit::kMegahertz, "Highest clock of the multiprocessors"},
    Field<Card>{"throttle_reasons", &Card::throttle_reasons, Unit::kCount, "Why clocks are low, as NVML's bit mask"},
    Field<Card>{"ecc_corrected", &Card::ecc_corrected, Unit::kCount, "Corrected memory errors since the last reset"},
    Field<Card>{"ecc_uncorrected", &Card::ecc_uncorrected, Unit::kCount,
                "Uncorrected memory errors since the last reset"},
    Field<Card>{"pcie_generation", &Card::pcie_generation, Unit::kCount, "PCIe generation in use"},
    Field<Card>{"pcie_width", &Card::pcie_width, Unit::kCount, "PCIe lanes in use"},
    Field<Card>{"pcie_received_bytes_per_second", &Card::pcie_received_bytes_per_second, Unit::kBytesPerSecond,
                "PCIe traffic to the card"},
    Field<Card>{"pcie_sent_bytes_per_second", &Card::pcie_sent_bytes_per_second, Unit::kBytesPerSecond,
                "PCIe traffic from the card"},
    Field<Card>{"nvlinks_up", &Card::nvlinks_up, Unit::kCount, "NVLinks that are up"},
    Field<Card>{"nvlinks", &Card::nvlinks, Unit::kCount, "NVLinks of the card"},
    Field<Card>{"mig_mode", &Card::mig_mode, Unit::kCount, "1 when the card is divided into MIG slices"},
    Field<Card>{"gpu_instance", &Card::gpu_instance, Unit::kCount, "GPU instance of a MIG slice"},
    Field<Card>{"compute_instance", &Card::compute_instance, Unit::kCount, "Compute instance of a MIG slice"},
    Field<Card>{"persistence_mode", &Card::persistence_mode, Unit::kCount,
                "1 when the driver stays loaded with no process"},
    Field<Card>{"performance_state", &Card::performance_state, Unit::kCount, "P-state: 0 fastest, 15 slowest"},
};

using Use = CardUse;
constexpr std::array kUseFields = {
    Field<Use>{"used_bytes", &Use::used_bytes, Unit::kBytes, "Memory that the process holds of the card"},
    Field<Use>{"sm_percent", &Use::sm_percent, Unit::kPercent, "Time in which a kernel of the process ran"},
    Field<Use>{"allocated_bytes", &Use::allocated_bytes, Unit::kBytes, "PyTorch: memory of live tensors"},
    Field<Use>{"reserved_bytes", &Use::reserved_bytes, Unit::kBytes, "PyTorch: memory taken from the driver"},
    Field<Use>{"context_bytes", &Use::context_bytes, Unit::kBytes, "CUDA context of the process"},
    Field<Use>{"library_bytes", &Use::library_bytes, Unit::kBytes, "Memory that libraries hold for themselves"},
    Field<Use>{"peak_used_bytes", &Use::peak_used_bytes, Unit::kBytes, "Exact peak on a virtual card"},
};

using Process = ProcessReading;
constexpr std::array kProcessFields = {
    Field<Process>{"started_unix_seconds", &Process::started_unix_seconds, Unit::kSeconds, "When it started"},
    Field<Process>{"resident_bytes", &Process::resident_bytes, Unit::kBytes, "Host memory of the process"},
    Field<Process>{"locked_bytes", &Process::locked_bytes, Unit::kBytes, "Host memory that it has locked or pinned"},
};

using Host = HostReading;
constexpr std::array kHostFields = {
    Field<Host>{"memory_total_bytes", &Host::memory_total_bytes, Unit::kBytes, "Memory of the host"},
    Field<Host>{"memory_available_bytes", &Host::memory_available_bytes, Unit::kBytes,
                "Host memory that can be had without swapping"},
    Field<Host>{"page_cache_bytes", &Host::page_cache_bytes, Unit::kBytes, "Files kept in host memory"},
    Field<Host>{"locked_bytes", &Host::locked_bytes, Unit::kBytes, "Host memory locked in place"},
    Field<Host>{"shm_total_bytes", &Host::shm_total_bytes, Unit::kBytes, "Size of /dev/shm"},
    Field<Host>{"shm_used_bytes", &Host::shm_used_bytes, Unit::kBytes, "Memory in use in /dev/shm"},
    Field<Host>{"swap_total_bytes", &Host::swap_total_bytes, Unit::kBytes, "Swap space"},
    Field<Host>{"swap_used_bytes", &Host::swap_used_bytes, Unit::kBytes, "Swap space in use"},
    Field<Host>{"cgroup_limit_bytes", &Host::cgroup_limit_bytes, Unit::kBytes, "Memory limit of this cgroup"},
    Field<Host>{"cgroup_used_bytes", &Host::cgroup_used_bytes, Unit::kBytes, "Memory charged to this cgroup"},
    Field<Host>{"cgroup_oom_kills", &Host::cgroup_oom_kills, Unit::kCount,
                "Processes of this cgroup killed for memory"},
};

struct ThrottleWord {
  std::int64_t bit;
  std::string_view word;
};
// nvmlClocksEventReasons of nvml.h. Left out: 0x1 idle, 0x2 the user's clocks, 0x10 sync boost, 0x100 display clocks.
constexpr std::array kThrottleWords = {
    ThrottleWord{0x4, "power cap"},          ThrottleWord{0x8, "hardware slowdown"}, ThrottleWord{0x20, "heat"},
    ThrottleWord{0x40, "heat, by hardware"}, ThrottleWord{0x80, "power brake"},
};

}  // namespace

std::span<const Field<CardReading>> card_fields() { return kCardFields; }
std::span<const Field<CardUse>> use_fields() { return kUseFields; }
std::span<const Field<ProcessReading>> process_fields() { return kProcessFields; }
std::span<const Field<HostReading>> host_fields() { return kHostFields; }

std::vector<std::string_view> throttle_words(std::int64_t reasons) {
  std::vector<std::string_view> words;
  for (const ThrottleWord& entry : kThrottleWords) {
    if ((reasons & entry.bit) != 0) words.push_back(entry.word);
  }
  return words;
}

}  // namespace vramfit::model
