// GPUDirect Storage needs a kernel driver: this is a machine without one. What answers with a CUfileError_t is
// generated (CU_FILE_DRIVER_NOT_INITIALIZED); what answers with a byte count must say -1.
#include <sys/types.h>

#include "virtual_gpu/ledger/ledger.h"
#include "virtual_gpu/library/abi.h"

VF_ABI ssize_t cuFileRead(void*, void*, size_t, off_t, off_t) {
  vramfit::ledger::note_not_modelled("cuFileRead");
  return -1;
}

VF_ABI ssize_t cuFileWrite(void*, const void*, size_t, off_t, off_t) {
  vramfit::ledger::note_not_modelled("cuFileWrite");
  return -1;
}
