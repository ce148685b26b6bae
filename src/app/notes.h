// The notes of the Python hooks and of the ledger, as parts of a result.
#ifndef VRAMFIT_APP_NOTES_H
#define VRAMFIT_APP_NOTES_H

#include <vramfit/ledger.h>

#include <span>

#include "model/recording.h"
#include "model/run_result.h"

namespace vramfit::app {

// torch, cuda, python, cuts, plan_applied/refused, oom (without its size), error, depends_on_data, losses.
void apply_notes(std::span<const model::Recording> recordings, model::RunResult& result);

// not_modelled, assumed, depends_on_data, warnings and losses.
void apply_ledger_notes(const vf_ledger& ledger, model::RunResult& result);

// What the reader of the recordings could not use, as losses.
void apply_odd_input(std::span<const model::Recording> recordings, model::RunResult& result);

// The worst first.
void sort_losses(model::RunResult& result);

}  // namespace vramfit::app

#endif
