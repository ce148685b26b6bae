// What frameworks and servers say themselves of a card, in sentences, with ours beside it where both speak of the same.
#ifndef VRAMFIT_REPORT_OWN_COUNTS_H
#define VRAMFIT_REPORT_OWN_COUNTS_H

#include <string>
#include <vector>

#include "model/run_result.h"

namespace vramfit::report {

struct TitledSentences {
  std::string title;
  std::vector<std::string> sentences;
};

std::vector<TitledSentences> own_counts(const model::RunResult& result);

}  // namespace vramfit::report

#endif
