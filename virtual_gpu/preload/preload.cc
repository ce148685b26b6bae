// libvramfit_preload.so: its DT_NEEDED entries bring in every stand-in of one CUDA major before the program starts.
#include "cuda_facts.h"
#include "virtual_gpu/ledger/export.h"

extern "C" VF_EXPORT int vramfit_virtual_gpu_major();
int vramfit_virtual_gpu_major() { return vramfit::cuda::kMajor; }
