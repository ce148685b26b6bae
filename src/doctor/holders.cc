#include "doctor/holders.h"

#include <fmt/format.h>

namespace vramfit::doctor {

std::string describe(const model::Holder& holder) {
  if (holder.kind == "unknown" && holder.name.empty()) return "something that was not found";
  std::string text = holder.kind == "graph" ? "an autograd graph" : holder.kind;
  if (!holder.name.empty()) text += " `" + holder.name + "`";
  if (!holder.container.empty() && holder.length >= 0) {
    text += fmt::format(" (in a {} of {})", holder.container, holder.length);
  } else if (!holder.container.empty()) {
    text += fmt::format(" (in a {})", holder.container);
  }
  if (!holder.where.empty()) text += " of " + holder.where;
  return text;
}

}  // namespace vramfit::doctor
