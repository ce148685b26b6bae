// NVSHMEM as on a machine where it cannot start: PyTorch's symmetric memory then uses CUDA or NCCL instead. Functions
// that answer with a status are generated; those that answer with a pointer or a count say "none" here.
#include "virtual_gpu/ledger/ledger.h"
#include "virtual_gpu/library/abi.h"

namespace {

void* no_memory(const char* function) {
  vramfit::ledger::note_not_modelled(function);
  return nullptr;
}

}  // namespace

VF_ABI void nvshmem_info_get_version(int* major, int* minor) {
  vramfit::library::answer(major, 3);
  vramfit::library::answer(minor, 4);
}

VF_ABI int nvshmemid_init_status() { return 0; }  // NVSHMEM_STATUS_NOT_INITIALIZED

VF_ABI void* nvshmem_malloc(size_t) { return no_memory("nvshmem_malloc"); }
VF_ABI void nvshmem_free(void*) {}
VF_ABI void* nvshmem_ptr(const void*, int) { return no_memory("nvshmem_ptr"); }
VF_ABI void* nvshmemx_mc_ptr(int, const void*) { return no_memory("nvshmemx_mc_ptr"); }
VF_ABI int nvshmem_team_n_pes(int) { return -1; }  // documented: -1 for an invalid team
