// One look at a machine: its cards, who uses them, and the host's memory. Plain values.
//
// A reading is a number or a reason why there is none; unknown is never 0. Every numeric reading is named in a table
// (card_fields() and its kin), so that recordings, CSV, JSON and metrics all tell the same ones under the same names.
#ifndef VRAMFIT_MODEL_MACHINE_H
#define VRAMFIT_MODEL_MACHINE_H

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit::model {

enum class Absence : std::uint8_t {
  kNotRead,       // nobody asked yet, or a file from a version that did not know it
  kNotSupported,  // this card, driver or kernel has no such reading
  kNoPermission,
  kLost,   // the card or the process is gone
  kFailed  // the driver answered with another error
};
std::string_view to_string(Absence why);

class Reading {
 public:
  constexpr Reading() = default;
  constexpr Reading(std::int64_t value) : value_(value), known_(true) {}  // NOLINT: a number is a reading
  constexpr Reading(Absence why) : why_(why) {}                           // NOLINT: and so is a reason

  constexpr explicit operator bool() const { return known_; }
  constexpr std::int64_t operator*() const { return value_; }
  constexpr std::int64_t value_or(std::int64_t other) const { return known_ ? value_ : other; }
  constexpr Absence why() const { return why_; }  // meaningless when there is a value
  friend constexpr bool operator==(const Reading&, const Reading&) = default;

 private:
  std::int64_t value_ = 0;
  bool known_ = false;
  Absence why_ = Absence::kNotRead;
};

// A card, or a MIG slice of one (`parent` is then the card's UUID).
struct CardReading {
  std::string uuid, name, bus_id, parent;
  std::string session;  // a virtual card of a running `vramfit run`: the session's name
  std::string problem;  // "fell off the bus"; empty: it answers
  Reading index;
  Reading total_bytes, used_bytes, free_bytes, reserved_bytes;  // reserved: the driver's own, not part of `used`
  Reading unexplained_bytes;                                    // used by no process that the driver shows
  Reading peak_used_bytes;                                      // exact on a virtual card, absent elsewhere
  Reading bar1_used_bytes, bar1_total_bytes;
  Reading gpu_percent, memory_percent;  // share of the last period in which kernels ran, memory was read or written
  Reading temperature_celsius, fan_percent, power_milliwatts, power_limit_milliwatts;
  Reading sm_clock_mhz, memory_clock_mhz, max_sm_clock_mhz;
  Reading throttle_reasons;  // bits of NVML's clocksEventReasons
  Reading ecc_corrected, ecc_uncorrected;
  Reading pcie_generation, pcie_width, pcie_received_bytes_per_second, pcie_sent_bytes_per_second;
  Reading nvlinks_up, nvlinks;
  Reading mig_mode, gpu_instance, compute_instance, persistence_mode, performance_state;
  friend bool operator==(const CardReading&, const CardReading&) = default;
};

// What one process holds of one card.
struct CardUse {
  std::string card;  // UUID of the card or slice
  Reading used_bytes, sm_percent;
  Reading allocated_bytes, reserved_bytes;  // PyTorch's own, of a process that runs under vramfit
  Reading context_bytes, library_bytes;     // of a process on a virtual card
  Reading peak_used_bytes;                  // exact on a virtual card, absent elsewhere
  friend bool operator==(const CardUse&, const CardUse&) = default;
};

enum class ProcessState : std::uint8_t {
  kRunning,
  kZombie,  // ended, not waited for: the driver may still hold its memory
  kUnseen   // the driver names a process that /proc does not: another container's, or one that is gone
};
std::string_view to_string(ProcessState state);

struct ProcessReading {
  std::int64_t pid = 0;
  std::int64_t parent = 0;
  ProcessState state = ProcessState::kRunning;
  std::string name, command, user, container, slurm_job, kubernetes_pod, rank, world_size;
  std::string parent_name;  // torchrun, of a worker that torchrun started
  Reading started_unix_seconds, resident_bytes, locked_bytes;
  std::vector<CardUse> uses;
  friend bool operator==(const ProcessReading&, const ProcessReading&) = default;
};

struct HostReading {
  std::string name;
  Reading memory_total_bytes, memory_available_bytes, page_cache_bytes, locked_bytes;
  Reading shm_total_bytes, shm_used_bytes, swap_total_bytes, swap_used_bytes;
  Reading cgroup_limit_bytes, cgroup_used_bytes, cgroup_oom_kills;
  friend bool operator==(const HostReading&, const HostReading&) = default;
};

struct DriverReading {
  bool answers = false;
  std::string problem;  // why it does not; what to try
  std::string version, cuda;
  friend bool operator==(const DriverReading&, const DriverReading&) = default;
};

struct MachineSample {
  std::int64_t at_unix_ns = 0;
  DriverReading driver;
  std::vector<CardReading> cards;  // slices behind their card
  std::vector<ProcessReading> processes;
  HostReading host;
  friend bool operator==(const MachineSample&, const MachineSample&) = default;
};

// What kind of number a field is: how it is shown and which base unit a metric has.
enum class Unit : std::uint8_t {
  kBytes,
  kBytesPerSecond,
  kPercent,
  kCelsius,
  kMilliwatts,
  kMegahertz,
  kCount,
  kSeconds
};

template <class Owner>
struct Field {
  std::string_view name;  // as in JSON and CSV; never renamed
  Reading Owner::*member;
  Unit unit;
  std::string_view meaning;
};
std::span<const Field<CardReading>> card_fields();
std::span<const Field<CardUse>> use_fields();
std::span<const Field<ProcessReading>> process_fields();
std::span<const Field<HostReading>> host_fields();

// NVML's throttle bits as words, "software power cap"; `idle` and the user's own clocks are no throttling.
std::vector<std::string_view> throttle_words(std::int64_t reasons);

}  // namespace vramfit::model

#endif
