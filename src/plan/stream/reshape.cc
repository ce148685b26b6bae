#include "plan/stream/reshape.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "model/allocator_sizes.h"
#include "model/number_names.h"
#include "plan/stream/accumulation.h"
#include "plan/stream/asked.h"
#include "plan/stream/offloads.h"
#include "plan/stream/repeats.h"
#include "plan/stream/weight_copies.h"
#include "plan/stream/without_graph.h"

namespace vramfit::plan {
namespace {

using model::BlockOwner;
using model::StreamBlock;

std::size_t index_of_stage(std::string_view name) {
  return static_cast<std::size_t>(std::ranges::find(model::kStageNames, name) - model::kStageNames.begin());
}

base::Bytes bytes_of_owner(const model::Holdings& holdings, std::size_t owner) {
  // What an evaluation gathers was told apart from activations and temporaries.
  const bool may_be_gathered = owner == static_cast<std::size_t>(BlockOwner::kActivations);
  return holdings.*model::kHoldingOfOwner[owner] + (may_be_gathered ? holdings.gathered : base::Bytes());
}

void find_shares(const std::vector<model::StagePeak>& before, const std::vector<model::StagePeak>& after,
                 Shares& shares) {
  for (auto& phase : shares) {
    for (auto& stage : phase) stage.fill(1);
  }
  for (std::size_t phase = 0; phase < model::kPhaseNames.size(); ++phase) {
    for (std::size_t owner = 0; owner < model::kBlockOwnerCount; ++owner) {
      base::Bytes most;  // where most of it is there, its share is known best
      std::optional<double> of_phase;
      for (int round = 0; round < 2; ++round) {
        for (std::size_t i = 0; i < before.size() && i < after.size(); ++i) {
          if (before[i].phase != model::kPhaseNames[phase]) continue;
          const std::size_t stage = index_of_stage(before[i].stage);
          const base::Bytes was = bytes_of_owner(before[i].holdings, owner),
                            is = bytes_of_owner(after[i].holdings, owner);
          if (was <= base::Bytes()) continue;
          const double share = static_cast<double>(is.count()) / static_cast<double>(was.count());
          if (round == 0 && was > most) {
            most = was;
            of_phase = share;
          }
          if (round == 1) shares[phase][stage][owner] = share;
        }
        if (round == 0 && of_phase) {
          for (auto& stage : shares[phase]) stage[owner] = *of_phase;
        }
      }
    }
  }
}

// A batch goes to the card before anybody can tell whether it is trained on: that is told by the forward after it.
std::vector<std::uint8_t> find_phases_of_use(const model::AllocationStream& stream) {
  std::vector<std::uint8_t> phases(stream.blocks.size());
  std::optional<std::uint8_t> of_next;
  for (std::size_t i = stream.blocks.size(); i-- > 0;) {
    const StreamBlock& block = stream.blocks[i];
    if (block.stage == VF_STAGE_FORWARD) of_next = block.phase;
    const bool is_waiting = block.owner == BlockOwner::kInputs && block.stage != VF_STAGE_FORWARD;
    phases[i] = is_waiting && of_next ? *of_next : block.phase;
  }
  return phases;
}

// A block and another of as many numbers: each may have been given what was not worth splitting off.
bool is_as_large(const StreamBlock& one, const StreamBlock& other) {
  const std::int64_t most = std::max(one.bytes, other.bytes);
  return most - std::min(one.bytes, other.bytes) <=
         (most > model::kLeastSplit ? model::kLeastSplit : model::kBlockUnit);
}

// Each weight is updated as soon as its gradient is there, and its state is made then: among the holes of the backward
// pass, not behind it. Weights come in their order, gradients the other way round.
void make_state_in_backward(const model::AllocationStream& stream, std::vector<Life>& lives) {
  if (stream.passes.empty()) return;
  const model::StreamPass& first = stream.passes.front();
  const model::StreamTime next = stream.passes.size() > 1 ? stream.passes[1].begin : model::kStreamEnd;
  std::vector<std::size_t> gradients, states;
  for (std::size_t i = 0; i < stream.blocks.size(); ++i) {
    const StreamBlock& block = stream.blocks[i];
    if (block.born < first.begin || block.born >= next) continue;
    if (block.owner == BlockOwner::kGradients && block.born < first.end) gradients.push_back(i);
    if (block.owner == BlockOwner::kOptimizer && block.stage == VF_STAGE_OPTIMIZER) states.push_back(i);
  }
  if (gradients.empty()) return;
  const std::size_t of_each = states.size() / gradients.size();
  for (const std::size_t gradient : gradients) {
    for (std::size_t taken = 0; taken < of_each; ++taken) {
      const auto state = std::find_if(states.rbegin(), states.rend(), [&](std::size_t one) {
        return is_as_large(stream.blocks[one], stream.blocks[gradient]);
      });
      if (state == states.rend()) break;
      lives[*state].born = lives[gradient].died++;
      states.erase(std::next(state).base());
    }
  }
}

void release_gradients_at_once(const model::AllocationStream& stream, std::vector<Life>& lives) {
  for (std::size_t i = 0; i < stream.blocks.size(); ++i) {
    const StreamBlock& block = stream.blocks[i];
    if (block.owner != BlockOwner::kGradients || block.phase != VF_PHASE_TRAIN) continue;
    lives[i].died = at_event(block.born) + 1;
  }
  make_state_in_backward(stream, lives);
}

// The most that updates work in beside the state and gradients, in any step.
std::int64_t most_of_updates(const model::AllocationStream& stream, const std::vector<Life>& lives) {
  std::int64_t most = 0;
  std::vector<std::pair<PlayTime, std::int64_t>> changes;  // of what is there
  for (std::size_t i = 0; i < stream.blocks.size(); ++i) {
    const StreamBlock& block = stream.blocks[i];
    const bool is_work = block.owner == BlockOwner::kTemporaries && lives[i].died != kNeverFreed;
    if (block.phase != VF_PHASE_TRAIN || block.stage != VF_STAGE_OPTIMIZER || !is_work) continue;
    changes.emplace_back(lives[i].born, lives[i].bytes);
    changes.emplace_back(lives[i].died, -lives[i].bytes);
  }
  std::ranges::sort(changes);
  std::int64_t now = 0;
  for (const auto& [at, bytes] : changes) most = std::max(most, now += bytes);
  return most;
}

// What one parameter has of the optimizer's state, made one after the other.
struct StateOfParameter {
  std::vector<std::size_t> blocks;
  std::int64_t parameter = 0, state = 0;  // bytes
};

std::vector<StateOfParameter> find_states(const model::AllocationStream& stream, const std::vector<Life>& lives) {
  std::vector<std::size_t> states;  // all of the first step
  model::StreamTime end = model::kStreamEnd;
  for (std::size_t i = 0; i < stream.blocks.size() && stream.blocks[i].born < end; ++i) {
    const StreamBlock& block = stream.blocks[i];
    if (block.stage != VF_STAGE_OPTIMIZER || block.owner != BlockOwner::kOptimizer) continue;
    if (states.empty()) {
      const auto next = std::ranges::find_if(stream.passes, [&](const auto& pass) { return pass.begin > block.born; });
      if (next != stream.passes.end()) end = next->begin;
    }
    states.push_back(i);
  }
  if (states.empty()) return {};
  const model::StreamTime begin = stream.blocks[states.front()].born;
  const auto trained = static_cast<std::size_t>(std::ranges::count_if(stream.blocks, [&](const StreamBlock& block) {
    return block.owner == BlockOwner::kGradients && block.born < begin && block.died > begin;
  }));
  const std::size_t of_each = trained > 0 && states.size() % trained == 0 ? states.size() / trained : 1;
  std::vector<StateOfParameter> found;
  for (std::size_t k = 0; k < states.size(); ++k) {
    if (k % of_each == 0) found.emplace_back();
    StateOfParameter& one = found.back();
    const std::int64_t bytes = lives[states[k]].bytes;
    one.blocks.push_back(states[k]);
    one.parameter = std::max(one.parameter, bytes);  // besides moments as large as it there are counts of steps
    one.state += bytes;
  }
  return found;
}

struct Turn {
  std::vector<std::size_t> blocks;
  std::int64_t state = 0;
};

// They are of whole parameters, whose bytes are counted, as python/vramfit/apply/offload_optimizer.py does.
std::vector<Turn> find_turns(const model::AllocationStream& stream, const std::vector<Life>& lives,
                             std::int64_t at_once) {
  std::vector<Turn> turns;
  std::int64_t taken = 0;
  for (const StateOfParameter& one : find_states(stream, lives)) {
    if (turns.empty() || taken + one.parameter > at_once) {
      turns.emplace_back();
      taken = 0;
    }
    taken += one.parameter;
    turns.back().state += one.state;
    turns.back().blocks.insert(turns.back().blocks.end(), one.blocks.begin(), one.blocks.end());
  }
  return turns;
}

// What updates work in follows the parameters of one turn.
void shrink_work(const model::AllocationStream& stream, double share, std::vector<Life>& lives) {
  for (std::size_t i = 0; i < stream.blocks.size(); ++i) {
    const StreamBlock& block = stream.blocks[i];
    const bool is_work = block.owner == BlockOwner::kTemporaries && block.stage == VF_STAGE_OPTIMIZER;
    if (!is_work || block.phase != VF_PHASE_TRAIN || lives[i].died == kNeverFreed) continue;
    const auto bytes = std::llround(static_cast<double>(lives[i].bytes) * share);
    lives[i].bytes = std::max<std::int64_t>(bytes, model::kBlockUnit);
  }
}

// Parameters take turns, whose state is brought over, updated and taken back: at first where it is made, and in the
// steps after it once backward is through. What an update works in is there with the state of its turn.
void take_turns(const model::AllocationStream& stream, const Reshaping& reshaping, std::vector<Life>& lives) {
  const std::vector<Turn> turns = find_turns(stream, lives, reshaping.parameters_at_once);
  if (turns.empty()) return;
  for (std::size_t k = 0; k + 1 < turns.size(); ++k) {
    const PlayTime next = at_event(stream.blocks[turns[k + 1].blocks.front()].born);
    for (const std::size_t i : turns[k].blocks) lives[i].died = std::min(lives[i].died, next - 1);
  }
  const StreamBlock& last = stream.blocks[turns.back().blocks.back()];
  const auto after = std::ranges::find_if(stream.blocks, [&](const StreamBlock& block) {
    return block.born > last.born && block.stage != VF_STAGE_OPTIMIZER;
  });
  const PlayTime step_end = after != stream.blocks.end() ? at_event(after->born) - 1 : kNeverFreed;
  for (const std::size_t i : turns.back().blocks) lives[i].died = std::min(lives[i].died, step_end);
  const std::int64_t most = std::ranges::max_element(turns, {}, &Turn::state)->state;
  shrink_work(stream, static_cast<double>(most) / static_cast<double>(reshaping.state_at_once), lives);
  const std::int64_t work = most_of_updates(stream, lives);
  for (const model::StreamPass& pass : stream.passes) {
    if (pass.begin < last.born || pass.end == 0) continue;
    PlayTime moment = at_event(pass.end - 1) + kAfterMicroBatches;
    for (const Turn& turn : turns) {
      const std::uint8_t phase = lives[turn.blocks.front()].phase;
      for (const std::size_t i : turn.blocks) lives.push_back({moment, moment + 1, lives[i].bytes, phase});
      const double share = static_cast<double>(turn.state) / static_cast<double>(most);
      lives.push_back({moment, moment + 1, std::llround(share * static_cast<double>(work)), phase});
      moment += 2;
    }
  }
}

// One after the other, each made before the one that it takes the place of goes.
void shrink_weights(const model::AllocationStream& stream, double share, std::vector<Life>& lives) {
  if (stream.passes.empty()) return;
  const PlayTime first_step = at_event(stream.passes.front().begin);
  PlayTime moment = first_step - 2 * stream.blocks.size();
  for (std::size_t i = 0; i < stream.blocks.size(); ++i) {
    const bool is_there = lives[i].born < moment && lives[i].died > first_step;
    if (stream.blocks[i].owner != BlockOwner::kWeights || !is_there) continue;
    const auto bytes = std::llround(static_cast<double>(lives[i].bytes) * share);
    const std::uint8_t phase = lives[i].phase;
    lives.push_back({moment, lives[i].died, std::max<std::int64_t>(bytes, model::kBlockUnit), phase});
    lives[i].died = moment + 1;
    moment += 2;
  }
}

// Outputs over many classes, what a loss makes of them, and their gradients: as many numbers, of four bytes or two.
bool is_of_outputs(std::int64_t bytes, std::int64_t outputs) {
  return std::ranges::any_of(std::array{outputs, outputs / 2, outputs * 2},
                             [&](std::int64_t known) { return std::abs(bytes - known) <= model::kLeastSplit; });
}

// What stays whole where a network works on its batch in parts: what it puts out, which is the last that it makes of
// that size, what the script makes of it outside of all modules, and in backward what comes before anything that the
// network held goes.
std::vector<bool> find_whole(const model::AllocationStream& stream, std::int64_t outputs) {
  std::vector<bool> stays(stream.blocks.size());
  for (std::size_t i = 0; i < stays.size(); ++i) {  // of evaluations, which have no passes
    const StreamBlock& block = stream.blocks[i];
    const bool is_evaluated = block.phase == VF_PHASE_VALIDATE || block.phase == VF_PHASE_TEST;
    stays[i] = is_evaluated && is_of_outputs(block.bytes, outputs);
  }
  for (const model::StreamPass& pass : stream.passes) {
    std::size_t last = stays.size();
    model::StreamTime first_gone = pass.end;
    const auto begin = std::ranges::lower_bound(stream.blocks, pass.begin, {}, &StreamBlock::born);
    for (auto block = begin; block != stream.blocks.end() && block->born < pass.end; ++block) {
      const auto i = static_cast<std::size_t>(block - stream.blocks.begin());
      const bool is_forward = block->born < pass.turn;
      const bool is_of_network = is_forward && block->module >= 0;
      if (is_of_network && block->died >= pass.turn) first_gone = std::min(first_gone, block->died);
      if (!is_of_outputs(block->bytes, outputs)) continue;
      if (is_of_network) last = i;
      stays[i] = !is_of_network && (is_forward || block->born < first_gone);
    }
    if (last < stays.size()) stays[last] = true;
  }
  return stays;
}

// Whether the forward of a training step allocated anything in that module.
bool is_seen(const model::AllocationStream& stream, std::int32_t module) {
  const auto is_inside = [&](std::int32_t inner) {
    while (inner >= 0 && inner != module) inner = stream.modules[static_cast<std::size_t>(inner)].parent;
    return inner == module;
  };
  return std::ranges::any_of(stream.passes, [&](const model::StreamPass& pass) {
    return std::ranges::any_of(stream.blocks, [&](const StreamBlock& block) {
      return block.born >= pass.begin && block.born < pass.turn && is_inside(block.module);
    });
  });
}

}  // namespace

Reshaping find_reshaping(const model::Job& job, const Forecast& forecast, const Forecast& begun,
                         const model::AllocationStream& stream) {
  Reshaping reshaping;
  std::vector<model::StagePeak> before, after;
  for (const model::StagePeak& moment : begun.stage_peaks) before.push_back(settled(begun, moment));
  for (const model::StagePeak& moment : forecast.stage_peaks) after.push_back(settled(forecast, moment));
  find_shares(before, after, reshaping.shares);
  if (forecast.repeats != nullptr) {
    reshaping.keeps_products = model::find_text(*forecast.repeats, "keep") == "products";
    for (const std::string& name : model::find_names(*forecast.repeats, "modules")) {
      const auto module = std::ranges::find(stream.modules, name, &model::StreamModule::name);
      const auto index = static_cast<std::int32_t>(module - stream.modules.begin());
      reshaping.knows_all = reshaping.knows_all && module != stream.modules.end() && is_seen(stream, index);
      if (reshaping.knows_all) reshaping.repeated.push_back(index);
    }
  }
  if (forecast.accumulates || forecast.releases_gradients) {  // their lives are changed, not their sizes
    const double share = forecast.gradient_share / begun.gradient_share;
    for (auto& stage : reshaping.shares[VF_PHASE_TRAIN])
      stage[static_cast<std::size_t>(BlockOwner::kGradients)] = share;
  }
  reshaping.unknown_end = forecast.unknown_end;
  reshaping.drops_evaluation_graphs = forecast.evaluation_graph < begun.evaluation_graph;
  for (const int phase : {VF_PHASE_VALIDATE, VF_PHASE_TEST}) {  // as above: the share of the graph is no size
    for (auto& stage : reshaping.shares[static_cast<std::size_t>(phase)]) {
      double& share = stage[static_cast<std::size_t>(BlockOwner::kActivations)];
      if (reshaping.drops_evaluation_graphs) share = std::min(1.0, share / forecast.evaluation_graph);
    }
  }
  reshaping.offloads = forecast.offloaded > begun.offloaded;
  if (forecast.chunks_loss && job.wide_loss) reshaping.logits = job.wide_loss->bytes.count();
  if (forecast.splits_within && !begun.splits_within && job.wide_loss) {
    reshaping.whole = job.wide_loss->bytes.count();
  }
  if (forecast.accumulates) reshaping.micro_batches = static_cast<int>(std::lround(forecast.passes / begun.passes));
  reshaping.releases_gradients = forecast.releases_gradients && !begun.releases_gradients;
  if (forecast.state_at_once > begun.state_at_once) {  // its lives are changed, not its sizes
    reshaping.state_at_once = forecast.state_at_once.count();
    reshaping.parameters_at_once = forecast.parameters_at_once.count();
    for (auto& stage : reshaping.shares[VF_PHASE_TRAIN]) stage[static_cast<std::size_t>(BlockOwner::kOptimizer)] = 1;
  }
  reshaping.later_weights = forecast.later_weights / begun.later_weights;
  return reshaping;
}

std::vector<Life> reshape(const model::AllocationStream& stream, const Reshaping& reshaping) {
  std::vector<Life> lives;
  lives.reserve(stream.blocks.size());
  const std::vector<std::uint8_t> phases = find_phases_of_use(stream);
  std::vector<std::int64_t> found;
  if (reshaping.as_asked && reshaping.asked == nullptr) found = find_asked(stream);
  const std::vector<std::int64_t>& asked = reshaping.asked != nullptr ? *reshaping.asked : found;
  const std::vector<bool> whole = reshaping.whole > 0 ? find_whole(stream, reshaping.whole) : std::vector<bool>();
  const std::vector<bool> parts = find_gradient_parts(stream);
  for (std::size_t i = 0; i < stream.blocks.size(); ++i) {
    const StreamBlock& block = stream.blocks[i];
    const bool is_of_weights = parts[i] || (!reshaping.of_weights.empty() && reshaping.of_weights[i]);
    const bool stays = is_of_weights || (!whole.empty() && whole[i]);
    const double share =
        stays ? 1 : reshaping.shares[phases[i] & 7U][block.stage & 7U][static_cast<std::size_t>(block.owner)];
    const std::int64_t all = reshaping.as_asked ? asked[i] : block.bytes;
    const auto bytes = share == 1 ? all : std::llround(static_cast<double>(all) * share);
    lives.push_back({at_event(block.born), block.died == model::kStreamEnd ? kNeverFreed : at_event(block.died),
                     bytes > 0 ? std::max<std::int64_t>(bytes, model::kBlockUnit) : 0, block.phase});
  }
  if (reshaping.releases_gradients) release_gradients_at_once(stream, lives);
  if (reshaping.state_at_once > 0) take_turns(stream, reshaping, lives);
  if (reshaping.drops_evaluation_graphs) {
    drop_graphs_of_evaluations(stream, reshaping.without_graph, reshaping.unknown_end, lives);
  }
  if (!reshaping.repeated.empty()) {
    Reshaping repeating = reshaping;
    repeating.asked = reshaping.as_asked ? &asked : nullptr;
    repeat_modules(stream, repeating, lives);
  }
  if (reshaping.later_weights != 1) shrink_weights(stream, reshaping.later_weights, lives);
  if (reshaping.offloads) offload_saved(stream, reshaping, lives);
  if (reshaping.micro_batches > 1) add_micro_batches(stream, reshaping.micro_batches, lives);
  std::erase_if(lives, [](const Life& life) { return life.bytes == 0; });
  return lives;
}

}  // namespace vramfit::plan
