#include "model/modules.h"

#include <algorithm>

namespace vramfit::model {

std::string_view to_string(BranchKind kind) {
  switch (kind) {
    case BranchKind::kAdded:
      return "added";
    case BranchKind::kConcatenated:
      return "concatenated";
    case BranchKind::kGate:
      return "gate";
    case BranchKind::kOutput:
      return "output";
  }
  return "";
}

const ModuleUse* find_use(const ModuleRow& row, std::string_view phase) {
  const auto found = std::ranges::find(row.uses, phase, &ModuleUse::phase);
  return found == row.uses.end() ? nullptr : &*found;
}

Bytes held_bytes(const ModuleRow& row) {
  return row.parameter_bytes + row.buffer_bytes + row.gradient_bytes + row.optimizer_bytes;
}

std::string main_phase(const ModuleTable& table) {
  std::string first;
  for (const ModuleRow& row : table.rows) {
    for (const ModuleUse& use : row.uses) {
      if (use.phase == "train") return use.phase;
      if (first.empty()) first = use.phase;
    }
  }
  return first;
}

}  // namespace vramfit::model
