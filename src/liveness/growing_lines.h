// Which of the script's lines make blocks that stay, step after step: the lines of a growth (growth.h shows how).
#ifndef VRAMFIT_LIVENESS_GROWING_LINES_H
#define VRAMFIT_LIVENESS_GROWING_LINES_H

#include "liveness/step_series.h"
#include "model/runtime_evidence.h"

namespace vramfit::liveness {

// Lines whose blocks stay, generation after generation, those that add most first; what they add together, and the
// length of the longest such row.
void find_lines_of_generations(const CardHistory& history, const StepSeries& series, const model::Recording& recording,
                               model::Growth& growth);

// Blocks of training steps that are never freed, by the line that makes some of them again and again.
void find_lines_that_stay(const CardHistory& history, const StepSeries& series, const model::Recording& recording,
                          model::Growth& growth);

// Lines that leave one block at the end of each step, larger every time, though it goes when the next one comes:
// `queue = torch.cat([queue, new])`.
void find_lines_that_get_longer(const CardHistory& history, const StepSeries& series, const model::Recording& recording,
                                model::Growth& growth);

}  // namespace vramfit::liveness

#endif
