// The table of modules and that of branches, in 80 columns.
#ifndef VRAMFIT_REPORT_MODULES_TEXT_H
#define VRAMFIT_REPORT_MODULES_TEXT_H

#include <cstddef>
#include <optional>
#include <string>

#include "model/modules.h"

namespace vramfit::report {

// The `most` modules that hold most, without those that only wrap another; and the `most` branches.
// Without a number: every one, each of those alike too.
std::string modules_to_text(const model::ModuleTable& table, std::optional<std::size_t> most);

// "65.4 G", "1.89 T"
std::string count_text(double count);

// "12.3 ms"
std::string seconds_text(double seconds);

}  // namespace vramfit::report

#endif
