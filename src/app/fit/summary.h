// What a search found -> the answer: the plans that fit, those that lost, what was foreseen and the front.
#ifndef VRAMFIT_APP_FIT_SUMMARY_H
#define VRAMFIT_APP_FIT_SUMMARY_H

#include <vector>

#include "model/fit_result.h"
#include "plan/search/largest_batch.h"
#include "plan/search/search.h"

namespace vramfit::app {

void add_search(const model::Job& job, const plan::Target& target, const std::vector<plan::Axis>& axes,
                const plan::SearchResult& found, model::FitResult& result);

void add_largest_batch(const model::Job& job, const plan::Target& target, const plan::LargestBatch& found,
                       model::FitResult& result);

}  // namespace vramfit::app

#endif
