#ifndef VRAMFIT_VIRTUAL_GPU_TESTING_LAST_LIBRARY_H
#define VRAMFIT_VIRTUAL_GPU_TESTING_LAST_LIBRARY_H

extern "C" __attribute__((visibility("default"))) void vramfit_test_at_unloading(void (*call)());

#endif
