/* Plain folders: those in which, and on the way to which, a supervised job has changed nothing, so that the kernel's
 * own answer to a read is the right one (docs/decisions/0007-a-layer-over-files.md).
 *
 * Written by the supervisor (src/isolate/supervised), mapped read-only by the preloaded recorder of every process of
 * the job. A read of an entry of such a folder carries VF_PLAIN_READ as its sixth argument, which no such call has, and
 * the job's seccomp filter lets it pass. What passes can only read: neither the table nor the number protects anything.
 */
#ifndef VRAMFIT_PLAIN_FOLDERS_H
#define VRAMFIT_PLAIN_FOLDERS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sixth arguments of system calls: "this reads an entry of a plain folder", and of openat(AT_FDCWD, NULL, O_RDONLY),
   which hands out the table. */
#define VF_PLAIN_READ 0x7672616d66697431ull
#define VF_PLAIN_ASK 0x7672616d66697432ull
/* Slots of the table, a power of two, and how many a folder may be in, from its first one on. */
#define VF_PLAIN_SLOTS 16384u
#define VF_PLAIN_PROBES 8u

/* A folder is in the table when one of its slots holds its hash. 0: an empty slot. */
typedef struct vf_plain_folders {
  uint64_t slots[VF_PLAIN_SLOTS];
} vf_plain_folders;

/* The hash of the words that a program names the folder with, without a slash at their end; never 0. FNV-1a. */
static inline uint64_t vf_plain_hash(const char* words, size_t size) {
  uint64_t hash = 14695981039346656037ull;
  for (size_t i = 0; i < size; ++i) hash = (hash ^ (unsigned char)words[i]) * 1099511628211ull;
  return hash != 0 ? hash : 1;
}

/* The first slot of a folder; the others follow it, around the end. */
static inline uint32_t vf_plain_first(uint64_t hash) { return (uint32_t)(hash >> 32) & (VF_PLAIN_SLOTS - 1); }

#ifdef __cplusplus
}
#endif

#endif
