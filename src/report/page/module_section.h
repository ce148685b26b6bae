// What `vramfit run --modules` found, as part of a run's page.
#ifndef VRAMFIT_REPORT_PAGE_MODULE_SECTION_H
#define VRAMFIT_REPORT_PAGE_MODULE_SECTION_H

#include <cstdint>
#include <string>

#include "model/modules.h"

namespace vramfit::report::page {

std::string module_section(const model::ModuleTable& table, std::int64_t run, int level);

}  // namespace vramfit::report::page

#endif
