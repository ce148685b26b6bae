/* What a process under vramfit may ask of the recorder: the public C interface.
 *
 * libvramfit_recorder.so exports these; it is preloaded, so `dlsym(RTLD_DEFAULT, ...)` or `ctypes.CDLL(None)` finds
 * them. Outside vramfit the symbols are absent: callers look them up and do without. All functions are thread-safe,
 * return at once when nothing is being recorded, and never fail: text that cannot be kept becomes id 0.
 */
#ifndef VRAMFIT_VRAMFIT_H
#define VRAMFIT_VRAMFIT_H

#include <stdint.h>

#include "vramfit/numbers.h"

#ifdef __cplusplus
extern "C" {
#endif

/* 1 for this header. */
int vramfit_api_version(void);

/* 1 when the script's lines can be found: the calling thread's Python frames can be read. Call it with the GIL held. */
int vramfit_finds_lines(void);

/* The id of a string in this process's recording; the same text has the same id. 0 when nothing is recorded. */
uint32_t vramfit_intern(const char* text);

/* Names a moment: shown on the timeline. */
void vramfit_mark(const char* text);

/* Where the job is. phase is enum vf_phase, stage enum vf_stage; both hold for the whole process. */
void vramfit_set_phase(uint32_t phase);
void vramfit_set_stage(uint32_t stage);

/* A phase that is only known later: vramfit_recorded() names this moment (0 when nothing is recorded), and
 * vramfit_relabel() says that what was recorded in phase `before` since then belongs to phase `after`. */
uint64_t vramfit_recorded(void);
void vramfit_relabel(uint64_t from, uint32_t before, uint32_t after);

/* The module being run: process-wide, because autograd's threads work on its behalf. Returns the scope before it. */
uint32_t vramfit_set_scope(uint32_t text_id);

/* The script's own line, where the caller knows it better than the recorder's stack walk. 0 = walk the stack. */
void vramfit_set_line(uint32_t text_id);

/* The script's own line that runs in this thread, as a string id; and the line that this thread works for where none of
 * its own code runs in it (a pool that loads weights). The second returns the id before. 0 = none. */
uint32_t vramfit_own_line(void);
uint32_t vramfit_inherit_line(uint32_t text_id);

/* The live block that holds `address` belongs to `owner` (enum vf_owner) under the name text_id. */
void vramfit_tag(uint64_t address, uint32_t owner, uint32_t text_id);

/* One step of the current phase ended. */
void vramfit_step(uint64_t number);

/* Adds a record of any kind: what the virtual GPU's stand-ins use. */
struct vf_record;
void vramfit_emit(uint8_t kind, uint8_t device, uint64_t address, int64_t size, int64_t a, int64_t b, const char* text);

/* A kernel was launched that reads or writes at these addresses: each to its block's end, `most_each` bytes at most (0:
 * all of it), and `bytes` beside. `picks_rows`: of the largest it touches only as much as of the next.
 * `one_by_one_bytes`: of an element, where its threads load and store single ones; 0: where they don't. They are added
 * up by their size and told as VF_RECORD_LAUNCHES when the stage or the step ends. */
void vramfit_kernel(uint8_t device, const uint64_t* pointers, uint32_t count, int64_t most_each, int64_t bytes,
                    int picks_rows, uint32_t one_by_one_bytes);

/* Appends one line to notes.<pid>.jsonl; `json` is one object without a line break. */
void vramfit_note(const char* json);

/* What PyTorch's allocator last reported for a card, in bytes: cheap enough to ask around every module. -1 when it has
 * reported nothing yet. `what` is enum vf_memory; peaks are since the start or the
 * last reset. */
int64_t vramfit_memory(uint32_t device, uint32_t what);
void vramfit_reset_peaks(void);

/* Lines of Python code, each told once when it is first executed (recorder/line_watch.h). `watch` is a Python callable,
 * or null to end it; the caller holds the GIL. 0: it can't be done here. */
int vramfit_watch_lines(void* watch);

/* A Python callable that is called once in the main thread when a card has more than `bytes` allocated, or more than
 * `late_bytes` after `seconds` (recorder/rise_watch.h); a null pointer ends it. 0: it can't be done here. */
int vramfit_watch_rise(void* watch, int64_t bytes, int64_t late_bytes, double seconds);

/* Called with (address, size) whenever PyTorch's allocator hands out a device block: the virtual GPU clears stale
 * bytes there. One listener; a null pointer removes it. */
typedef void (*vramfit_block_listener)(uint64_t address, int64_t size);
void vramfit_set_block_listener(vramfit_block_listener listener);

#ifdef __cplusplus
}
#endif
#endif
