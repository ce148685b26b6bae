// Reads card descriptions in TOML: the catalogue (share/vramfit/cards.toml) and a user's own `--gpu file.toml`.
//
//   [[card]]
//   key = "rtx3090"                              # unique, lower case
//   name = "NVIDIA GeForce RTX 3090"             # as the driver reports it
//   aliases = ["3090"]                           # other spellings; case, spaces and dashes don't matter
//   category = "desktop"                         # desktop, laptop, workstation, datacenter, embedded
//   memory_bytes = 25438126080                   # what the driver reports as total
//   compute_capability = "8.6"
//   sm_count = 82
//   max_threads_per_sm = 1536
//   max_blocks_per_sm = 16
//   registers_per_sm = 65536
//   shared_bytes_per_sm = 102400
//   shared_bytes_per_block_optin = 101376
//   l2_bytes = 6291456
//   memory_bus_bits = 384
//   memory_clock_khz = 9751000
//   sm_clock_khz = 1695000                       # boost
//   bandwidth_gbps = 936.2                       # 10^9 bytes a second
//   power_limit_watts = 350                      # none: not known, or the laptop's maker chose it
//   release_year = 2020
//   price_factor = 1.0                           # RTX 3090 = 1
//   is_integrated = false                        # true: it has the processor's memory
//   mig = [                                      # the instances that it can be cut into, if it can
//     { profile = "1g.10gb", sm_count = 16, memory_mib = 9984, memory_slices = 1, of = 8 },
//   ]
//   [card.rates]                                 # dense, TFLOP/s (TOP/s for int8); none: the card has no unit for it
//   fp32 = 35.6                                  # fp64 fp32 tf32 fp16 fp16_tensor bf16 int8 fp8
//   [card.overhead.12]                           # and .13: what a process holds besides PyTorch's memory
//   context_lazy_bytes = 272629760
//   context_eager_bytes = 1610612736
//   context_uncertainty_bytes = 41943040         # half-width
//   kernel_bytes = 41564160                      # from the first kernel on
//   library_bytes = 11534336                     # for each library that is used
//   [card.sources]                               # figure -> where it is from
//   memory = "torch.cuda.get_device_properties on a real board, ..."
//
// A user's file may hold one card without `[[card]]` around it, and may say `based_on = "rtx3090"` to take every
// figure it does not give from the catalogue.
#ifndef VRAMFIT_INGEST_CARDS_H
#define VRAMFIT_INGEST_CARDS_H

#include <filesystem>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/card.h"

namespace vramfit::ingest {

// `name` is for error messages, which carry the line. `known` serves `based_on`. Keys and aliases must be unique.
base::Result<std::vector<model::Card>> parse_cards(std::string_view text, std::string_view name,
                                                   const std::vector<model::Card>& known = {});

base::Result<std::vector<model::Card>> read_cards(const std::filesystem::path& path,
                                                  const std::vector<model::Card>& known = {});

}  // namespace vramfit::ingest

#endif
