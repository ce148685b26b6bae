/* The recording: what one process did with device memory, as a stream of 64-byte records.
 *
 * Written by recorder/ into VRAMFIT_RUN_DIR, read by src/ingest/recording. One process writes
 *   recording.<pid>.vfr   a vf_recording_header, then vf_record after vf_record, mapped and grown in place, so that
 *                         a killed process leaves everything up to its last event; unused tail records are all zero
 *   strings.<pid>.txt     one UTF-8 string a line ('\n' and '\\' escaped); the id of a string is its line number from 1
 *   notes.<pid>.jsonl     one JSON object a line, each with "kind": what the Python hooks know (docs/notes.md)
 *
 * Block events come from PyTorch's own allocator: it reports every block to c10::reportMemoryUsageToProfiler, an
 * exported function with a plain C ABI in every release from 1.8 on, which the recorder interposes. Nothing is
 * compiled against PyTorch.
 */
#ifndef VRAMFIT_RECORDING_H
#define VRAMFIT_RECORDING_H

#include <stdint.h>

#include "vramfit/numbers.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VF_RECORDING_MAGIC 0x3130524345524656ull /* "VFRECR01" */

typedef struct vf_recording_header {
  uint64_t magic;
  uint32_t record_bytes; /* 64 */
  int32_t pid;
  int64_t started_at_ns; /* CLOCK_MONOTONIC; every at_ns counts from here */
  uint64_t reserved[5];
} vf_recording_header;

enum vf_record_kind {
  VF_RECORD_BLOCK_ALLOC = 1,   /* address, size = block size (rounded); a = allocated, b = reserved after it */
  VF_RECORD_BLOCK_FREE = 2,    /* as above */
  VF_RECORD_SEGMENT_ALLOC = 3, /* the driver gave memory: address, size; a = card's used bytes after it */
  VF_RECORD_SEGMENT_FREE = 4,
  VF_RECORD_OOM = 5,          /* size = bytes PyTorch tried for; a = allocated, b = reserved */
  VF_RECORD_PHASE = 6,        /* phase changed to `phase` */
  VF_RECORD_MARK = 7,         /* text = string id of a mark */
  VF_RECORD_TAG = 8,          /* the live block at address is a = enum vf_owner, named text */
  VF_RECORD_STEP = 9,         /* one optimizer step (phase train) or one batch (others) ended; a = its number from 1 */
  VF_RECORD_MATMUL = 10,      /* a = multiply-adds, b = bytes touched, size = enum vf_dtype, address = its shape by
                                 vf_shape_of() or 0: from cuBLAS */
  VF_RECORD_CONVOLUTION = 11, /* the same, from cuDNN */
  VF_RECORD_LAUNCHES = 12,    /* a = kernel launches, of about the same size; b = bytes touched by them, 0: not known;
                                 size = elements that their threads loaded or stored one by one */
  VF_RECORD_COPY = 13,        /* size = bytes, a = cudaMemcpyKind */
  VF_RECORD_CONTEXT = 14,     /* this process touched the card: size = context bytes; a = card's used bytes after it */
  VF_RECORD_LIBRARY = 15,     /* a library took (size > 0) or gave back device memory; text names it; a = card's used
                                 bytes after it; of a real card size may be 0, and others' use have changed */
  VF_RECORD_PIN = 16,         /* pinned host memory: address, size; negative size = given back */
  VF_RECORD_RETRY = 17,       /* PyTorch emptied its cache and asked the driver again (a burst of segment frees) */
  VF_RECORD_WORKSPACE = 18    /* cuDNN plan workspace chosen: size; text: engine, then a convolution's key */
};

/* A product of `batch` matrices of rows x columns, or a convolution as such a product (rows: output pixels; batch: its
 * groups), in one number; what is beyond its bits is the most that they hold. */
static inline uint64_t vf_shape_of(int64_t rows, int64_t columns, int64_t batch) {
  const int64_t most_rows = (INT64_C(1) << 28) - 1, most_columns = (1 << 20) - 1, most_batch = (1 << 16) - 1;
  if (rows <= 0 || columns <= 0 || batch <= 0) return 0;
  return (uint64_t)(rows < most_rows ? rows : most_rows) << 36 |
         (uint64_t)(columns < most_columns ? columns : most_columns) << 16 |
         (uint64_t)(batch < most_batch ? batch : most_batch);
}
static inline int64_t vf_rows_of(uint64_t shape) { return (int64_t)(shape >> 36); }
static inline int64_t vf_columns_of(uint64_t shape) { return (int64_t)(shape >> 16 & 0xfffff); }
static inline int64_t vf_batch_of(uint64_t shape) { return (int64_t)(shape & 0xffff); }

typedef struct vf_record {
  uint8_t kind;   /* enum vf_record_kind; 0 = end of the recording */
  uint8_t device; /* card index; 255 = host */
  uint8_t phase;  /* enum vf_phase at that moment */
  uint8_t stage;  /* enum vf_stage at that moment */
  uint32_t scope; /* string id of the module being run, "backbone.layer1.0.conv1"; 0 = none */
  uint32_t line;  /* string id of the script's own line, "train.py:84 in train"; 0 = unknown */
  uint32_t thread;
  int64_t at_ns;
  uint64_t address;
  int64_t size;
  int64_t a;
  int64_t b;
  uint32_t text;
  uint32_t reserved;
} vf_record;

/* Environment: a folder for the recording; without it nothing is recorded. */
#define VF_ENV_RUN_DIR "VRAMFIT_RUN_DIR"

#ifdef __cplusplus
}
static_assert(sizeof(vf_record) == 64, "a record is one cache line");
#endif
#endif
