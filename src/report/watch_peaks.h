// The peaks of a command as text and JSON.
#ifndef VRAMFIT_REPORT_WATCH_PEAKS_H
#define VRAMFIT_REPORT_WATCH_PEAKS_H

#include <string>
#include <string_view>

#include "model/command_peaks.h"

namespace vramfit::report {

std::string peaks_to_text(const model::CommandPeaks& peaks);
std::string peaks_to_json(const model::CommandPeaks& peaks, std::string_view version);

}  // namespace vramfit::report

#endif
