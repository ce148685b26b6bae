// Memory by the parts of a step: what each step needed, what happens to a batch before the model sees it, and what the
// optimizer's first step leaves behind.
//
//   allocated       ______/\____          ___/\______
//                 _/ input | fwd \_bwd_ __/          \     state of the first step stays: later steps start higher
//                |--------- step 1 ---------|--- step 2
#ifndef VRAMFIT_LIVENESS_STEP_MEMORY_H
#define VRAMFIT_LIVENESS_STEP_MEMORY_H

#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "liveness/lifetimes.h"
#include "model/runtime_evidence.h"

namespace vramfit::liveness {

struct StepPeak {
  int process = 0;
  std::uint8_t phase = 0;
  std::int64_t number = 0;  // the step after the last completed one: the run ended in it
  Bytes allocated;
};

// The highest level of each step, in the order of their ends; last the unfinished step of each process.
std::vector<StepPeak> find_step_peaks(const CardHistory& history);

// A thread of one of the recorded processes.
using ThreadOfProcess = std::pair<int, std::uint32_t>;

// One entry for each phase in which blocks of the input stage lived, or of modules that prepare batches. What the
// loaders' own threads hold is told apart (find_thread_memory): it is made ahead of the loop, whatever the loop is at.
std::vector<model::InputWork> find_input_work(const CardHistory& history, std::span<const model::Recording> recordings,
                                              const std::set<std::string>& input_modules,
                                              const std::set<ThreadOfProcess>& loader_threads);

// Nothing when no process came to an optimizer step on this card. `optimizer` and `expected_state` stay empty.
std::optional<model::FirstOptimizerStep> find_first_step(const CardHistory& history);

// The most that blocks of one process and thread held together, with the line that allocated most of it.
model::ThreadMemory find_thread_memory(const CardHistory& history, std::span<const model::Recording> recordings,
                                       int process, std::uint32_t thread);

// The event that was the last at an absolute time (CLOCK_MONOTONIC); kNever: before the first.
EventIndex event_at(const CardHistory& history, std::int64_t at_ns);

// The block of a process that holds an address at that event; null: none does.
const Block* block_at(const CardHistory& history, int process, std::uint64_t address, EventIndex at);

}  // namespace vramfit::liveness

#endif
