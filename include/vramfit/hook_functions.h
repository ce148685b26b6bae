/* Made by tools/generate_contract from python/vramfit/contract: change that, not this. */
/* The C functions that hooks call by ctypes. Whoever defines one includes this: another type does not compile. */
/* clang-format off */
#ifndef VRAMFIT_HOOK_FUNCTIONS_H
#define VRAMFIT_HOOK_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

/* What is known of a value in device memory. Ordered: what an operator makes of several inputs is known no better
 * than the least known of them. */
enum vf_value_state {
  VF_VALUE_STATE_UNKNOWN = 0,  /* a kernel wrote it, and its values were not computed */
  VF_VALUE_STATE_OPEN = 1,  /* a mask made from unknown values: its bytes are possible ones, and it may still be taken for full */
  VF_VALUE_STATE_ASSUMED = 2,  /* computed exactly, from values that were chosen */
  VF_VALUE_STATE_KNOWN = 3  /* as on a real card */
};

/* How a function of PyTorch's that fills host memory is called. */
enum vf_host_signature {
  VF_HOST_SIGNATURE_RANDOM = 1,  /* Tensor& (Tensor&, double, double, optional<Generator>) */
  VF_HOST_SIGNATURE_UNARY = 2,  /* Tensor& (Tensor&) */
  VF_HOST_SIGNATURE_BINARY = 3,  /* Tensor& (Tensor&, const Tensor&) */
  VF_HOST_SIGNATURE_COPY = 4,  /* Tensor& (Tensor&, const Tensor&, bool) */
  VF_HOST_SIGNATURE_ADD = 5,  /* Tensor& (Tensor&, const Tensor&, const Scalar&), the scalar being 1 */
  VF_HOST_SIGNATURE_CLAMP = 6  /* Tensor& (Tensor&, const optional<Scalar>&, const optional<Scalar>&): first and second */
};

#ifdef __cplusplus
extern "C" {
#endif

/* One call of an operator of PyTorch's. `self` and `other` are TensorImpl*, `generator` a GeneratorImpl*, `function`
 * the address of at::_ops::<name>::call; they must live until the program is over (vramfit_host_over). */
typedef struct vf_host_call {
  uint64_t signature;
  void* function;
  void* self;
  void* other;
  void* generator;
  double first;
  double second;
} vf_host_call;

int vramfit_api_version(void);
int vramfit_finds_lines(void);
uint32_t vramfit_inherit_line(uint32_t);
uint32_t vramfit_intern(const char*);
void vramfit_mark(const char*);
int64_t vramfit_memory(uint32_t, uint32_t);
void vramfit_note(const char*);
uint32_t vramfit_own_line(void);
uint64_t vramfit_recorded(void);
void vramfit_relabel(uint64_t, uint32_t, uint32_t);
void vramfit_reset_peaks(void);
void vramfit_set_phase(uint32_t);
uint32_t vramfit_set_scope(uint32_t);
void vramfit_set_stage(uint32_t);
void vramfit_step(uint64_t);
void vramfit_tag(uint64_t, uint32_t, uint32_t);
int vramfit_watch_lines(void*);
int vramfit_watch_rise(void*, int64_t, int64_t, double);
void vramfit_gpu_answer_truths(uint64_t);
uint64_t vramfit_gpu_device_reads(void);
void vramfit_gpu_set_value_state(void*, size_t, uint32_t);
uint64_t vramfit_gpu_small_reads(void);
void vramfit_gpu_track_values(void);
uint64_t vramfit_gpu_truth_reads(void);
uint64_t vramfit_gpu_unknown_reads(void);
uint32_t vramfit_gpu_value_state(const void*, size_t);
void vramfit_gpu_values_written(void*, size_t, uint32_t);
uint64_t vramfit_host_allocation(uint64_t);
int vramfit_host_append(uint64_t, const vf_host_call*);
uint64_t vramfit_host_defer(uint64_t, uint64_t, const vf_host_call*, uint64_t);
uint64_t vramfit_host_deferred_bytes(void);
void vramfit_host_enable(int);
uint64_t vramfit_host_filled_bytes(void);
uint64_t vramfit_host_over(uint64_t*, uint64_t);
void vramfit_host_release(uint64_t, uint64_t);
uint64_t vramfit_host_reserve(uint64_t);
void vramfit_host_skip(void*, uint64_t);
int vramfit_own_dispatch_mode(const void*, const void*);
int vramfit_enter_layer(const char*, char*, size_t);

#ifdef __cplusplus
}
#endif
#endif
