#include "app/doctor/doctor.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "app/catalogue.h"
#include "app/doctor/script_run.h"
#include "app/replay/replay.h"
#include "doctor/diagnose.h"

namespace vramfit::app {

using base::Result;

namespace {

// What other settings would have done to the recorded program, where it failed: a proof instead of folklore. One that
// cannot be replayed stays as it is.
void replay_snapshots(doctor::Case& all, base::ProgressSink& progress) {
  for (doctor::SnapshotFile& file : all.snapshots) {
    const auto& traces = file.snapshot.traces;
    const bool failed = std::any_of(traces.begin(), traces.end(), [](const auto& trace) {
      return std::any_of(trace.begin(), trace.end(),
                         [](const auto& entry) { return entry.action == model::TraceAction::kOom; });
    });
    if (!failed) continue;
    ReplayRequest request;
    request.file = file.file;
    request.search = true;
    if (auto replayed = replay(file.snapshot, request, progress)) file.replay = std::move(*replayed);
    progress.clear();
  }
}

}  // namespace

Result<model::Diagnosis> diagnose(DoctorRequest request, job::Runner& runner, base::ProgressSink& progress) {
  const CaseFiles& files = request.files;
  if (files.error && files.read == 0 && !request.run) return std::unexpected(*files.error);
  doctor::Case all = std::move(request.files.told);
  if (request.run) {
    if (auto ran = run_script(*request.run, request.gpu, runner, progress, all); !ran)
      return std::unexpected(ran.error());
  }
  replay_snapshots(all, progress);
  if (auto cards = load_catalogue()) all.cards = std::move(*cards);
  all.card = request.card;
  model::Diagnosis diagnosis = doctor::diagnose(all);
  diagnosis.warnings.insert(diagnosis.warnings.begin(), all.unread.begin(), all.unread.end());
  return diagnosis;
}

std::optional<job::CardChoice> card_named_in(const CaseFiles& files) {
  const auto cards = load_catalogue();
  if (!cards) return std::nullopt;
  const model::Evidence& texts = files.told.texts;
  for (const model::GpuStatus& status : texts.gpu_status) {
    for (const model::GpuCard& seen : status.cards) {
      const auto same =
          std::find_if(cards->begin(), cards->end(), [&](const model::Card& card) { return card.name == seen.name; });
      if (same != cards->end()) return job::CardChoice{*same, std::nullopt};
    }
  }
  // Without a name the total says it: cards of one size differ little in what fits them.
  for (const model::OomMessage& oom : texts.ooms) {
    if (!oom.total) continue;
    const auto nearest = std::min_element(cards->begin(), cards->end(), [&](const auto& a, const auto& b) {
      return std::abs(a.memory.count() - oom.total->value.count()) <
             std::abs(b.memory.count() - oom.total->value.count());
    });
    if (nearest != cards->end()) return job::CardChoice{*nearest, oom.total->value};
  }
  return std::nullopt;
}

}  // namespace vramfit::app
