// What a search found -> the rows of the answer, with the reason each loser lost.
#ifndef VRAMFIT_APP_FIT_SUMMARY_H
#define VRAMFIT_APP_FIT_SUMMARY_H

#include <string>
#include <vector>

#include "model/fit_result.h"
#include "plan/search/largest_batch.h"
#include "plan/search/search.h"

namespace vramfit::app {

void add_search(const model::Job& job, const plan::Target& target, const std::vector<plan::Axis>& axes,
                const plan::SearchResult& found, model::FitResult& result);

void add_largest_batch(const model::Job& job, const plan::Target& target, const plan::LargestBatch& found,
                       model::FitResult& result);

// Why a run did not prove its plan; empty when it did.
std::string why_unproven(const plan::Proof& proof);

// What stopped every plan that ran out, when it was the same for all of two or more: the script's own doing.
std::string common_wall(const model::FitResult& result);

// Tells the plans that fit why they are not the first.
void explain_ranks(model::FitResult& result);

}  // namespace vramfit::app

#endif
