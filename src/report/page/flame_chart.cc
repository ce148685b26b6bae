#include "report/page/flame_chart.h"

#include <fmt/format.h>

#include "report/page/html.h"
#include "report/page/packed.h"
#include "report/page/trace_data.h"

namespace vramfit::report::page {

std::string flame_chart(const std::vector<FlameFacts>& flames, int device, const std::string& title) {
  std::string data, choices;
  for (const FlameFacts& flame : flames) {
    if (flame.device != device || flame.tree.parent.size() < 2) continue;
    choices += fmt::format("<option value=\"{0}\">{0}</option>", escape(flame.by));
    data += tree_data(flame.by, flame.tree) + packed(flame.by + "-bytes", flame.bytes) +
            packed(flame.by + "-blocks", flame.blocks);
  }
  if (choices.empty()) return "";
  return fmt::format(
      "<figure class=\"run-flame\" hidden><figcaption>{0}</figcaption>\n<template>\n{1}</template>\n"
      "<div class=\"buttons\"><label>by <select>{2}</select></label><button type=\"button\" data-flame=\"up\">one "
      "up</button><button type=\"button\" data-flame=\"all\">whole</button></div>\n<div class=\"view\" "
      "role=\"application\" tabindex=\"0\" aria-label=\"{0}, as a flame graph. Arrows: from part to part; Enter: only "
      "this one; Escape: one up; the tables of this section hold the numbers.\"></div>\n<div class=\"told\" "
      "role=\"status\"></div>\n</figure>\n",
      escape(title), data, choices);
}

}  // namespace vramfit::report::page
