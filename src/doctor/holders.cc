#include "doctor/holders.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace vramfit::doctor {

std::string describe(const model::Holder& holder) {
  if (holder.kind == model::HolderKind::kUnknown && holder.name.empty()) return "something that was not found";
  std::string text =
      holder.kind == model::HolderKind::kGraph ? "an autograd graph" : std::string(to_string(holder.kind));
  if (holder.kind == model::HolderKind::kObject) text = "an object that no name leads to,";
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

namespace {

bool has_class(const std::vector<std::string>& chain, std::string_view of_class) {
  return std::ranges::find(chain, of_class) != chain.end();
}

}  // namespace

std::optional<Remedy> remedy_of_object(const model::Holder& holder) {
  const std::string& name = holder.name;
  if (has_class(holder.chain, "cycle")) {
    return Remedy{"itertools.cycle keeps every batch of its first round: begin the loader anew instead",
                  "while True:\n    for batch in loader: ...  # a generator around it serves next()"};
  }
  if (has_class(holder.chain, "_tee") || has_class(holder.chain, "_tee_dataobject")) {
    return Remedy{
        "itertools.tee keeps what one of its iterators has had and the other has not: advance both, or drop "
        "the one that stands",
        "del NAME  # or make a second iterator of its own"};
  }
  if (name.contains("-> default of ")) {
    return Remedy{"A default argument is made once, and is the same object in every call",
                  "def f(x, seen=None): seen = [] if seen is None else seen"};
  }
  if (name.contains("weakref.finalize") || has_class(holder.chain, "finalize")) {
    return Remedy{"weakref.finalize keeps its arguments until the object dies: give it no tensor, or let the object go",
                  "weakref.finalize(obj, report, value.item())"};
  }
  if (holder.kind == model::HolderKind::kObject && name.substr(0, name.find('.')).ends_with("Backward")) {
    return Remedy{
        "An output kept as an attribute of ctx is a cycle through C++ that no collector sees: save it by name",
        "ctx.save_for_backward(x, y)  # not ctx.y = y"};
  }
  // The state of parameters, by parameter.
  if (name.ends_with(".state") || name.contains(".state[Parameter]")) {
    return Remedy{"Parameters are added to the optimizer and stay there: take out those that are no longer trained",
                  "del optimizer.state[p]; optimizer.param_groups.remove(GROUP)  # what add_param_group added"};
  }
  return std::nullopt;
}

}  // namespace vramfit::doctor
