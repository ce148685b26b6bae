#include "report/page/module_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "model/number_text.h"
#include "report/modules_text.h"
#include "report/page/html.h"

namespace vramfit::report::page {

using base::Bytes;
using model::Branch;
using model::ModuleRow;
using model::ModuleTable;
using model::ModuleUse;

namespace {

constexpr std::size_t kMostRows = 1500;

constexpr std::array kColumns = {"class",          "parameters",        "weights", "gradients, optimizer",
                                 "activations",    "peak rise",         "forward", "backward",
                                 "estimated time", "evaluation's rise", "calls",   "in and out"};

// A number as it is shown, and as it is sorted.
std::string cell(const std::string& shown, double value) {
  return fmt::format("<td class=\"number\" data-value=\"{}\">{}</td>", value, escape(shown));
}

std::string cell(Bytes bytes) {
  return cell(bytes.count() == 0 ? "\xE2\x80\x93" : to_string(bytes), static_cast<double>(bytes.count()));
}

std::string count_cell(double count) { return cell(count > 0 ? count_text(count) : "\xE2\x80\x93", count); }

std::string unknown_cell() { return cell("\xE2\x80\x93", 0); }

std::string use_cells(const ModuleUse* use, const ModuleUse* evaluation) {
  std::string html = use != nullptr ? cell(use->activations) + cell(use->peak_rise) + count_cell(use->forward_flops) +
                                          count_cell(use->backward_flops)
                                    : unknown_cell() + unknown_cell() + unknown_cell() + unknown_cell();
  html += use != nullptr && use->forward_seconds ? cell(seconds_text(*use->forward_seconds), *use->forward_seconds)
                                                 : unknown_cell();
  html += evaluation != nullptr ? cell(evaluation->peak_rise) : unknown_cell();
  const ModuleUse* called = use != nullptr ? use : evaluation;
  if (called == nullptr) return html + unknown_cell() + "<td class=\"shapes\"></td>";
  return html + cell(fmt::format("{}", called->calls), static_cast<double>(called->calls)) +
         fmt::format("<td class=\"shapes\">{} \xE2\x86\x92 {}</td>",
                     escape(fmt::format("{}", fmt::join(called->inputs, ", "))),
                     escape(fmt::format("{}", fmt::join(called->outputs, ", "))));
}

// The number of modules that this one lies below: "" and "Critic" 0 and 1, "layer1" and "Critic/net" 1 and 2.
std::ptrdiff_t depth_of(const std::string& name) {
  if (name.empty()) return 0;
  return std::ranges::count_if(name, [](char c) { return c == '.' || c == '/'; }) + 1;
}

const ModuleUse* find_evaluation(const ModuleRow& row) {
  const ModuleUse* use = find_use(row, model::phase::kValidate);
  return use != nullptr ? use : find_use(row, model::phase::kTest);
}

std::string kind_text(const Branch& branch) {
  const std::string way(to_string(branch.kind));
  return branch.training_only ? way + ", only trains" : way;
}

}  // namespace

std::string module_table(const ModuleTable& table, const std::string& title) {
  const std::string phase = main_phase(table);
  std::string html = fmt::format(
      "<div class=\"scroll tall\" tabindex=\"0\" role=\"group\" aria-label=\"{0}\"><table class=\"modules\">"
      "<caption>{0}</caption>\n<thead><tr><th scope=\"col\">module</th>",
      escape(title));
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    const bool is_text = i == 0 || i + 1 == kColumns.size();
    html += fmt::format("<th scope=\"col\"{}>{}</th>", is_text ? "" : " class=\"number\"", escape(kColumns[i]));
  }
  html += "</tr></thead>\n<tbody>\n";
  for (std::size_t i = 0; i < table.rows.size() && i < kMostRows; ++i) {
    const ModuleRow& row = table.rows[i];
    const std::string own = row.name.substr(row.name.find_last_of("./") + 1);
    html += fmt::format("<tr data-depth=\"{0}\"><th scope=\"row\" style=\"padding-left:{0}rem\" title=\"{1}\">{2}</th>",
                        depth_of(row.name), escape(row.name), escape(row.name.empty() ? row.class_name : own));
    html += fmt::format("<td>{}</td>", escape(row.class_name)) + count_cell(static_cast<double>(row.parameters)) +
            cell(row.parameter_bytes + row.buffer_bytes) + cell(row.gradient_bytes + row.optimizer_bytes) +
            use_cells(find_use(row, phase), phase == model::phase::kTrain ? find_evaluation(row) : nullptr) + "</tr>\n";
  }
  html += "</tbody></table></div>\n";
  if (table.rows.size() > kMostRows) {
    html += paragraph(fmt::format("{} more modules are in the run's JSON.", table.rows.size() - kMostRows));
  }
  return html;
}

std::string branch_table(const ModuleTable& table, const std::string& title) {
  if (table.branches.empty()) return "";
  std::vector<std::vector<std::string>> rows;
  for (const Branch& branch : table.branches) {
    rows.push_back({escape(branch.name), branch.alike > 1 ? fmt::format("{}", branch.alike) : "1",
                    to_string(branch.total()), to_string(branch.weights), to_string(branch.gradients),
                    to_string(branch.optimizer), to_string(branch.activations), escape(kind_text(branch)),
                    escape(branch.joins)});
  }
  return report::page::table(title,
                             {{"branch"},
                              {"alike", true},
                              {"frees", true},
                              {"weights", true},
                              {"gradients", true},
                              {"optimizer", true},
                              {"activations", true},
                              {"as"},
                              {"ends at"}},
                             rows);
}

}  // namespace vramfit::report::page
