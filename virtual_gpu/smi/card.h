// What nvidia-smi tells of the machine's cards, read from the virtual NVML: the one source of its every figure, so that
// it agrees with pynvml and with what is built on it.
#ifndef VRAMFIT_VIRTUAL_GPU_SMI_CARD_H
#define VRAMFIT_VIRTUAL_GPU_SMI_CARD_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vramfit::smi {

struct Process {
  unsigned pid = 0;
  std::string name;                    // as it was called: the first word of its command line
  std::optional<uint64_t> used_bytes;  // unknown on some drivers
  std::optional<unsigned> gpu_instance, compute_instance;

  bool operator==(const Process&) const = default;
};

// A part of a divided card.
struct Instance {
  unsigned number = 0, gpu_instance = 0, compute_instance = 0, multiprocessors = 0;
  std::string name, uuid;  // "NVIDIA H100 80GB HBM3 MIG 1g.10gb"
  uint64_t total_bytes = 0, used_bytes = 0, bar1_total_bytes = 0, bar1_used_bytes = 0;

  bool operator==(const Instance&) const = default;
};

// Readings that NVML does not give for a card are absent, and shown as N/A.
struct Card {
  unsigned index = 0;
  std::string name, uuid, bus_id;  // bus_id: "00000000:01:00.0"
  int compute_major = 0, compute_minor = 0;
  unsigned architecture = 0;  // nvmlDeviceArchitecture_t
  uint64_t total_bytes = 0, reserved_bytes = 0, used_bytes = 0, free_bytes = 0;
  std::optional<uint64_t> bar1_total_bytes, bar1_used_bytes;
  std::optional<unsigned> fan_percent, temperature_c, power_mw, power_limit_mw, busy_percent, memory_busy_percent;
  std::optional<unsigned> sm_mhz, memory_mhz, max_sm_mhz, max_memory_mhz, pcie_generation, pcie_width;
  std::optional<unsigned> max_pcie_generation, max_pcie_width, encoder_percent, decoder_percent;
  std::optional<unsigned> encoder_sessions, encoder_frames, encoder_latency_us;
  std::string serial;  // empty: the board tells none
  std::optional<uint64_t> throttle_reasons;
  std::optional<int> performance_state, compute_mode;
  bool persistence = false, display_active = false;
  std::optional<bool> mig;  // absent: the card can't be divided
  std::vector<Instance> instances;
  std::optional<bool> ecc;  // absent: the board has none
  std::optional<uint64_t> uncorrected_errors;
  std::string inforom_oem, inforom_ecc;  // empty: none
  std::vector<Process> processes;

  bool operator==(const Card&) const = default;
};

struct Machine {
  std::string driver;  // "580.82.07"
  int cuda = 0;        // 13000
  std::vector<Card> cards;

  bool operator==(const Machine&) const = default;
};

// Fills `machine`; NVML's answer where it can't be had (0: all is well). `which`: where a card could not be read, its
// name in the real tool's words ("GPU0000:01:00.0").
int read_machine(Machine& machine, std::string& which);

// Versions as nvidia-smi writes them.
std::string cuda_text(int version);                    // 13000 -> "13.0"
std::string architecture_text(unsigned architecture);  // 7 -> "Ampere"
std::string brand_text(const std::string& name);       // "NVIDIA GeForce GTX 1070" -> "GeForce"
std::string compute_mode_text(int mode);
inline uint64_t mebibytes(uint64_t bytes) { return bytes >> 20; }

}  // namespace vramfit::smi

#endif
