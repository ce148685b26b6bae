#include "liveness/passes.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "liveness/owners.h"
#include "liveness/rise.h"
#include "model/number_text.h"
#include "model/recording.h"

namespace vramfit::liveness {

using model::GrowingLine;
using model::Growth;

namespace {

constexpr std::size_t kMostLinesOfPasses = 12;
constexpr std::size_t kMostLevelsOfPasses = 64;
constexpr std::size_t kLongestPeriod = 8;  // blocks of one line in one pass, where no other line allocates

// A block of a line, by the number of births before it.
struct Birth {
  const Block* block = nullptr;
  std::size_t number = 0;
};

struct LineOfScript {
  std::vector<Birth> births;
  std::vector<std::size_t> visits;  // where in `births` a row without births of other lines begins
};

// What one process made, by line.
struct LinesOfProcess {
  std::map<std::uint32_t, LineOfScript> lines;
  std::size_t births = 0;
};

LinesOfProcess collect_lines(const CardHistory& history, int process) {
  LinesOfProcess made;
  std::map<std::uint32_t, std::uint32_t> last;  // by thread: the line of its last birth
  for (const Block& block : history.blocks) {
    if (block.process != process || block.line == 0 || is_model_state(block) || block.owner == VF_OWNER_WORKSPACE)
      continue;
    if (block.scope != 0) continue;  // the layers of one forward pass come round too, and keep what backward needs
    LineOfScript& line = made.lines[block.line];
    const auto [before, is_first] = last.try_emplace(block.thread, block.line);
    if (is_first || before->second != block.line || line.births.empty()) line.visits.push_back(line.births.size());
    before->second = block.line;
    line.births.push_back({&block, made.births++});
  }
  return made;
}

// The least number of births after which their sizes come again, as those of one pass do. A first pass may make ready
// what the others use.
std::size_t period_of(std::span<const Birth> row) {
  row = row.subspan(row.size() / 2);
  for (std::size_t period = 1; period <= kLongestPeriod && period < row.size(); ++period) {
    const auto comes_again = [&](std::size_t at) { return row[at].block->size == row[at - period].block->size; };
    std::size_t at = period;
    while (at < row.size() && comes_again(at)) ++at;
    if (at == row.size()) return period;
  }
  return 0;
}

// The place in its births where each pass of the loop around a line begins. A loop in which no other line allocates is
// one row.
std::vector<std::size_t> passes_of(const LineOfScript& line) {
  if (line.visits.size() >= kFewestLevels) return line.visits;
  std::vector<std::size_t> passes;
  for (std::size_t i = 0; i < line.visits.size(); ++i) {
    const std::size_t first = line.visits[i];
    const std::size_t end = i + 1 < line.visits.size() ? line.visits[i + 1] : line.births.size();
    const std::size_t period = period_of(std::span(line.births).subspan(first, end - first));
    passes.push_back(first);
    if (period == 0) continue;
    const std::size_t odd = (end - first) % period;
    for (std::size_t at = first + odd + (odd == 0 ? period : 0); at < end; at += period) passes.push_back(at);
  }
  return passes;
}

// The bytes of a line that live when each of its passes begins.
std::vector<Bytes> levels_at_passes(const LineOfScript& line, const std::vector<std::size_t>& passes) {
  std::vector<Bytes> levels(passes.size());
  const auto pass_after = [&](EventIndex at) {
    const auto has_begun = [&](std::size_t pass) { return line.births[pass].block->born <= at; };
    return static_cast<std::size_t>(std::ranges::partition_point(passes, has_begun) - passes.begin());
  };
  for (const Birth& birth : line.births) {
    if (birth.block->collected) continue;  // nothing held it
    const std::size_t from = pass_after(birth.block->born);
    const std::size_t end =
        birth.block->died == kNever || !birth.block->freed ? passes.size() : pass_after(birth.block->died);
    if (from >= end) continue;
    levels[from] += birth.block->size;
    if (end < passes.size()) levels[end] -= birth.block->size;
  }
  for (std::size_t i = 1; i < levels.size(); ++i) levels[i] += levels[i - 1];
  return levels;
}

// Whether the process went on without the line for more than a quarter of what was made while it came round.
bool was_over_long_before_the_end(const LineOfScript& line, std::size_t births) {
  const std::size_t last = line.births.back().number;
  return (births - 1 - last) * 4 > last - line.births.front().number + 1;
}

struct LoopLine {
  GrowingLine line;
  Rise rise;
  std::vector<EventIndex> passes;  // when they begin
  std::uint8_t phase = 0;
};

std::optional<LoopLine> judge_line(const LineOfScript& line, std::size_t births, const model::Recording& recording) {
  if (line.births.size() < kFewestLevels || was_over_long_before_the_end(line, births)) return std::nullopt;
  const std::vector<std::size_t> passes = passes_of(line);
  const std::vector<Bytes> levels = levels_at_passes(line, passes);
  const auto rise = find_rise(levels);
  if (!rise || rise->per_step.count() <= 0) return std::nullopt;
  const Block& last = *line.births.back().block;
  LoopLine found{{}, *rise, {}, last.phase};
  found.line.line = recording.text(last.line);
  found.line.scope = recording.text(last.scope);
  found.line.stage = model::stage_name(last.stage);
  found.line.per_step = rise->per_step;
  found.line.live = levels.back();
  found.line.blocks_per_step = static_cast<std::int64_t>((line.births.size() + passes.size() - 1) / passes.size());
  for (const std::size_t pass : passes) found.passes.push_back(line.births[pass].block->born);
  return found;
}

// Lines of the same loop, by how often they come round.
bool are_of_one_loop(const LoopLine& one, const LoopLine& other) {
  const auto [fewer, more] = std::minmax({one.passes.size(), other.passes.size()});  // of a list: not references
  return (more - fewer) * 10 <= more;
}

Growth put_together(const CardHistory& history, std::vector<LoopLine> found) {
  std::ranges::stable_sort(found, std::greater{}, [](const LoopLine& one) { return one.line.live; });
  const LoopLine& first = found.front();
  Growth growth;
  growth.device = history.device;
  growth.phase = model::phase_name(first.phase);
  growth.unit = "pass";
  growth.steps = first.rise.steps;
  growth.every = first.rise.every;
  for (const LoopLine& one : found) {
    if (!are_of_one_loop(first, one)) continue;
    growth.per_step += one.line.per_step;
    if (growth.lines.size() < kMostLinesOfPasses) growth.lines.push_back(one.line);
  }
  const std::size_t left_out = first.passes.size() - std::min(first.passes.size(), kMostLevelsOfPasses);
  growth.first_step = static_cast<std::int64_t>(left_out) + 1;
  for (std::size_t i = left_out; i < first.passes.size(); ++i) {
    growth.levels.push_back(history.levels[first.passes[i]].allocated);
  }
  return growth;
}

bool takes_steps(const CardHistory& history, int process) {
  return std::ranges::any_of(history.step_ends, [&](const StepEnd& end) { return end.process == process; });
}

}  // namespace

std::int64_t count_judged_passes(const CardHistory& history, std::span<const model::Recording> recordings) {
  std::size_t most = 0;
  for (std::size_t process = 0; process < recordings.size(); ++process) {
    if (takes_steps(history, static_cast<int>(process))) continue;
    const LinesOfProcess made = collect_lines(history, static_cast<int>(process));
    for (const auto& [place, line] : made.lines) {
      if (!was_over_long_before_the_end(line, made.births)) most = std::max(most, passes_of(line).size());
    }
  }
  return static_cast<std::int64_t>(most);
}

std::vector<Growth> find_growth_of_passes(const CardHistory& history, std::span<const model::Recording> recordings) {
  std::vector<Growth> growths;
  for (std::size_t process = 0; process < recordings.size(); ++process) {
    if (takes_steps(history, static_cast<int>(process))) continue;
    const LinesOfProcess made = collect_lines(history, static_cast<int>(process));
    std::vector<LoopLine> found;
    for (const auto& [place, line] : made.lines) {
      if (auto growing = judge_line(line, made.births, recordings[process])) found.push_back(std::move(*growing));
    }
    if (!found.empty()) growths.push_back(put_together(history, std::move(found)));
  }
  return growths;
}

}  // namespace vramfit::liveness
