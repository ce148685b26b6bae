// Marks what libvramfit_virtual_gpu.so offers to the stand-ins; everything else is hidden.
#ifndef VRAMFIT_VIRTUAL_GPU_LEDGER_EXPORT_H
#define VRAMFIT_VIRTUAL_GPU_LEDGER_EXPORT_H

#define VF_EXPORT __attribute__((visibility("default")))

#endif
