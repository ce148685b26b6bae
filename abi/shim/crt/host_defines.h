/* The few compiler words that the public CUDA headers expect from crt/host_defines.h, which the runtime's header
 * package does not carry. Written from their documented meaning for a host compiler (GCC or Clang). */
#ifndef VRAMFIT_ABI_SHIM_HOST_DEFINES_H
#define VRAMFIT_ABI_SHIM_HOST_DEFINES_H

#define CUDARTAPI
#define CUDARTAPI_CDECL
#define __no_return__ __attribute__((noreturn))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __location__(a)
#define __annotate__(a)
#define __host__
#define __device__
#define __global__
#define __shared__
#define __constant__
#define __managed__
#define __device_builtin__
#define __cudart_builtin__
#define __device_builtin_surface_type__
#define __device_builtin_texture_type__
#define __launch_bounds__(...)
#define __specialization_static

#endif
