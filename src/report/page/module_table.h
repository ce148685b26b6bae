// The modules of a run's models as a table, and what dropping a branch would free.
#ifndef VRAMFIT_REPORT_PAGE_MODULE_TABLE_H
#define VRAMFIT_REPORT_PAGE_MODULE_TABLE_H

#include <string>

#include "model/modules.h"

namespace vramfit::report::page {

// `title` is plain text. assets/modules.js makes the rows fold and sort; without it all of them are shown.
std::string module_table(const model::ModuleTable& table, const std::string& title);

// Empty without branches.
std::string branch_table(const model::ModuleTable& table, const std::string& title);

}  // namespace vramfit::report::page

#endif
