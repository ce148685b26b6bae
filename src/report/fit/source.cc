#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "report/fit/parts.h"
#include "report/layout.h"

namespace vramfit::report {
namespace {

constexpr std::size_t kShown = 12;      // lines of a diff, so that an answer fits one screen
constexpr std::size_t kFewAdded = 5;    // more in a row, in place of nothing, are a helper of ours
constexpr std::size_t kDiffIndent = 4;  // columns

using Lines = std::vector<std::string_view>;

Lines lines_of(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

bool is_removed(std::string_view line) { return line.starts_with('-') && !line.starts_with("--- "); }
bool is_added(std::string_view line) { return line.starts_with('+') && !line.starts_with("+++ "); }

// What stands for a helper: the line that names it.
std::string_view name_line(const Lines& added) {
  const auto names = [](std::string_view line) { return line.starts_with("+def ") || line.starts_with("+class "); };
  const auto found = std::ranges::find_if(added, names);
  return found == added.end() ? added.front() : *found;
}

// The lines that change, without what is around them; helpers as one line.
std::vector<std::string> changed_lines(std::string_view diff, bool verbose) {
  std::vector<std::string> changed;
  const Lines lines = lines_of(diff);
  for (std::size_t at = 0; at < lines.size();) {
    std::size_t end = at;
    while (end < lines.size() && is_added(lines[end])) ++end;
    const Lines added(lines.begin() + static_cast<std::ptrdiff_t>(at),
                      lines.begin() + static_cast<std::ptrdiff_t>(end));
    const bool replaces = at > 0 && is_removed(lines[at - 1]);
    if (!verbose && !replaces && added.size() > kFewAdded) {
      changed.push_back(fmt::format("{} ... {} lines", name_line(added), added.size()));
    } else {
      for (const std::string_view line : added) {
        if (line.size() > 1) changed.emplace_back(line);
      }
    }
    if (end == at) {
      if (is_removed(lines[at])) changed.emplace_back(lines[at]);
      ++end;
    }
    at = end;
  }
  return changed;
}

// "train.py", of the diff's "+++ b/train.py".
std::string_view name_in(std::string_view diff) {
  constexpr std::string_view kHead = "+++ b/";
  for (const std::string_view line : lines_of(diff)) {
    if (line.starts_with(kHead)) return line.substr(kHead.size());
  }
  return "";
}

}  // namespace

void add_source(std::string& text, const model::FitResult& result, bool verbose) {
  if (result.plans.empty() || !result.plans.front().patch) return;
  const model::Patch& patch = *result.plans.front().patch;
  if (patch.done.empty() && patch.left.empty()) return;
  text += patch.done.empty() ? "\nNot as a diff of your own source\n"
                             : "\nThe best plan in your own source (vramfit patch: the whole diff)\n";
  std::size_t shown = 0, left_out = 0;
  for (const model::PatchedFile& file : patch.files) {
    const std::vector<std::string> changed = changed_lines(file.diff, verbose);
    if (!verbose && shown >= kShown) {
      left_out += changed.size();
      continue;
    }
    text += fmt::format("  {}\n", shorten(name_in(file.diff), page_width() - 2));
    for (const std::string& line : changed) {
      if (!verbose && shown == kShown) {
        ++left_out;
        continue;
      }
      ++shown;
      text += std::string(kDiffIndent, ' ') + (verbose ? line : shorten(line, page_width() - kDiffIndent)) + "\n";
    }
  }
  if (left_out > 0) text += fmt::format("    and {} more\n", count_of(left_out, "line"));
  for (const model::UnpatchedTechnique& left : patch.left) {
    text += indented_line(fmt::format("- {} stays with the plan file: {}", left.id, left.reason));
  }
}

}  // namespace vramfit::report
