#include "facts/explanation.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "facts/recordings.h"
#include "facts/wide_outputs.h"
#include "liveness/owners.h"
#include "liveness/peaks.h"
#include "model/number_text.h"
#include "model/recording.h"

namespace vramfit::facts {

using liveness::CardHistory;
using liveness::EventIndex;

namespace {

constexpr std::size_t kTimelinePoints = 500;
constexpr std::size_t kLineRows = 10;

void explain_moment(const RunFacts& facts, const CardFacts& card, EventIndex at, bool ran_out,
                    Explanation& explanation) {
  const CardHistory& history = *facts.history_of(card.device);
  const std::vector<model::Recording>& recordings = recordings_of(facts);
  liveness::OwnerOptions options;
  if (card.accounted) options.occupied = card.accounted->occupied;
  options.rest_is_others = card.tells_own;
  if (!ran_out) options.outside = liveness::find_fullest_with(history, at);
  std::ranges::move(find_owners(history, at, recordings, options), std::back_inserter(explanation.owners));
  std::ranges::move(find_lines(history, at, recordings, kLineRows), std::back_inserter(explanation.lines));
  explanation.phases[card.device] = model::phase_name(history.levels[at].phase);
  if (facts.evidence.measured) {
    std::ranges::move(find_logits(history, recordings, at), std::back_inserter(explanation.evidence.logits));
  }
}

}  // namespace

Explanation explain(const RunFacts& facts, bool ran_out) {
  Explanation explanation;
  explanation.evidence = facts.evidence;
  for (const CardFacts& card : facts.cards) {
    const EventIndex at = ran_out ? card.last_out_of_memory.value_or(card.fullest) : card.fullest;
    if (at != liveness::kNever) explain_moment(facts, card, at, ran_out, explanation);
  }
  const std::size_t share = kTimelinePoints / std::max<std::size_t>(1, facts.histories.size());
  for (const CardHistory& history : facts.histories) {
    std::ranges::move(build_timeline(history, share), std::back_inserter(explanation.timeline));
  }
  return explanation;
}

}  // namespace vramfit::facts
