#include "model/modules.h"

#include <algorithm>

#include "base/letters.h"
#include "model/number_text.h"

namespace vramfit::model {

namespace {

bool separates(char c) { return std::string_view("./:, #").find(c) != std::string_view::npos; }

}  // namespace

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

std::string without_numbers(std::string_view name) {
  std::string text;
  for (std::size_t i = 0; i < name.size();) {
    std::size_t end = i;
    while (end < name.size() && base::is_digit(name[end])) ++end;
    const bool is_whole = end > i && (i == 0 || separates(name[i - 1])) && (end == name.size() || separates(name[end]));
    if (is_whole) {
      text += '*';
      i = end;
    } else {
      text += name[i++];
    }
  }
  return text;
}

std::string main_phase(const ModuleTable& table) {
  std::string first;
  for (const ModuleRow& row : table.rows) {
    for (const ModuleUse& use : row.uses) {
      if (use.phase == model::phase::kTrain) return use.phase;
      if (first.empty()) first = use.phase;
    }
  }
  return first;
}

}  // namespace vramfit::model
