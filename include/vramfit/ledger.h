/* The ledger: one shared-memory file per session that describes the virtual cards and accounts for their memory.
 *
 * Created and removed by the command line (src/job), mapped by every process that runs on the virtual GPU
 * (virtual_gpu/ledger). It is the only thing the two sides share, so it is plain C with a fixed layout.
 *
 * Whoever changes `used_bytes` of a card holds `lock`, a robust process-shared mutex: when its owner dies, the next
 * one to lock it gets EOWNERDEAD, reclaims the dead process's bytes and marks the mutex consistent.
 *
 * Sizes are bytes. Nothing here is ever smaller than it says: a field that is not known is -1.
 */
#ifndef VRAMFIT_LEDGER_H
#define VRAMFIT_LEDGER_H

#include <pthread.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VF_LEDGER_MAGIC 0x52474c4454494656ull /* "VFITDLGR" in memory order */
#define VF_LEDGER_VERSION 3u
#define VF_MAX_CARDS 16
#define VF_MAX_PROCESSES 512
#define VF_MAX_LEDGER_NOTES 512
#define VF_NAME_BYTES 96

/* How a card looks to CUDA, and what lies on it before the job starts. Written once by the creator. */
typedef struct vf_card {
  char name[VF_NAME_BYTES]; /* as the driver reports it, "NVIDIA GeForce GTX 1070" */
  uint8_t uuid[16];
  int32_t compute_major, compute_minor;
  int32_t sm_count;
  int32_t max_threads_per_sm, max_blocks_per_sm, registers_per_sm;
  int32_t shared_bytes_per_sm, shared_bytes_per_block_optin;
  int32_t sm_clock_khz, memory_clock_khz, memory_bus_bits;
  int32_t is_integrated;
  int32_t power_limit_milliwatts; /* of the board */
  char whole_name[VF_NAME_BYTES]; /* of the card that this is a MIG instance of; empty: it is a whole one */
  int32_t whole_sm_count;
  int32_t mig_slices; /* of compute that the instance has: 1 of "1g.10gb" */
  int64_t whole_bytes;
  int64_t l2_bytes;
  int64_t total_bytes;               /* what cudaGetDeviceProperties reports */
  int64_t occupied_bytes;            /* held by "another process" (--occupied) */
  int64_t context_bytes;             /* taken by each process when it first touches the card */
  int64_t context_uncertainty_bytes; /* half-width of that estimate; it decides `borderline` */
  int64_t kernel_bytes;              /* taken by each process at its first kernel */
  int64_t library_bytes;             /* taken by each process for every library, when it first uses it */
} vf_card;

/* What the card's memory is doing. Changes only under `lock`, except the peaks, which only grow. */
typedef struct vf_card_use {
  int64_t used_bytes;      /* all processes, contexts and occupied_bytes included */
  int64_t peak_used_bytes; /* high water of used_bytes */
  int64_t refused;         /* allocations refused for want of memory */
  int64_t smallest_free_bytes_at_refusal;
  int64_t largest_refused_bytes;
} vf_card_use;

/* One process on the virtual GPU. A slot is free when pid is 0. */
typedef struct vf_process {
  int32_t pid;
  uint32_t started;                 /* low bits of the start time in /proc/PID/stat: tells a recycled pid */
  int64_t used_bytes[VF_MAX_CARDS]; /* context included */
  int64_t peak_used_bytes[VF_MAX_CARDS];
  int64_t context_bytes[VF_MAX_CARDS]; /* 0 until the process touches the card */
  int64_t library_bytes[VF_MAX_CARDS]; /* kernels, libraries, NCCL channels, CUDA graphs: of used_bytes */
} vf_process;

/* Something a user must be told once per session: how often it happened is counted. */
enum vf_note_kind {
  VF_NOTE_NOT_MODELLED = 1, /* a function was refused because nobody modelled it */
  VF_NOTE_ASSUMED = 2,      /* an estimate was used; text says which and its source */
  VF_NOTE_DATA_READ = 3,    /* a size or branch depended on device data */
  VF_NOTE_WARNING = 4,
  VF_NOTE_LOSS = 5 /* something was not seen, or not as it would have been: text is its key in src/model/data_loss.cc */
};

/* The order in which a driver hands out device addresses. */
enum vf_address_order { VF_ADDRESSES_LINUX = 0, VF_ADDRESSES_WSL = 1 };

typedef struct vf_ledger_note {
  uint32_t kind; /* enum vf_note_kind; 0 = free */
  uint32_t count;
  char text[152];
} vf_ledger_note;

typedef struct vf_ledger {
  uint64_t magic;
  uint32_t version;
  uint32_t card_count;
  uint32_t driver_version; /* 13000, 12040: what cuDriverGetVersion answers */
  uint32_t values;         /* 0 = zeros, 1 = cpu */
  char driver_name[32];    /* "580.95.05": what NVML answers */
  pthread_mutex_t lock;
  vf_card cards[VF_MAX_CARDS];
  vf_card_use use[VF_MAX_CARDS];
  vf_process processes[VF_MAX_PROCESSES];
  vf_ledger_note notes[VF_MAX_LEDGER_NOTES];
  int64_t nccl_channel_bytes;     /* per communicator, device memory NCCL takes for its channels */
  int64_t cudnn_workspace_policy; /* 0 = zero workspaces, 1 = ask the oracle, 2 = recorded ones */
  int64_t address_order;          /* enum vf_address_order */
  int64_t reserved[61];
} vf_ledger;

/* Environment: the absolute path of the session's ledger. Without it no virtual card exists. */
#define VF_ENV_LEDGER "VRAMFIT_LEDGER"

#ifdef __cplusplus
}
#endif
#endif
