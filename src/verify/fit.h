// Whether an answer of `vramfit fit` agrees with itself: what it calls proven was run and fits. For tests.
#ifndef VRAMFIT_VERIFY_FIT_H
#define VRAMFIT_VERIFY_FIT_H

#include <string>
#include <vector>

#include "model/fit_result.h"

namespace vramfit::verify {

// What does not agree, a sentence each; empty: all of it does.
std::vector<std::string> check_fit(const model::FitResult& result);

}  // namespace vramfit::verify

#endif
