#include "report/exports/sweep_svg.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/exports/svg.h"
#include "report/layout.h"
#include "report/page/heat_map.h"
#include "report/page/html.h"
#include "report/page/sweep_lines.h"

namespace vramfit::report::exports {

using page::escape;
using page::LegendKey;
using page::SweepPicture;

namespace {

constexpr int kLeastWidth = 640, kMargin = 12, kRow = 24;

// Pictures below one another, under their legend.
class Sheet {
 public:
  void add_title(const std::string& text) {
    body_ += fmt::format("<text class=\"title\" x=\"{}\" y=\"{}\">{}</text>\n", kMargin, height_ + 26, escape(text));
    height_ += 40;
  }
  void add_legend(const std::vector<LegendKey>& keys) {
    for (const LegendKey& key : keys) {
      body_ += fmt::format("<g transform=\"translate({} {})\">{}<text x=\"40\" y=\"13\">{}</text></g>\n", kMargin,
                           height_, key.svg, escape(key.text));
      height_ += kRow;
    }
    height_ += kMargin;
  }
  void add(const SweepPicture& picture) {
    if (!picture.title.empty()) {
      body_ += fmt::format("<text class=\"strong\" x=\"{}\" y=\"{}\">{}</text>\n", kMargin, height_ + 14,
                           escape(shorten(picture.title, 80)));
      height_ += kRow;
    }
    body_ += fmt::format("<g transform=\"translate({} {})\">\n{}</g>\n", kMargin, height_, picture.svg);
    height_ += picture.height + kMargin;
    width_ = std::max(width_, picture.width + 2 * kMargin);
  }
  std::string finish() const { return svg_document(width_, height_, body_); }

 private:
  std::string body_;
  int width_ = kLeastWidth, height_ = 0;
};

}  // namespace

std::string sweep_to_svg(const page::SweepFacts& facts, const std::string& title) {
  const std::vector<SweepPicture> maps = draw_heat_maps(facts), lines = draw_sweep_lines(facts);
  if (maps.empty() && lines.empty()) return "";
  Sheet sheet;
  if (!maps.empty()) {
    const auto& goal = facts.result.spec.goal;
    sheet.add_title(title + (goal ? ": the largest " + goal->name + " that fits" : ": peak memory and the border"));
    sheet.add_legend(heat_map_legend(facts));
    for (const SweepPicture& map : maps) sheet.add(map);
  }
  if (!lines.empty()) {
    sheet.add_title(title + ": peak memory of each trial");
    sheet.add_legend(sweep_lines_legend(facts));
    for (const SweepPicture& line : lines) sheet.add(line);
  }
  return sheet.finish();
}

}  // namespace vramfit::report::exports
