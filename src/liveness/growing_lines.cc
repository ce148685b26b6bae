#include "liveness/growing_lines.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "liveness/growth.h"
#include "liveness/rise.h"
#include "model/number_text.h"
#include "model/recording.h"

namespace vramfit::liveness {

using model::GrowingLine;
using model::Growth;

namespace {

constexpr std::size_t kMostLines = 12;

struct Generation {
  Bytes bytes;
  std::int64_t blocks = 0;
};

// What tells blocks that could be one thing's generations: their place, and when they end together.
struct Site {
  std::uint32_t line = 0, scope = 0;
  std::uint8_t stage = 0;
  std::size_t death = 0;  // step; ends.size() + 1: never
  auto operator<=>(const Site&) const = default;
};

using Sites = std::map<Site, std::map<std::size_t, Generation>>;

// Also collects, with `state`, what is a model's or an optimizer's own: of that only so much grows as is made again and
// again.
Sites collect(const CardHistory& history, const StepSeries& series, bool state = false) {
  Sites sites;
  const std::size_t never = series.ends.size() + 1;
  for (const Block& block : history.blocks) {
    if (block.process != series.process || block.born <= series.begin || !is_held(block, series)) continue;
    if (!state && is_meant_to_stay(block)) continue;
    const std::size_t birth = step_of(series.ends, block.born);
    if (birth >= series.ends.size()) continue;
    // A process that ends frees nothing: its blocks died with it.
    const std::size_t death = block.died == kNever || !block.freed ? never : step_of(series.ends, block.died);
    if (death <= birth) continue;
    Generation& generation = sites[{block.line, block.scope, block.stage, death}][birth];
    generation.bytes += block.size;
    ++generation.blocks;
  }
  return sites;
}

// The longest row of generations, each born one step after the one before it: [first, last].
std::pair<std::size_t, std::size_t> longest_row(const std::map<std::size_t, Generation>& generations) {
  std::pair<std::size_t, std::size_t> best{1, 0}, row{1, 0};
  for (const auto& [birth, generation] : generations) {
    row = row.second + 1 == birth && row.first <= row.second ? std::pair(row.first, birth) : std::pair(birth, birth);
    if (best.first > best.second || row.second - row.first > best.second - best.first) best = row;
  }
  return best;
}

// Whether the generation before a row died by itself although it too had outlived a step: the end of a window that
// slides is a row as well.
bool slides(const Sites& sites, const Site& site, std::size_t first) {
  if (first == 0) return false;
  Site from = site;
  from.death = 0;
  for (auto at = sites.lower_bound(from); at != sites.end(); ++at) {
    const auto& [other, generations] = *at;
    if (other.line != site.line || other.scope != site.scope || other.stage != site.stage) break;
    if (other.death == site.death || !generations.contains(first - 1) || other.death < first + 1) continue;
    if (generations.size() < kFewestGenerations) return true;
  }
  return false;
}

GrowingLine describe(const Site& site, const std::map<std::size_t, Generation>& generations,
                     std::pair<std::size_t, std::size_t> row, const model::Recording& recording) {
  GrowingLine line;
  line.line = recording.text(site.line);
  line.scope = recording.text(site.scope);
  line.stage = model::stage_name(site.stage);
  std::int64_t blocks = 0;
  for (auto at = generations.lower_bound(row.first); at != generations.end() && at->first <= row.second; ++at) {
    line.live += at->second.bytes;
    blocks += at->second.blocks;
  }
  const auto length = static_cast<std::int64_t>(row.second - row.first + 1);
  line.per_step = Bytes(line.live.count() / length);
  line.blocks_per_step = (blocks + length - 1) / length;
  return line;
}

// Sites of one line that differ only in scope or stage are told apart; those that differ in death are one growth.
void add_line(std::vector<GrowingLine>& lines, GrowingLine line) {
  for (GrowingLine& known : lines) {
    if (known.line != line.line || known.scope != line.scope || known.stage != line.stage) continue;
    if (line.live > known.live) known = std::move(line);
    return;
  }
  lines.push_back(std::move(line));
}

}  // namespace

void find_lines_of_generations(const CardHistory& history, const StepSeries& series, const model::Recording& recording,
                               Growth& growth) {
  const Sites sites = collect(history, series);
  for (const auto& [site, generations] : sites) {
    const auto row = longest_row(generations);
    if (row.first > row.second || row.second - row.first + 1 < kFewestGenerations) continue;
    if (slides(sites, site, row.first)) continue;
    growth.steps = std::max(growth.steps, static_cast<std::int64_t>(row.second - row.first + 1));
    add_line(growth.lines, describe(site, generations, row, recording));
  }
  for (const GrowingLine& line : growth.lines) growth.per_step += line.per_step;
  std::stable_sort(growth.lines.begin(), growth.lines.end(),
                   [](const GrowingLine& a, const GrowingLine& b) { return a.per_step > b.per_step; });
  if (growth.lines.size() > kMostLines) growth.lines.resize(kMostLines);
}

void find_lines_that_stay(const CardHistory& history, const StepSeries& series, const model::Recording& recording,
                          Growth& growth) {
  const std::size_t never = series.ends.size() + 1;
  for (const auto& [site, generations] : collect(history, series, true)) {
    if (site.death != never || generations.size() < kFewestGenerations) continue;
    GrowingLine line =
        describe(site, generations, {generations.begin()->first, generations.rbegin()->first}, recording);
    add_line(growth.lines, std::move(line));
  }
  std::ranges::stable_sort(growth.lines, std::greater{}, &GrowingLine::per_step);
  if (growth.lines.size() > kMostLines) growth.lines.resize(kMostLines);
}

void find_lines_that_get_longer(const CardHistory& history, const StepSeries& series, const model::Recording& recording,
                                Growth& growth) {
  const std::size_t count = series.ends.size();
  std::map<std::uint32_t, std::vector<Bytes>> changes;  // by line: of its bytes, from one end to the next
  for (const Block& block : history.blocks) {
    if (block.process != series.process || block.born <= series.begin || block.line == 0 || !is_held(block, series))
      continue;
    const std::size_t birth = step_of(series.ends, block.born);
    const std::size_t death = block.died == kNever ? count : step_of(series.ends, block.died);
    if (birth >= count || death <= birth) continue;
    std::vector<Bytes>& line = changes[block.line];
    line.resize(count + 1);
    line[birth] += block.size;
    line[std::min(death, count)] -= block.size;
  }
  for (auto& [place, levels] : changes) {
    levels.pop_back();
    for (std::size_t i = 1; i < levels.size(); ++i) levels[i] += levels[i - 1];
    const auto rise = find_rise(levels);
    if (!rise || rise->per_step.count() <= 0) continue;
    GrowingLine line;
    line.line = recording.text(place);
    line.per_step = rise->per_step;
    line.live = levels.back();
    growth.lines.push_back(std::move(line));
  }
  std::ranges::stable_sort(growth.lines, std::greater{}, &GrowingLine::per_step);
  if (growth.lines.size() > kMostLines) growth.lines.resize(kMostLines);
}

}  // namespace vramfit::liveness
