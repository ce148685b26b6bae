#include "doctor/holders.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace vramfit::doctor {

std::string describe(const model::Holder& holder) {
  if (holder.kind == "unknown" && holder.name.empty()) return "something that was not found";
  std::string text = holder.kind == "graph" ? "an autograd graph" : holder.kind;
  if (holder.kind == "object") text = "an object that no name leads to,";
  if (!holder.name.empty()) text += " `" + holder.name + "`";
  if (!holder.container.empty() && holder.length >= 0) {
    text += fmt::format(" (in a {} of {})", holder.container, holder.length);
  } else if (!holder.container.empty()) {
    text += fmt::format(" (in a {})", holder.container);
  }
  if (!holder.where.empty()) text += " of " + holder.where;
  return text;
}

std::string describe_with_line(const model::Holder& holder) {
  const std::string text = describe(holder);
  return holder.filled_at.empty() ? text : text + fmt::format(", filled at {}", fmt::join(holder.filled_at, " and "));
}

}  // namespace vramfit::doctor
