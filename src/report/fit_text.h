// What `vramfit fit` found, for a person: verdict first and last, 80 columns.
#ifndef VRAMFIT_REPORT_FIT_TEXT_H
#define VRAMFIT_REPORT_FIT_TEXT_H

#include <string>

#include "model/fit_result.h"
#include "report/run_text.h"

namespace vramfit::report {

std::string fit_to_text(const model::FitResult& result, const TextOptions& options);

Mark fit_verdict_mark(const model::FitResult& result);

// "[✓] fp16 autocast, checkpoint 4 blocks fits NVIDIA GeForce GTX 1650: ..."
std::string fit_verdict_line(const model::FitResult& result);

}  // namespace vramfit::report

#endif
