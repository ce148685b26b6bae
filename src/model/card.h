// A graphics card as the catalogue knows it, and as one run emulates it.
#ifndef VRAMFIT_MODEL_CARD_H
#define VRAMFIT_MODEL_CARD_H

#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace vramfit::model {

using base::Bytes;

struct ComputeCapability {
  int major = 0;
  int minor = 0;
  friend auto operator<=>(const ComputeCapability&, const ComputeCapability&) = default;
};

// Peak dense rates in TFLOP/s (TOP/s for int8). A rate the card has no unit for is absent, not 0.
struct PeakRates {
  std::optional<double> fp64, fp32, tf32, fp16, fp16_tensor, bf16, int8, fp8;
  friend bool operator==(const PeakRates&, const PeakRates&) = default;
};

// What a process holds on the card besides PyTorch's own memory. Recorded facts or estimates; `sources` says which.
struct OverheadMemory {
  Bytes context_lazy;         // CUDA_MODULE_LOADING=LAZY, the default from CUDA 11.7 on
  Bytes context_eager;        // CUDA_MODULE_LOADING=EAGER
  Bytes context_uncertainty;  // half-width
  Bytes kernels;              // taken at a process's first kernel
  Bytes library;              // taken for each library that a process uses
  friend bool operator==(const OverheadMemory&, const OverheadMemory&) = default;
};

// One way in which the driver cuts a card for several users: NVIDIA's Multi-Instance GPU.
struct MigProfile {
  std::string name;  // "1g.10gb"
  int sm_count = 0;
  Bytes memory;
  int memory_slices = 0, of = 0;  // its share of L2 and bandwidth: 1 of 8
  friend bool operator==(const MigProfile&, const MigProfile&) = default;
};

// What a MIG instance is of: the card that was cut, and how many of its slices of compute this has.
struct MigInstance {
  std::string whole_name;
  Bytes whole_memory;
  int whole_sm_count = 0;
  int slices = 0;
  friend bool operator==(const MigInstance&, const MigInstance&) = default;
};

struct Card {
  std::string key;                   // "gtx1070", "a100-40gb"
  std::string name;                  // as the driver reports it, "NVIDIA GeForce GTX 1070"
  std::vector<std::string> aliases;  // other spellings, in no particular case
  std::string category;              // "desktop", "laptop", "workstation", "datacenter", "embedded", or empty
  Bytes memory;                      // what cudaGetDeviceProperties reports
  ComputeCapability capability;
  int sm_count = 0;
  int max_threads_per_sm = 0, max_blocks_per_sm = 0, registers_per_sm = 0;
  int shared_bytes_per_sm = 0, shared_bytes_per_block_optin = 0;
  int sm_clock_khz = 0, memory_clock_khz = 0, memory_bus_bits = 0;
  Bytes l2;
  double bandwidth_gbps = 0;  // 10^9 bytes a second
  PeakRates rates;
  int release_year = 0;
  double price_factor = 0;                  // RTX 3090 = 1
  bool is_integrated = false;               // it has the processor's memory and none of its own
  std::optional<double> power_limit_watts;  // of the board as it is delivered; laptops' depends on the laptop
  std::vector<MigProfile> mig;
  std::optional<MigInstance> instance;
  std::map<int, OverheadMemory> overhead;      // by CUDA major version
  std::map<std::string, std::string> sources;  // figure -> where it is from
  friend bool operator==(const Card&, const Card&) = default;
};

// Whether a total that a message or a tool prints can be this card's: drivers report one card's memory differently, by
// up to a few hundred MiB.
inline bool has_capacity(const Card& card, Bytes told) {
  return std::abs((told - card.memory).count()) <= std::int64_t{256} << 20;
}

// The order in which a card's driver hands out device addresses. Where PyTorch's allocator may take one of two free
// blocks of the same size, it takes the one at the lower address.
enum class AddressOrder { kLinux, kWsl };

// One card of a run: a catalogue entry with what the user changed about it.
struct EmulatedCard {
  Card card;
  Bytes total;     // card.memory unless --gpu NAME:SIZE said otherwise
  Bytes occupied;  // --occupied: held by somebody else
  Bytes context;
  Bytes context_uncertainty;
  Bytes kernels;  // once a process launched a kernel
  Bytes library;  // for each library it uses
  friend bool operator==(const EmulatedCard&, const EmulatedCard&) = default;
};

}  // namespace vramfit::model

#endif
