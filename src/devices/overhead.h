// What a process holds on a card besides PyTorch's own memory: its CUDA context and what libraries load.
#ifndef VRAMFIT_DEVICES_OVERHEAD_H
#define VRAMFIT_DEVICES_OVERHEAD_H

#include <optional>
#include <string>

#include "model/card.h"

namespace vramfit::devices {

struct OverheadOptions {
  int cuda_major = 12;
  bool eager_loading = false;          // CUDA_MODULE_LOADING=EAGER
  std::optional<base::Bytes> context;  // --context SIZE: measured by the user, so no uncertainty is left
  // --context from:FILE: context and libraries, as an out-of-memory message of the card tells them.
  std::optional<base::Bytes> measured;
  std::string measured_source;       // in words: which message
  std::optional<base::Bytes> total;  // NAME:SIZE
  base::Bytes occupied;              // --occupied
};

struct Overhead {
  base::Bytes context, uncertainty;
  base::Bytes kernels, library;  // from the first kernel on; for each library. None where `context` holds them
  std::string source;            // in words: which figures were used
  friend bool operator==(const Overhead&, const Overhead&) = default;
};

Overhead find_overhead(const model::Card& card, const OverheadOptions& options);

// Context and libraries of a process that launches kernels and uses `libraries` of them (cuBLAS, cuDNN).
base::Bytes total_of(const Overhead& overhead, int libraries);
// Half-width of that total: of the context's own, and half of what came later, which holds for 40 of the 41 messages of
// bench/published/library_memory.py.
base::Bytes uncertainty_of(base::Bytes context_uncertainty, base::Bytes later);

// Device memory of one NCCL communicator on a card of this kind. From NCCL's source (2.21 to 2.29, computeBuffSizes in
// init.cc): a connection's buffers are 4 MiB (simple) + 4.6875 MiB (LL128) + 0.5 MiB (LL); a ring and a tree each hold
// one connection a channel; 2 channels are usual over PCIe and 24 over NVLink. What is really used depends on the
// machine's links and on which algorithms run: an estimate, and said to be one.
base::Bytes estimate_nccl_channels(const model::Card& card);

// The card of one run.
model::EmulatedCard emulate(const model::Card& card, const OverheadOptions& options);

}  // namespace vramfit::devices

#endif
