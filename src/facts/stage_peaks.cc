// Who held the memory when each stage of each phase held most of it.
#include <algorithm>
#include <map>
#include <queue>
#include <utility>

#include "facts/job_builder.h"
#include "facts/recordings.h"
#include "liveness/lifetimes.h"
#include "liveness/owners.h"
#include "model/number_text.h"

namespace vramfit::facts {
namespace {

using base::Bytes;
using liveness::Block;
using liveness::EventIndex;
using model::Holdings;

Bytes& field_of(Holdings& holdings, const Block& block) {
  return holdings.*model::kHoldingOfOwner[static_cast<std::size_t>(liveness::block_owner(block))];
}

// Walks one card's blocks by birth; memory only grows at a birth, so that is where peaks are.
std::vector<model::StagePeak> find_peaks_of_card(const liveness::CardHistory& history) {
  using Death = std::pair<EventIndex, const Block*>;
  std::priority_queue<Death, std::vector<Death>, std::greater<>> deaths;
  std::map<std::pair<std::uint8_t, std::uint8_t>, std::pair<Bytes, Holdings>> fullest;
  Holdings now;
  Bytes level;
  for (const Block& block : history.blocks) {
    while (!deaths.empty() && deaths.top().first <= block.born) {
      field_of(now, *deaths.top().second) -= deaths.top().second->size;
      level -= deaths.top().second->size;
      deaths.pop();
    }
    field_of(now, block) += block.size;
    level += block.size;
    if (block.died != liveness::kNever) deaths.push({block.died, &block});
    auto& [most, holdings] = fullest[{block.phase, block.stage}];
    if (level <= most) continue;
    most = level;
    holdings = now;
  }
  std::vector<model::StagePeak> moments;
  for (const auto& [where, peak] : fullest) {
    moments.push_back(
        {std::string(model::phase_name(where.first)), std::string(model::stage_name(where.second)), peak.second});
  }
  return moments;
}

// The birth in an evaluation at which its card held most; null when there is none.
const Block* find_fullest_evaluation(const liveness::CardHistory& history) {
  std::priority_queue<std::pair<EventIndex, Bytes>, std::vector<std::pair<EventIndex, Bytes>>, std::greater<>> deaths;
  const Block* fullest = nullptr;
  Bytes level, most;
  for (const Block& block : history.blocks) {
    for (; !deaths.empty() && deaths.top().first <= block.born; deaths.pop()) level -= deaths.top().second;
    level += block.size;
    if (block.died != liveness::kNever) deaths.push({block.died, block.size});
    if (!model::is_evaluation(block.phase) || level <= most) continue;
    most = level;
    fullest = &block;
  }
  return fullest;
}

// What a training step makes for itself and should be gone by the time of an evaluation.
bool is_of_one_step(const Block& block) {
  const model::BlockOwner owner = liveness::block_owner(block);
  return owner == model::BlockOwner::kInputs || owner == model::BlockOwner::kActivations ||
         owner == model::BlockOwner::kTemporaries;
}

}  // namespace

std::optional<model::KeptTrainingTensors> find_kept_training_tensors(const RunFacts& facts, int device) {
  const liveness::CardHistory* history = facts.history_of(device);
  const Block* at = history != nullptr ? find_fullest_evaluation(*history) : nullptr;
  if (at == nullptr) return std::nullopt;
  model::KeptTrainingTensors left;
  left.phase = model::phase_name(at->phase);
  std::map<std::string, Bytes> by_line;
  for (const Block& block : history->blocks) {
    if (block.phase != VF_PHASE_TRAIN || !block.lives_at(at->born) || !is_of_one_step(block)) continue;
    left.bytes += block.size;
    by_line[std::string(recordings_of(facts)[static_cast<std::size_t>(block.process)].text(block.line))] += block.size;
  }
  if (left.bytes == Bytes(0)) return std::nullopt;
  left.line = std::ranges::max_element(by_line, {}, [](const auto& row) { return row.second; })->first;
  return left;
}

std::vector<model::StagePeak> find_stage_peaks(const RunFacts& facts, int device) {
  const liveness::CardHistory* history = facts.history_of(device);
  return history != nullptr ? find_peaks_of_card(*history) : std::vector<model::StagePeak>();
}

}  // namespace vramfit::facts
