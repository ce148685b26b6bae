// What a stand-in may ask of the session's ledger: which cards exist, what they hold, what the user must be told.
//
// One process maps the file named by VRAMFIT_LEDGER at its first CUDA call. Cards are named by their ordinal among
// those this process sees (CUDA_VISIBLE_DEVICES). Every function may be called from any thread and never throws.
#ifndef VRAMFIT_VIRTUAL_GPU_LEDGER_LEDGER_H
#define VRAMFIT_VIRTUAL_GPU_LEDGER_LEDGER_H

#include <cstdint>
#include <string>

#include "virtual_gpu/ledger/export.h"
#include "vramfit/ledger.h"

namespace vramfit::device {
struct Touched;
}

namespace vramfit::ledger {

enum class State {
  kReady,
  kNoLedger,  // VRAMFIT_LEDGER is unset, or the file is not a ledger of our version
  kNoCard,    // CUDA_VISIBLE_DEVICES hides every card
  kForked,    // CUDA was initialised before this process was forked, which no CUDA program survives
  kEnded  // the process is ending and has given everything back; another thread than the one that ends it sees it late
};

// Attaches on the first call. Everything below first does this by itself.
VF_EXPORT State state();
// Why no card can be used: for cudaGetErrorString and the like. Empty when ready.
VF_EXPORT std::string why_unusable();
// Maps the file for reading only, as NVML does: works after a fork and takes no process slot. Null without a ledger.
VF_EXPORT const vf_ledger* observe();

// The cards this process sees.
VF_EXPORT int card_count();
VF_EXPORT const vf_card* card(int ordinal);  // null when there is no such card
VF_EXPORT int index_in_ledger(int ordinal);  // -1 when there is no such card
VF_EXPORT int current_card();                // of the calling thread; 0 at first
VF_EXPORT bool set_current_card(int ordinal);
VF_EXPORT bool keeps_all_values();  // VRAMFIT_VALUES=cpu
VF_EXPORT int driver_version();     // 13000; 0 without a ledger
VF_EXPORT vf_address_order address_order();

struct MemoryInfo {
  int64_t free_bytes = 0;
  int64_t total_bytes = 0;
};

// The context is charged when a process first touches a card. False: the card has no room for it.
VF_EXPORT bool touch(int ordinal);
VF_EXPORT bool is_touched(int ordinal);
// Takes `bytes` of the card for this process, touching it first. False: out of memory, counted as a refusal.
VF_EXPORT bool take(int ordinal, int64_t bytes);
VF_EXPORT void give_back(int ordinal, int64_t bytes);
// Like `take`, but never refused once the context fits: managed memory pages out to the host instead.
VF_EXPORT bool take_oversubscribed(int ordinal, int64_t bytes);
// Bytes in use on the whole card, by all processes.
VF_EXPORT int64_t used_bytes(int ordinal);
// Frees what dead processes held, then answers what cudaMemGetInfo would.
VF_EXPORT MemoryInfo memory_info(int ordinal);

// Device memory that a library holds for itself; negative bytes give it back. Recorded under `name`. False: no room.
VF_EXPORT bool charge_library(int ordinal, int64_t bytes, const char* name);
// What the driver takes when a process launches its first kernel on a card (vf_card::kernel_bytes): local memory for
// every thread that the card keeps resident. Cheap once it is taken: called for each launch.
VF_EXPORT bool charge_kernels(int ordinal);
// What brings kernels of its own, counted as one: cuBLAS with cuBLASLt, and everything compiled outside PyTorch.
enum class Library { kBlas, kCudnn, kFft, kSolver, kSparse, kSparseLt, kRandom, kNccl, kExtension };
// vf_card::library_bytes, once per process, card and library: call it when the library's handle is created.
VF_EXPORT bool charge_use(int ordinal, Library library);

// Tells the user once per session; how often it happened is counted.
VF_EXPORT void note_not_modelled(const char* function);
VF_EXPORT void note_assumed(const char* text);
VF_EXPORT void note_data_read(const char* text);
VF_EXPORT void note_warning(const char* text);
VF_EXPORT void note_loss(const char* key);  // a kind of loss that src/model/data_loss.cc lists

// vramfit_emit of the recorder when one is loaded, else nothing. `kind` is enum vf_record_kind; an ordinal is turned
// into the ledger's index of the card, 255 stays the host.
VF_EXPORT void emit(uint8_t kind, int ordinal, uint64_t address, int64_t size, int64_t a, int64_t b, const char* text);

// A kernel and the memory it touches, for the recorder's tally of launches. Without a recorder nothing has to be known.
VF_EXPORT bool is_recorded();
VF_EXPORT void tell_kernel(int ordinal, const device::Touched& touched);

}  // namespace vramfit::ledger

extern "C" {
// For generated C defaults: the note of note_not_modelled.
VF_EXPORT void vramfit_gpu_not_modelled(const char* function);
// For generated C defaults of functions that only enqueue device work: counts a launch on `stream`'s clock.
VF_EXPORT void vramfit_gpu_launched(const char* function);
}

#endif
