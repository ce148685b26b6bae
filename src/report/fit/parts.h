// The parts of an answer of `vramfit fit`; each adds nothing where there is nothing to tell.
#ifndef VRAMFIT_REPORT_FIT_PARTS_H
#define VRAMFIT_REPORT_FIT_PARTS_H

#include <string>

#include "model/fit_result.h"

namespace vramfit::report {

// What is said of the plans (plans.cc).
void add_plans(std::string& text, const model::FitResult& result, bool tells_all);
void add_consequences(std::string& text, const model::FitResult& result);
void add_times(std::string& text, const model::FitResult& result);  // the table has the factor alone
void add_losers(std::string& text, const model::FitResult& result, bool verbose);
void add_front(std::string& text, const model::FitResult& result);
void add_techniques(std::string& text, const model::FitResult& result);

// The best plan as lines of the script's own source (source.cc); all of them where `verbose`.
void add_source(std::string& text, const model::FitResult& result, bool verbose);

// What is said of what no plan changes, and of other cards (machines.cc).
void add_floor(std::string& text, const model::FitResult& result);
void add_advice(std::string& text, const model::FitResult& result);
void add_hardware(std::string& text, const model::FitResult& result);
void add_cheapest_card(std::string& text, const model::FitResult& result);

}  // namespace vramfit::report

#endif
