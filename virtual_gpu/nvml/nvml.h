// How a device handle names a card, and what all of the virtual NVML shares; its numbers and layouts are abi/nvml.h.
//
// NVML shows every card of the machine, whatever CUDA_VISIBLE_DEVICES says, and needs no CUDA context.
#ifndef VRAMFIT_VIRTUAL_GPU_NVML_NVML_H
#define VRAMFIT_VIRTUAL_GPU_NVML_NVML_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "abi/nvml.h"
#include "virtual_gpu/ledger/ledger.h"
#include "virtual_gpu/library/abi.h"

namespace vramfit::nvml {

using namespace abi::nvml;

using Handle = const vf_card*;  // points into the mapped ledger

// The ledger, once NVML has been initialised; null before that or outside a session.
const vf_ledger* ledger_if_initialised();
// Why there is none: kUninitialized or kDriverNotLoaded.
int why_no_ledger();
// The handle of a card by its index, which has to be one.
Handle handle_of_card(int card);
// The index of a handle's card, or -1.
int index_of(Handle handle);

// A part of a divided card: one that a script makes (script.h), or the instance that a card of the ledger is.
struct Slice {
  int card = -1;
  unsigned number = 0;
  std::string name, uuid;
  uint64_t total = 0, used = 0;
  unsigned multiprocessors = 0, compute_slices = 0;  // 0: the script does not say
};
// The slice of a handle. None: it is that of a card, or of no slice any more.
std::optional<Slice> slice_of(Handle handle);
// How many a card has; 0: it is not divided.
unsigned slice_count(int card);
// Whether the handle is one of a slice, of a card that is still divided or not.
bool is_slice(Handle handle);

// What a card's handle is called and holds: of a divided one the whole of it.
std::string_view card_name(const vf_card& card);
int64_t card_bytes(const vf_card& card);
int card_multiprocessors(const vf_card& card);

// Copies text with its closing zero: kInsufficientSize when it doesn't fit.
int copy_text(std::string_view text, char* out, unsigned bytes);

}  // namespace vramfit::nvml

#endif
