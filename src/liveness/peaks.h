// The highest levels of a card's history, as a whole and phase by phase, and the moment that explains them.
#ifndef VRAMFIT_LIVENESS_PEAKS_H
#define VRAMFIT_LIVENESS_PEAKS_H

#include <vector>

#include "liveness/lifetimes.h"
#include "model/run_result.h"

namespace vramfit::liveness {

model::Peaks find_peaks(const CardHistory& history);

// One row for each phase in which anything happened on the card, in the order of enum vf_phase.
std::vector<model::PhaseResult> find_phase_peaks(const CardHistory& history);

// The event whose live set explains the device's peak: where `reserved` first stood at its highest and, from there on,
// `allocated` was highest under that same reservation. kNever for an empty history.
//
//   reserved    ____________________________      the card's peak is decided where reserved stops growing;
//              |          *                        the fullest moment (*) under that level shows what it holds
//   allocated _/\__/\/\__/ \__/\___
EventIndex find_peak_event(const CardHistory& history);

// When the card was fullest while as much was reserved as at that moment; the last of such moments, by which it is told
// what else had been taken.
EventIndex find_fullest_with(const CardHistory& history, EventIndex moment);

// At most `limit` points (4 or more): of each stretch of events the one with the most allocated, and where the reserved
// memory and the whole card first stood highest, so that no peak is lost. Marks come first, up to half of the points.
std::vector<model::TimelinePoint> build_timeline(const CardHistory& history, std::size_t limit);

}  // namespace vramfit::liveness

#endif
