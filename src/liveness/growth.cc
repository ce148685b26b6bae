#include "liveness/growth.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "liveness/owners.h"
#include "liveness/rise.h"
#include "liveness/step_memory.h"
#include "model/number_text.h"
#include "model/recording.h"

namespace vramfit::liveness {

using model::GrowingLine;
using model::Growth;

namespace {

constexpr std::size_t kMostLines = 12;
constexpr std::size_t kMostLevels = 64;

// Steps of one process and phase in a row: training as a whole, or one evaluation.
struct StepSeries {
  int process = 0;
  std::uint8_t phase = 0;
  EventIndex begin = 0;  // where its first step began
  std::vector<StepEnd> ends;
  bool of_calls = false;  // of a model, by a process that never trains
};

bool is_evaluation(std::uint8_t phase) { return phase == VF_PHASE_VALIDATE || phase == VF_PHASE_TEST; }

std::vector<StepSeries> find_stretches(const CardHistory& history) {
  std::vector<StepSeries> stretches;
  std::map<int, std::size_t> training;    // by process
  std::map<int, StepEnd> last;            // by process
  std::map<int, std::size_t> evaluating;  // by process: the stretch its last step was in
  for (const StepEnd& end : history.step_ends) {
    const auto before = last.find(end.process);
    const EventIndex begin = before == last.end() ? 0 : before->second.at;
    if (end.phase == VF_PHASE_TRAIN) {
      const auto [known, fresh] = training.emplace(end.process, stretches.size());
      if (fresh) stretches.push_back({end.process, end.phase, begin, {}, false});
      stretches[known->second].ends.push_back(end);
    } else if (is_evaluation(end.phase)) {
      const bool goes_on = before != last.end() && before->second.phase == end.phase;
      if (!goes_on) {
        evaluating[end.process] = stretches.size();
        stretches.push_back({end.process, end.phase, begin, {}, false});
      }
      stretches[evaluating[end.process]].ends.push_back(end);
    }
    last[end.process] = end;
  }
  return stretches;
}

bool is_meant_to_stay(const Block& block) { return is_model_state(block) || block.owner == VF_OWNER_WORKSPACE; }

// What the collector freed when it was asked, nothing held: it is no growth, however many steps it waited. Nor are keys
// and values that calls of a model hand on: they end with the text.
bool is_held(const Block& block, const StepSeries& stretch) {
  const bool is_handed_on = stretch.of_calls && block.owner == VF_OWNER_CACHE;
  return !block.collected && !is_handed_on;
}

// The step in which an event lies, from 0; `ends.size()`: after the last.
std::size_t step_of(const std::vector<StepEnd>& ends, EventIndex at) {
  const auto found = std::lower_bound(ends.begin(), ends.end(), at,
                                      [](const StepEnd& end, EventIndex event) { return end.at < event; });
  return static_cast<std::size_t>(found - ends.begin());
}

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

// With `state`, what is a model's or an optimizer's own too: of that only so much grows as is made again and again.
Sites collect(const CardHistory& history, const StepSeries& stretch, bool state = false) {
  Sites sites;
  const std::size_t never = stretch.ends.size() + 1;
  for (const Block& block : history.blocks) {
    if (block.process != stretch.process || block.born <= stretch.begin || !is_held(block, stretch)) continue;
    if (!state && is_meant_to_stay(block)) continue;
    const std::size_t birth = step_of(stretch.ends, block.born);
    if (birth >= stretch.ends.size()) continue;
    // A process that ends frees nothing: its blocks died with it.
    const std::size_t death = block.died == kNever || !block.freed ? never : step_of(stretch.ends, block.died);
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

Growth measure(const CardHistory& history, const StepSeries& stretch, const model::Recording& recording) {
  Growth growth;
  growth.device = history.device;
  growth.phase = model::phase_name(stretch.phase);
  const Sites sites = collect(history, stretch);
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
  const std::size_t first = stretch.ends.size() - std::min(stretch.ends.size(), kMostLevels);
  growth.first_step = stretch.ends[first].number;
  for (std::size_t i = first; i < stretch.ends.size(); ++i) {
    growth.levels.push_back(history.levels[stretch.ends[i].at].allocated);
  }
  return growth;
}

// Blocks of training steps that are never freed, by the line that makes some of them again and again.
void find_lines_that_stay(const CardHistory& history, const StepSeries& stretch, const model::Recording& recording,
                          Growth& growth) {
  const std::size_t never = stretch.ends.size() + 1;
  for (const auto& [site, generations] : collect(history, stretch, true)) {
    if (site.death != never || generations.size() < kFewestGenerations) continue;
    GrowingLine line =
        describe(site, generations, {generations.begin()->first, generations.rbegin()->first}, recording);
    add_line(growth.lines, std::move(line));
  }
  std::ranges::stable_sort(growth.lines, std::greater{}, &GrowingLine::per_step);
  if (growth.lines.size() > kMostLines) growth.lines.resize(kMostLines);
}

// Lines whose blocks that are left at the ends of steps are more bytes again and again, though each goes when the next
// one comes: `queue = torch.cat([queue, new])`.
void find_lines_that_get_longer(const CardHistory& history, const StepSeries& stretch,
                                const model::Recording& recording, Growth& growth) {
  const std::size_t count = stretch.ends.size();
  std::map<std::uint32_t, std::vector<Bytes>> changes;  // by line: of its bytes, from one end to the next
  for (const Block& block : history.blocks) {
    if (block.process != stretch.process || block.born <= stretch.begin || block.line == 0 || !is_held(block, stretch))
      continue;
    const std::size_t birth = step_of(stretch.ends, block.born);
    const std::size_t death = block.died == kNever ? count : step_of(stretch.ends, block.died);
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

std::optional<Rise> rise_of_peaks(const CardHistory& history, const StepSeries& stretch) {
  std::vector<Bytes> peaks;
  for (const StepPeak& peak : find_step_peaks(history)) {
    const bool ended = peak.number <= stretch.ends.back().number;
    if (peak.process == stretch.process && peak.phase == stretch.phase && ended) peaks.push_back(peak.allocated);
  }
  return find_rise_of_peaks(peaks);
}

struct StateCount {
  std::int64_t weights = 0, gradients = 0, optimizer = 0;  // blocks
};

StateCount count_state(const CardHistory& history, int process, EventIndex at) {
  StateCount count;
  for (const Block& block : history.blocks) {
    if (block.process != process || !block.lives_at(at)) continue;
    count.weights += block.owner == VF_OWNER_WEIGHT;
    count.gradients += block.owner == VF_OWNER_GRADIENT;
    count.optimizer += block.owner == VF_OWNER_OPTIMIZER;
  }
  return count;
}

bool is_of_training(const Block& block) {
  return block.owner == VF_OWNER_GRADIENT || block.owner == VF_OWNER_OPTIMIZER;
}

// Weights that are trained only from some step on get their gradients and their optimizer's state then: it ends when
// all have them. A gradient each, and of no optimizer more than three states; old optimizers that are kept have more.
bool comes_with_more_trained(const CardHistory& history, const StepSeries& stretch) {
  constexpr std::int64_t kMostStates = 3;
  const std::size_t warm = std::min<std::size_t>(stretch.ends.size() - 1, 2);
  const StateCount before = count_state(history, stretch.process, stretch.ends[warm].at);
  const StateCount after = count_state(history, stretch.process, stretch.ends.back().at);
  return after.weights == before.weights && after.gradients <= after.weights &&
         after.optimizer <= kMostStates * after.weights &&
         (after.gradients > before.gradients || after.optimizer > before.optimizer);
}

// What is held at the ends of steps.
std::vector<Bytes> levels_at_ends(const CardHistory& history, const StepSeries& stretch, bool more_trained) {
  std::vector<Bytes> levels;
  for (const StepEnd& end : stretch.ends) levels.push_back(history.levels[end.at].allocated);
  for (const Block& block : history.blocks) {
    const bool is_bounded = more_trained && block.process == stretch.process && is_of_training(block);
    if (is_held(block, stretch) && !is_bounded) continue;
    for (std::size_t i = 0; i < levels.size(); ++i) {
      if (block.lives_at(stretch.ends[i].at)) levels[i] -= block.size;
    }
  }
  return levels;
}

bool has_cycles(const CardHistory& history, const StepSeries& stretch) {
  return std::ranges::any_of(history.blocks,
                             [&](const Block& block) { return block.collected && block.process == stretch.process; });
}

// Steps whose levels hold no cycle that only waits: since the collector was asked last they may have piled up again.
std::size_t count_free_of_cycles(const CardHistory& history, const StepSeries& stretch,
                                 const model::Recording& recording) {
  if (!has_cycles(history, stretch)) return stretch.ends.size();
  std::int64_t asked_ns = 0;
  for (const auto& collected : recording.notes.collected) {
    if (collected.is_on) asked_ns = std::max(asked_ns, collected.ended_ns - history.started_at_ns);
  }
  const auto is_before = [&](const StepEnd& end) { return history.levels[end.at].at_ns <= asked_ns; };
  return static_cast<std::size_t>(std::ranges::partition_point(stretch.ends, is_before) - stretch.ends.begin());
}

// What a few steps in a row seem to show gives way to what the whole of a training does.
void judge_whole(const CardHistory& history, const StepSeries& stretch, const model::Recording& recording,
                 Growth& growth) {
  const bool more_trained = comes_with_more_trained(history, stretch);
  const std::vector<Bytes> levels = levels_at_ends(history, stretch, more_trained);
  auto rise = find_rise(levels);
  // Inputs that get longer leave their last one behind too, and what is joined on to itself is there twice while it is:
  // then what a step needs, which is what runs out, rises by far more than what stays.
  // Cycles wait longer and longer, as the collector is asked less and less often: with them the most that a step needs
  // tells nothing. Nor where backward goes through more and more layers.
  const auto need = has_cycles(history, stretch) || more_trained ? std::nullopt : rise_of_peaks(history, stretch);
  if (!rise && !stretch.of_calls) {
    const std::size_t sure = count_free_of_cycles(history, stretch, recording);
    if (const auto late = find_late_rise(std::span(levels).first(sure))) {
      rise = late->rise;
      growth.begins_at = stretch.ends[late->begins].number;
    }
  }
  growth.of_peak = need && (!rise || 2 * need->per_step.count() > 3 * rise->per_step.count());
  if (growth.of_peak) rise = need;
  if (growth.of_peak) growth.begins_at.reset();
  if (!rise || growth.of_peak) {
    growth.lines.clear();
    if (rise) find_lines_that_get_longer(history, stretch, recording, growth);
  } else if (growth.lines.empty()) {
    find_lines_that_stay(history, stretch, recording, growth);
    if (growth.lines.empty()) find_lines_that_get_longer(history, stretch, recording, growth);
  }
  growth.per_step = rise ? rise->per_step : Bytes(0);
  growth.every = rise ? rise->every : 1;
  growth.steps = rise ? rise->steps : 0;
  growth.faster = rise ? rise->faster : 0;
}

// The same of calls of a model, each of which is a pass. False: nothing is kept; longer texts need more, and end.
bool judge_calls(const CardHistory& history, const StepSeries& calls, const model::Recording& recording,
                 Growth& growth) {
  judge_whole(history, calls, recording, growth);
  growth.unit = "pass";
  return growth.steps > 0 && !growth.of_peak;
}

// Past a budget passes get one batch each: what happens once an epoch happens at every step there, and tells no rhythm.
void leave_out_cut_steps(const model::Recording& recording, StepSeries& stretch) {
  for (const auto& run_on : recording.notes.run_on) {
    const std::int64_t in_full = run_on.steps_in_full.value_or(-1);
    if (in_full < static_cast<std::int64_t>(kFewestLevels)) continue;
    std::erase_if(stretch.ends, [&](const StepEnd& end) { return end.number > in_full; });
  }
}

bool is_in_full(const model::Recording& recording, const StepEnd& end) {
  return std::ranges::all_of(recording.notes.run_on, [&](const auto& run_on) {
    return !run_on.steps_in_full || end.number <= *run_on.steps_in_full;
  });
}

// What rises only past the budget, in the rounds of a loop that was moved on:
// python/vramfit/steer/counting_on/rounds.py saw that it does, and here is which lines it comes of. Its steps are
// numbered as the script counts them.
std::vector<Growth> find_late(const CardHistory& history, const StepSeries& stretch,
                              const model::Recording& recording) {
  std::vector<Growth> found;
  for (const auto& told : recording.notes.late_growth) {
    const std::int64_t moved_at = told.steps, rounds = told.rounds;
    const auto is_later = [&](const StepEnd& end) { return end.number > moved_at; };
    const auto first = std::ranges::find_if(stretch.ends, is_later);
    if (first == stretch.ends.begin() || stretch.ends.end() - first < rounds || rounds <= 0) continue;
    StepSeries late{stretch.process, stretch.phase, std::prev(first)->at, {first, first + rounds}, false};
    Growth growth;
    growth.device = history.device;
    growth.phase = model::phase_name(stretch.phase);
    growth.begins_at = growth.first_step = told.value;
    growth.per_step = told.bytes_per_round;
    growth.steps = rounds;
    for (const StepEnd& end : late.ends) growth.levels.push_back(history.levels[end.at].allocated);
    find_lines_that_stay(history, late, recording, growth);
    if (!growth.lines.empty()) found.push_back(std::move(growth));  // else what a step leaves behind got larger
  }
  return found;
}

// A process that calls models and never trains: requests that a server answers, in whatever rhythm they leave
// something.
bool serves(const StepSeries& stretch, const std::vector<StepSeries>& stretches) {
  return is_evaluation(stretch.phase) && stretch.ends.size() >= kFewestLevels &&
         std::ranges::none_of(stretches, [&](const StepSeries& other) {
           return other.process == stretch.process && other.phase == VF_PHASE_TRAIN;
         });
}

std::int64_t total(const Growth& growth) { return growth.per_step.count() * growth.steps; }

}  // namespace

std::vector<Growth> find_growth(const CardHistory& history, std::span<const model::Recording> recordings) {
  std::map<std::pair<int, std::uint8_t>, Growth> most;
  std::vector<Growth> late;
  std::vector<StepSeries> stretches = find_stretches(history);
  for (StepSeries& stretch : stretches) {
    const model::Recording& recording = recordings[static_cast<std::size_t>(stretch.process)];
    if (stretch.phase == VF_PHASE_TRAIN) {
      std::ranges::move(find_late(history, stretch, recording), std::back_inserter(late));
      leave_out_cut_steps(recording, stretch);
    }
    if (stretch.ends.size() < kFewestGenerations) continue;
    Growth growth = measure(history, stretch, recording);
    if (stretch.phase == VF_PHASE_TRAIN && stretch.ends.size() >= kFewestLevels) {
      judge_whole(history, stretch, recording, growth);
    }
    if (growth.steps == 0 && serves(stretch, stretches)) {
      stretch.of_calls = true;
      if (!judge_calls(history, stretch, recording, growth)) continue;
    }
    if (growth.steps == 0) continue;
    Growth& known = most[{stretch.process, stretch.phase}];
    if (known.steps == 0 || total(growth) > total(known)) known = std::move(growth);
  }
  std::vector<Growth> found;
  for (auto& [key, growth] : most) found.push_back(std::move(growth));
  std::ranges::move(late, std::back_inserter(found));
  return found;
}

namespace {

// kNever: it takes none.
EventIndex find_first_step(const CardHistory& history, int process) {
  const auto first = std::ranges::find(history.step_ends, process, &StepEnd::process);
  return first == history.step_ends.end() ? kNever : first->at;
}

// Whether most of what lived when a step began its end is gone at the end of the next one: a step that adds up the
// losses of many calls, as truncated backpropagation through time does, needs that much, and keeps none of it.
bool is_given_back(const CardHistory& history, int process, EventIndex last_call) {
  std::vector<EventIndex> ends;
  for (const StepEnd& end : history.step_ends) {
    if (end.process == process && end.at > last_call) ends.push_back(end.at);
  }
  if (ends.size() < 2) return false;
  Bytes lived, stayed;
  for (const Block& block : history.blocks) {
    const bool is_judged = block.process == process && block.lives_at(last_call) && !is_meant_to_stay(block);
    if (!is_judged) continue;
    lived += block.size;
    if (block.lives_at(ends[1])) stayed += block.size;
  }
  return 2 * stayed.count() < lived.count();
}

// The moments between two calls of a model, as though they were ends of steps. Where steps come, what they leave is
// theirs to tell: the calls of training before the first are one step that adds up and up.
std::optional<StepSeries> series_of_calls(const CardHistory& history, int process, const model::Recording& recording) {
  if (recording.notes.model_calls.empty()) return std::nullopt;
  const EventIndex first_step = find_first_step(history, process);
  const auto& calls = recording.notes.model_calls.back();
  StepSeries series{process, VF_PHASE_LOAD, 0, {}, true};
  for (const std::int64_t begun_ns : calls.begun_ns) {
    const EventIndex at = event_at(history, begun_ns);
    if (at == kNever || (!series.ends.empty() && series.ends.back().at >= at)) continue;
    if (first_step != kNever && (at >= first_step || history.levels[at].phase != VF_PHASE_TRAIN)) continue;
    const auto number = static_cast<std::int64_t>(series.ends.size()) * calls.stride;
    series.ends.push_back({at, series.phase, process, number});
  }
  if (series.ends.size() <= kFewestLevels) return std::nullopt;
  if (first_step != kNever && is_given_back(history, process, series.ends.back().at)) return std::nullopt;
  series.begin = series.ends.front().at;
  series.phase = history.levels[series.ends.back().at].phase;
  series.ends.erase(series.ends.begin());
  return series;
}

}  // namespace

std::vector<Growth> find_growth_of_calls(const CardHistory& history, std::span<const model::Recording> recordings) {
  std::vector<Growth> growths;
  for (std::size_t process = 0; process < recordings.size(); ++process) {
    const auto series = series_of_calls(history, static_cast<int>(process), recordings[process]);
    if (!series) continue;
    Growth growth = measure(history, *series, recordings[process]);
    if (judge_calls(history, *series, recordings[process], growth)) growths.push_back(std::move(growth));
  }
  return growths;
}

std::int64_t count_judged_calls(const CardHistory& history, std::span<const model::Recording> recordings) {
  std::int64_t most = 0;
  for (std::size_t process = 0; process < recordings.size(); ++process) {
    const auto series = series_of_calls(history, static_cast<int>(process), recordings[process]);
    if (series) most = std::max(most, static_cast<std::int64_t>(series->ends.size()));
  }
  return most;
}

std::int64_t count_judged_steps(const CardHistory& history, std::span<const model::Recording> recordings) {
  std::int64_t most = 0;
  for (const StepSeries& stretch : find_stretches(history)) {
    if (stretch.phase != VF_PHASE_TRAIN) continue;
    const model::Recording& recording = recordings[static_cast<std::size_t>(stretch.process)];
    const auto in_full =
        std::ranges::count_if(stretch.ends, [&](const StepEnd& end) { return is_in_full(recording, end); });
    most = std::max(most, static_cast<std::int64_t>(in_full));
  }
  return most;
}

std::optional<std::int64_t> find_end(const Growth& growth, Bytes room) {
  if (growth.per_step.count() <= 0 || room.count() < 0) return std::nullopt;
  const auto last = growth.first_step + static_cast<std::int64_t>(growth.levels.size()) - 1;
  if (growth.faster <= 0) return last + room.count() / growth.per_step.count() + 1;
  // What the last steps add, which is more than the average; the last eighth or so was not judged (rise.cc).
  const double now =
      static_cast<double>(growth.per_step.count()) + growth.faster * static_cast<double>(growth.steps) * 5 / 8;
  const double left =
      (std::sqrt(now * now + 2 * growth.faster * static_cast<double>(room.count())) - now) / growth.faster;
  return last + static_cast<std::int64_t>(left) + 1;
}

namespace {

// 2910057 -> "2,910,057"
std::string grouped(std::int64_t number) {
  std::string digits = fmt::format("{}", number);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

}  // namespace

std::string describe_growth(const Growth& growth) {
  if (growth.per_step.count() <= 0) return "memory was still growing when the run was ended: perhaps a leak";
  const bool of_passes = growth.unit == "pass";
  const std::string rhythm = growth.every > 1 ? fmt::format("every {} {}", growth.every, of_passes ? "passes" : "steps")
                                              : "every " + growth.unit;
  const Bytes each(growth.per_step.count() * growth.every);
  const std::string since = growth.begins_at ? fmt::format("from about {} on, ", grouped(*growth.begins_at)) : "";
  std::string text = since + fmt::format("{} rises by {} {} of {}", growth.of_peak ? "what a step needs" : "memory",
                                         to_string(each), rhythm, of_passes ? "a loop" : growth.phase);
  if (!growth.lines.empty()) text += fmt::format(" ({})", growth.lines.front().line);
  if (growth.runs_out_at)
    text += fmt::format(": the card is full at about {} ", growth.unit) + grouped(*growth.runs_out_at) +
            (growth.faster > 0 ? " or sooner, as each adds more" : "");
  return text;
}

}  // namespace vramfit::liveness
