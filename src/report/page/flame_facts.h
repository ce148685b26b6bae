// A flame graph whose numbers do not change: names in a tree, and what each holds itself.
#ifndef VRAMFIT_REPORT_PAGE_FLAME_FACTS_H
#define VRAMFIT_REPORT_PAGE_FLAME_FACTS_H

#include <cstdint>
#include <string>
#include <vector>

#include "report/page/trace_facts.h"

namespace vramfit::report::page {

struct FlameFacts {
  int device = 0;
  std::string by;  // "module", "line"
  NameTree tree;
  std::vector<double> bytes;          // by node, without those below it
  std::vector<std::uint32_t> blocks;  // likewise
};

}  // namespace vramfit::report::page

#endif
