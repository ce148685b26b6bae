// The card catalogue as a table and as JSON.
#ifndef VRAMFIT_REPORT_GPUS_H
#define VRAMFIT_REPORT_GPUS_H

#include <string>
#include <string_view>
#include <vector>

#include "model/card.h"

namespace vramfit::report {

std::string gpus_to_text(const std::vector<model::Card>& cards);
std::string gpus_to_json(const std::vector<model::Card>& cards, std::string_view version);

}  // namespace vramfit::report

#endif
