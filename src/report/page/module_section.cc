#include "report/page/module_section.h"

#include <fmt/format.h>

#include "report/page/html.h"
#include "report/page/module_table.h"
#include "report/page/network_drawing.h"

namespace vramfit::report::page {

std::string module_section(const model::ModuleTable& table, std::int64_t run, int level) {
  std::string html;
  const std::string phase = main_phase(table);
  const std::string drawings = network_drawings(table, fmt::format("{}", run));
  if (!drawings.empty()) html += heading(level, "The network") + drawings;
  if (!table.branches.empty()) {
    html += heading(level, "What dropping a branch would free") +
            branch_table(table, fmt::format("Branches, largest first (run {}). Sizes are of one of those alike.", run));
  }
  if (!table.rows.empty()) {
    html += heading(level, "Modules") +
            paragraph(
                "Each module with those below it. Forward and backward are floating-point operations; the time is "
                "the forward's, estimated from the card's peak rates.") +
            module_table(table, fmt::format("Modules in one forward of phase {} (run {})",
                                            phase.empty() ? "unknown" : phase, run));
  }
  for (const std::string& remark : table.remarks) html += paragraph(remark, "note");
  return html;
}

}  // namespace vramfit::report::page
