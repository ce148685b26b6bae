// Joins what is known of a run that has ended (its facts, how its process ended) into a RunResult.
#ifndef VRAMFIT_JOB_ASSEMBLE_H
#define VRAMFIT_JOB_ASSEMBLE_H

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/subprocess.h"
#include "facts/run_facts.h"
#include "model/card.h"
#include "model/run_result.h"

namespace vramfit::job {

struct FinishedRun {
  base::Ended ended;
  std::vector<model::EmulatedCard> cards;  // empty on a real card
  facts::RunFactsPtr facts;
  std::string torch, cuda, python;     // of the interpreter; the hooks' own words win
  std::vector<model::Remark> assumed;  // by whoever set the run up: context sources and the like
  std::vector<std::string> untested;   // model::RunResult has it
  bool answers_so_far = false;         // it saw enough for an answer when it was interrupted
};

model::RunResult assemble(const FinishedRun& run);

// The step at which what grows would fill a card of `total`, for all that a device of the run held.
std::optional<std::int64_t> find_end_on(const model::Growth& growth, const model::DeviceResult& device,
                                        base::Bytes total);

// The warnings about growth, made anew of the evidence: for whoever changed that.
void tell_growth(model::RunResult& result);

}  // namespace vramfit::job

#endif
