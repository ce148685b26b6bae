#include "report/page/owners_bar.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/page/html.h"
#include "report/page/palette.h"

namespace vramfit::report::page {

using base::Bytes;

namespace {

constexpr double kOwnersWidth = 960, kOwnersHeight = 48;

std::string share_text(Bytes part, double whole) {
  const double share = 100.0 * static_cast<double>(part.count()) / whole;
  return share > 0 && share < 0.5 ? "< 1 %" : fmt::format("{:.0f} %", share);
}

std::string draw(const std::vector<OwnerTotal>& totals, double whole, const std::string& title) {
  std::string spoken;
  for (const OwnerTotal& total : totals) {
    spoken += fmt::format("{}{} {}", spoken.empty() ? "" : ", ", total.owner, to_string(total.bytes));
  }
  std::string svg = fmt::format(
      "<svg class=\"bar\" viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}: {}\">\n",
      kOwnersWidth, kOwnersHeight, escape(title), escape(spoken));
  double x = 0;
  for (const OwnerTotal& total : totals) {
    const double width = kOwnersWidth * static_cast<double>(total.bytes.count()) / whole;
    svg += fmt::format(
        "<rect class=\"edge\" x=\"{:.2f}\" y=\"0\" width=\"{:.2f}\" height=\"{}\" fill=\"{}\"><title>{} "
        "{}</title></rect>\n",
        x, width, kOwnersHeight, fill_of(total.owner), escape(total.owner), to_string(total.bytes));
    x += width;
  }
  return svg + "</svg>\n";
}

}  // namespace

std::string owners_bar(const ShownRun& run, int device, const std::string& title) {
  std::vector<OwnerTotal> totals;
  double whole = 0;
  for (const OwnerTotal& total : run.owners) {
    if (total.device != device || total.bytes.count() <= 0) continue;
    totals.push_back(total);
    whole += static_cast<double>(total.bytes.count());
  }
  if (totals.empty()) return "";
  std::vector<std::vector<std::string>> rows;
  for (const OwnerTotal& total : totals) {
    rows.push_back({swatch(total.owner) + " " + escape(total.owner), to_string(total.bytes),
                    share_text(total.bytes, whole), fmt::format("{}", total.blocks)});
  }
  std::string html = fmt::format("<figure><figcaption>{}</figcaption>\n", escape(title)) + draw(totals, whole, title) +
                     table("By owner: " + title, {{"owner"}, {"holds", true}, {"share", true}, {"blocks", true}}, rows);
  rows.clear();
  for (const model::OwnerRow& row : run.result->owners_at_peak) {
    if (row.device != device) continue;
    rows.push_back({swatch(row.owner) + " " + escape(row.owner), escape(row.name), to_string(row.bytes),
                    share_text(row.bytes, whole), fmt::format("{}", row.blocks),
                    row.line.empty() ? "" : "<code>" + escape(row.line) + "</code>"});
  }
  return html + "</figure>\n" +
         details(fmt::format("Module by module ({} rows)", rows.size()),
                 table("By module: " + title,
                       {{"owner"}, {"module"}, {"holds", true}, {"share", true}, {"blocks", true}, {"line"}}, rows));
}

}  // namespace vramfit::report::page
