// The card catalogue as a table and as JSON, and one of its cards with all that is known of it.
#ifndef VRAMFIT_REPORT_GPUS_H
#define VRAMFIT_REPORT_GPUS_H

#include <string>
#include <string_view>
#include <vector>

#include "model/card.h"

namespace vramfit::report {

std::string gpus_to_text(const std::vector<model::Card>& cards);
// Each figure with its source, the instances it can be cut into, and what differs where it has the processor's memory.
std::string gpu_to_text(const model::Card& card);
std::string gpus_to_json(const std::vector<model::Card>& cards, std::string_view version);

}  // namespace vramfit::report

#endif
