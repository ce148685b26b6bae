#include "report/modules_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "report/layout.h"

namespace vramfit::report {

using base::Bytes;
using model::Branch;
using model::ModuleRow;
using model::ModuleTable;
using model::ModuleUse;

namespace {

constexpr std::size_t kNameWidth = 22;

Bytes all_bytes(const ModuleRow& row, const std::string& phase) {
  const ModuleUse* use = find_use(row, phase);
  return held_bytes(row) + (use != nullptr ? use->activations : Bytes());
}

std::string shown(Bytes bytes) { return bytes.count() == 0 ? "-" : to_string(bytes); }

std::string count_of(int alike) { return alike > 1 ? fmt::format("x{}", alike) : ""; }

// A module that holds no more than one right below it says nothing of its own.
bool repeats_its_parent(const std::vector<ModuleRow>& rows, std::size_t index, const std::string& phase) {
  const std::string& name = rows[index].name;
  for (std::size_t above = index; above-- > 0;) {
    const std::string& parent = rows[above].name;
    const bool is_above = parent.empty() || (name.starts_with(parent) && name[parent.size()] == '.');
    if (is_above) return !parent.empty() && all_bytes(rows[above], phase) == all_bytes(rows[index], phase);
  }
  return false;
}

// Rows of the same name but for numbers, and of the same size: blocks that are repeated.
struct AlikeRows {
  const ModuleRow* first = nullptr;
  int count = 0;
  Bytes bytes;  // of one
};

// With `each` none is left out, and none stands for another.
std::vector<AlikeRows> find_rows(const ModuleTable& table, const std::string& phase, bool each) {
  std::map<std::pair<std::string, Bytes>, std::size_t> known;
  std::vector<AlikeRows> rows;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const Bytes bytes = all_bytes(table.rows[i], phase);
    if (each) {
      rows.push_back({&table.rows[i], 1, bytes});
      continue;
    }
    if (bytes.count() == 0 || repeats_its_parent(table.rows, i, phase)) continue;
    const auto [found, is_new] = known.try_emplace({model::without_numbers(table.rows[i].name), bytes}, rows.size());
    if (is_new) rows.push_back({&table.rows[i], 0, bytes});
    ++rows[found->second].count;
  }
  std::ranges::stable_sort(rows, [](const AlikeRows& left, const AlikeRows& right) {
    return left.bytes.count() * left.count > right.bytes.count() * right.count;
  });
  return rows;
}

std::string rows_text(const ModuleTable& table, const std::string& phase, std::optional<std::size_t> most) {
  const std::vector<AlikeRows> rows = find_rows(table, phase, !most);
  std::vector<std::vector<std::string>> cells = {{"module", "", "held", "activations", "forward", "backward", "time"}};
  for (std::size_t i = 0; i < rows.size() && (!most || i < *most); ++i) {
    const ModuleRow& row = *rows[i].first;
    const ModuleUse* use = find_use(row, phase);
    cells.push_back({row.name.empty() ? row.class_name : row.name, count_of(rows[i].count), shown(held_bytes(row)),
                     use != nullptr ? shown(use->activations) : "-",
                     use != nullptr ? count_text(use->forward_flops) : "-",
                     use != nullptr ? count_text(use->backward_flops) : "-",
                     use != nullptr && use->forward_seconds ? seconds_text(*use->forward_seconds) : "-"});
  }
  std::string text = fmt::format("\nModules, in one forward of phase {}\n", phase.empty() ? "?" : phase);
  text += report::table({{Align::kLeft, kNameWidth},
                         {Align::kRight, 4},
                         {Align::kRight, 9},
                         {Align::kRight, 11},
                         {Align::kRight, 7},
                         {Align::kRight, 8},
                         {Align::kRight, 7}},
                        cells);
  if (most && rows.size() > *most) {
    text += fmt::format("  and {} more: --verbose, --json or the report\n", rows.size() - *most);
  }
  return text + "  " +
         wrap(
             std::string("Each with the modules below it") + (most ? "; x2: two such, of which one is shown" : "") +
                 ". held: weights, gradients, optimizer "
                 "state. forward, backward: floating-point operations. time: of the forward, estimated from the card's "
                 "peak rates.",
             kPageWidth - 2, 2) +
         "\n";
}

std::string kind_text(const Branch& branch) {
  if (branch.training_only) return "only trains";
  return std::string(to_string(branch.kind));
}

std::string branches_text(const ModuleTable& table, std::size_t most) {
  if (table.branches.empty()) return "";
  std::vector<std::vector<std::string>> cells = {{"branch", "", "frees", "held", "activations", "as"}};
  for (std::size_t i = 0; i < table.branches.size() && i < most; ++i) {
    const Branch& branch = table.branches[i];
    cells.push_back({branch.name, count_of(branch.alike), to_string(branch.total()),
                     shown(branch.total() - branch.activations), shown(branch.activations), kind_text(branch)});
  }
  const Column size{Align::kRight, 9};
  std::string text =
      "\nWhat dropping a branch would free\n" +
      report::table({{Align::kLeft, 29}, {Align::kRight, 4}, size, size, {Align::kRight, 11}, {Align::kLeft, 12}},
                    cells);
  if (table.branches.size() > most) text += fmt::format("  and {} more\n", table.branches.size() - most);
  return text + "  " +
         wrap("The sizes are of one of those alike. only trains: no evaluation ran it.", kPageWidth - 2, 2) + "\n";
}

}  // namespace

std::string count_text(double count) {
  if (count <= 0) return "-";
  constexpr std::array kUnits = {"", " k", " M", " G", " T", " P"};
  std::size_t unit = 0;
  while (count >= 999.5 && unit + 1 < kUnits.size()) {
    count /= 1000;
    ++unit;
  }
  return fmt::format("{:.{}f}{}", count, unit == 0 || count >= 99.95 ? 0 : count >= 9.995 ? 1 : 2, kUnits[unit]);
}

std::string seconds_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3g} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.0f} us", seconds * 1e6);
}

std::string modules_to_text(const ModuleTable& table, std::optional<std::size_t> most) {
  std::string text;
  if (!table.rows.empty())
    text += rows_text(table, main_phase(table), most) + branches_text(table, most.value_or(table.branches.size()));
  for (const std::string& remark : table.remarks) text += "  [!] " + wrap(remark, kPageWidth - 6, 6) + "\n";
  return text;
}

}  // namespace vramfit::report
