/* PyTorch's functions that our preloaded libraries stand before, or ask, as libc10.so exports them. They are here alone
 * in C++; python/vramfit/private/torch.py has them with what users lose without each, and exports.map lists those that
 * a library stands before (tests/project/test_c10_names.py holds the three to each other).
 */
#ifndef VRAMFIT_C10_NAMES_H
#define VRAMFIT_C10_NAMES_H

/* recorder/profiler_calls.cc */
#define VF_C10_REPORT_MEMORY_USAGE "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"
#define VF_C10_REPORT_OUT_OF_MEMORY "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE"

/* virtual_gpu/preload/host_calls.cc */
#define VF_C10_ALLOC_CPU "_ZN3c109alloc_cpuEm"
#define VF_C10_FREE_CPU "_ZN3c108free_cpuEPv"

/* virtual_gpu/preload/dispatch_modes.cc */
#define VF_C10_DISPATCH_MODE_ENABLED "_ZN3c104impl21dispatch_mode_enabledEv"
#define VF_C10_MODE_STACK_LENGTH "_ZN3c104impl20TorchDispatchModeTLS9stack_lenEv"
#define VF_C10_MODE_STACK_AT "_ZN3c104impl20TorchDispatchModeTLS12get_stack_atEl"

#endif
