#include "report/page/network_drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "report/layout.h"
#include "report/page/html.h"
#include "report/page/network_layout.h"
#include "report/page/network_view.h"
#include "report/page/palette.h"

namespace vramfit::report::page {

using base::Bytes;
using model::ModuleTable;

namespace {

constexpr double kBoxWidth = 228, kBoxHeight = 58, kPillHeight = 26, kBarHeight = 8, kInset = 8;
constexpr double kLetterWidth = 7.3;  // of 13 px system-ui, on the wide side
constexpr std::size_t kTitleLetters = 27, kClassLetters = 19;
constexpr std::size_t kMostInsides = 16;

Bytes all_bytes(const NetworkBox& box) { return box.activations + box.held; }

BoxSize size_of(const NetworkBox& box) {
  if (box.kind == BoxKind::kModule) return {kBoxWidth, kBoxHeight};
  const double letters = static_cast<double>(columns(shorten(box.title, kTitleLetters)));
  return {std::max(56.0, letters * kLetterWidth + 20), kPillHeight};
}

std::string class_of(const NetworkBox& box) {
  return box.alike > 1 ? fmt::format("{} \xC3\x97{}", box.class_name, box.alike) : box.class_name;
}

// "ConvBlock ×12": the number stays when the name is shortened.
std::string short_class(const NetworkBox& box) {
  const std::string count = box.alike > 1 ? fmt::format(" \xC3\x97{}", box.alike) : "";
  return shorten(box.class_name, kClassLetters - columns(count)) + count;
}

std::string sentence(const NetworkBox& box) {
  std::string text = box.title;
  if (!box.class_name.empty()) text += " (" + class_of(box) + ")";
  if (box.kind == BoxKind::kEnd) return text;
  return text + fmt::format(": activations {}, weights, gradients and optimizer state {}", to_string(box.activations),
                            to_string(box.held));
}

std::string draw_bar(const NetworkBox& box, const Corner& place, Bytes most) {
  if (most.count() <= 0) return "";
  const double whole = kBoxWidth - 2 * kInset, y = place.y + kBoxHeight - kInset - kBarHeight;
  const auto width = [&](Bytes bytes) {
    return whole * static_cast<double>(bytes.count()) / static_cast<double>(most.count());
  };
  std::string svg = fmt::format("<rect class=\"track\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\"/>",
                                place.x + kInset, y, whole, kBarHeight);
  double x = place.x + kInset;
  for (const auto& [owner, bytes] : {std::pair("activations", box.activations), std::pair("weights", box.held)}) {
    if (bytes.count() <= 0) continue;
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{}\" fill=\"{}\"/>", x, y,
                       width(bytes), kBarHeight, fill_of(owner));
    x += width(bytes);
  }
  return svg;
}

std::string draw_box(const NetworkBox& box, const Corner& place, Bytes most) {
  const BoxSize size = size_of(box);
  std::string svg = fmt::format("<g class=\"node\"><title>{}</title>", escape(sentence(box)));
  const bool is_module = box.kind == BoxKind::kModule;
  if (box.alike > 1) {
    for (const double shift : {6.0, 3.0}) {
      svg += fmt::format("<rect class=\"box\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" rx=\"5\"/>",
                         place.x + shift, place.y - shift, size.width, size.height);
    }
  }
  svg += fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\" rx=\"{}\"/>",
                     box.kind == BoxKind::kOperator ? "join" : "box", place.x, place.y, size.width, size.height,
                     is_module ? 5 : kPillHeight / 2);
  if (!is_module) {
    return svg + fmt::format("<text class=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text></g>\n",
                             place.x + size.width / 2, place.y + 17.5, escape(shorten(box.title, kTitleLetters)));
  }
  svg += fmt::format("<text class=\"strong\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", place.x + kInset, place.y + 18,
                     escape(shorten(box.title, kTitleLetters)));
  svg += fmt::format("<text class=\"muted\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", place.x + kInset, place.y + 35,
                     escape(short_class(box)));
  svg += fmt::format("<text class=\"end\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", place.x + size.width - kInset,
                     place.y + 35, to_string(all_bytes(box)));
  return svg + draw_bar(box, place, most) + "</g>\n";
}

// Smooth between layers, upright beside boxes.
std::string draw_route(const Route& route, const std::string& arrow) {
  std::string path;
  for (std::size_t i = 0; i < route.points.size(); ++i) {
    const Corner& to = route.points[i];
    if (i == 0) {
      path = fmt::format("M{:.1f} {:.1f}", to.x, to.y);
      continue;
    }
    const Corner& from = route.points[i - 1];
    if (std::abs(from.x - to.x) < 0.05 && std::abs(from.y - to.y) < 0.05) continue;  // it would turn the arrow's head
    if (std::abs(from.x - to.x) < 0.05) {
      path += fmt::format("L{:.1f} {:.1f}", to.x, to.y);
    } else {
      const double middle = (from.y + to.y) / 2;
      path += fmt::format("C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", from.x, middle, to.x, middle, to.x, to.y);
    }
  }
  return fmt::format("<path class=\"flow{}\" d=\"{}\" marker-end=\"url(#{})\"/>\n",
                     route.is_backward ? " backward" : "", path, arrow);
}

struct Drawing {
  std::string svg;
  double width = 0, height = 0;
};

Drawing draw(const NetworkView& view, const std::string& title, const std::string& id, const std::string& head) {
  std::vector<BoxSize> sizes;
  Bytes most;
  for (const NetworkBox& box : view.boxes) {
    sizes.push_back(size_of(box));
    most = std::max(most, all_bytes(box));
  }
  const Layout layout = lay_out(sizes, view.lines);
  const std::string arrow = "arrow-" + id;
  Drawing drawing{"", layout.width + 8, layout.height};
  drawing.svg = fmt::format(
      "<svg class=\"network\" {}viewBox=\"0 0 {:.0f} {:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\" role=\"img\" "
      "aria-labelledby=\"title-{} desc-{}\"><title id=\"title-{}\">{}</title><desc id=\"desc-{}\">{} boxes, joined by "
      "{} lines from top to bottom.</desc>\n",
      head, drawing.width, drawing.height, drawing.width, drawing.height, id, id, id, escape(title), id,
      view.boxes.size(), view.lines.size());
  drawing.svg += fmt::format(
      "<defs><marker id=\"{}\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" "
      "markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path class=\"arrow\" d=\"M0 0L8 4L0 8Z\"/></marker></defs>\n",
      arrow);
  for (std::size_t i = 0; i < view.boxes.size(); ++i) {
    drawing.svg += draw_box(view.boxes[i], layout.boxes[i], most);
  }
  // Above the boxes: the sheets behind a repeated one would hide an arrow's head.
  for (const Route& route : layout.routes) drawing.svg += draw_route(route, arrow);
  drawing.svg += "</svg>";
  return drawing;
}

std::string box_table(const NetworkView& view, const std::string& title) {
  std::vector<std::vector<std::string>> feeds(view.boxes.size());
  for (const Line& line : view.lines) feeds[line.from].push_back(view.boxes[line.to].title);
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < view.boxes.size(); ++i) {
    const NetworkBox& box = view.boxes[i];
    std::string into;
    for (const std::string& name : feeds[i]) into += (into.empty() ? "" : ", ") + name;
    rows.push_back(
        {escape(box.title), escape(class_of(box)), to_string(box.activations), to_string(box.held), escape(into)});
  }
  return details(
      "The numbers behind the picture",
      table("Boxes of: " + title,
            {{"box"}, {"class"}, {"activations", true}, {"weights to optimizer", true}, {"goes into"}}, rows));
}

std::string figure(const NetworkView& view, const std::string& title, const std::string& id) {
  return fmt::format(
      "<figure class=\"network\"><figcaption>{0}</figcaption>\n<div class=\"scroll\" tabindex=\"0\" role=\"group\" "
      "aria-label=\"{0}\">{1}</div>\n{2}</figure>\n",
      escape(title), draw(view, title, id, "").svg, box_table(view, title));
}

// Two insides that would look the same but for their sizes are drawn once.
std::string shape_of(const NetworkView& view) {
  std::string shape;
  for (const NetworkBox& box : view.boxes) shape += fmt::format("{} {};", box.title, class_of(box));
  for (const Line& line : view.lines) shape += fmt::format("{}>{};", line.from, line.to);
  return shape;
}

std::string legend() {
  return "<ul class=\"legend\"><li>" + swatch("activations") + " activations alive when the forward ends</li><li>" +
         swatch("weights") + " weights, gradients, optimizer state</li></ul>\n";
}

std::ptrdiff_t count_parts(const NetworkView& view) {
  return std::ranges::count_if(view.boxes, [](const NetworkBox& box) { return box.kind != BoxKind::kEnd; });
}

class Drawings {
 public:
  Drawings(const ModuleTable& table, std::string run) : table_(table), run_(std::move(run)) {}

  std::string draw_model(const std::string& name) {
    const NetworkView view = view_network(table_, name);
    if (view.boxes.empty()) return "";
    const std::string title = fmt::format("The network{}{} (run {})", name.empty() ? "" : " of ", name, run_);
    std::string html = legend() + figure(view, title, next_id());
    shapes_.insert(shape_of(view));
    std::string insides;
    draw_insides(view, insides);
    return html + insides;
  }

 private:
  std::string next_id() { return fmt::format("network-{}-{}", run_, ++count_); }

  void draw_insides(const NetworkView& view, std::string& html) {
    for (const NetworkBox& box : view.boxes) {
      if (box.inside.empty() || drawn_ >= kMostInsides) continue;
      const NetworkView inside = view_network(table_, box.inside);
      if (!shapes_.insert(shape_of(inside)).second) continue;
      if (count_parts(inside) < 2) {  // a wrapper
        draw_insides(inside, html);
        continue;
      }
      ++drawn_;
      const std::string title =
          fmt::format("Inside {} ({}{})", box.inside, box.class_name,
                      box.alike > 1 ? fmt::format(", the first of {}", box.alike) : std::string());
      html += details(title, figure(inside, fmt::format("{}, run {}", title, run_), next_id()));
      draw_insides(inside, html);
    }
  }

  const ModuleTable& table_;
  std::string run_;
  std::set<std::string> shapes_;
  std::size_t count_ = 0, drawn_ = 0;
};

constexpr std::string_view kFileStyle =
    "<style>svg{font:13px system-ui,sans-serif;background:#fff}.box{fill:#f4f5f6;stroke:#888}.join{fill:#fff;"
    "stroke:#555}.track{fill:#dcdfe2}.flow{fill:none;stroke:#666;stroke-width:1.5}.backward{stroke-dasharray:5 3}"
    ".arrow{fill:#666}.strong{font-weight:600}.muted{fill:#555}.end{text-anchor:end}.middle{text-anchor:middle}"
    "</style>";

}  // namespace

std::string network_drawings(const ModuleTable& table, const std::string& run) {
  Drawings drawings(table, run);
  std::string html;
  for (const std::string& name : model_names(table)) html += drawings.draw_model(name);
  return html;
}

std::string network_svg(const ModuleTable& table) {
  const auto names = model_names(table);
  if (names.empty()) return "";
  const NetworkView view = view_network(table, names.front());
  Drawing drawing =
      draw(view, "The network, with the memory of each part", "network", "xmlns=\"http://www.w3.org/2000/svg\" ");
  drawing.svg.insert(drawing.svg.find("<defs>"), kFileStyle);
  return drawing.svg + "\n";
}

}  // namespace vramfit::report::page
