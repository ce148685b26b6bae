// Watches a real card for what this process holds of it beside PyTorch's memory: when PyTorch's reservation changes, at
// the end of steps and at the end of the process. Which card it is, is told once (`real_card` note).
#ifndef VRAMFIT_RECORDER_REAL_WATCH_H
#define VRAMFIT_RECORDER_REAL_WATCH_H

#include <cstdint>

namespace vramfit::recorder {

// What the recorder calls, where libvramfit_real.so is loaded: for each block on a card, before it is recorded, and
// when a step ends or the phase changes. Both are quick unless a look is due.
using RealBlock = void (*)(uint32_t device, int64_t reserved);
using RealMoment = void (*)();
inline constexpr const char* kRealBlock = "vramfit_real_block";
inline constexpr const char* kRealMoment = "vramfit_real_moment";

// Around a cudaMalloc: what it gives is in use before PyTorch tells of it.
void malloc_begins();
void malloc_ends(int device, uint64_t address, int64_t size);  // size 0: it gave nothing
void segment_freed(int device, uint64_t address, int64_t size);

}  // namespace vramfit::recorder

#endif
