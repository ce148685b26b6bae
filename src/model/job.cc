#include "model/job.h"

#include <algorithm>
#include <numeric>

#include "model/number_text.h"

namespace vramfit::model {

Bytes sum(const Holdings& h) {
  return h.weights + h.buffers + h.gradients + h.optimizer + h.inputs + h.activations + h.workspaces + h.temporaries +
         h.gathered;
}

Bytes sum(const GatheredFacts& gathered) { return Bytes(gathered.per_batch.count() * gathered.batches); }

double total_macs(const StepWork& work) { return std::accumulate(work.macs.begin(), work.macs.end(), 0.0); }

const LoaderFacts* find_loader(const Job& job, std::string_view phase) {
  const auto found = std::ranges::find(job.loaders, phase, &LoaderFacts::phase);
  return found == job.loaders.end() ? nullptr : &*found;
}

std::string find_obstacle(const Job& job, std::string_view technique) {
  const LoaderFacts* trained = find_loader(job, phase::kTrain);
  for (const Obstacle& obstacle : job.obstacles) {
    const bool is_here = !obstacle.loader || (trained != nullptr && trained->ordinal == *obstacle.loader);
    if (obstacle.technique == technique && is_here) return obstacle.reason;
  }
  return "";
}

const PhaseFacts* find_phase(const Job& job, std::string_view phase) {
  const auto found = std::ranges::find(job.phases, phase, &PhaseFacts::phase);
  return found == job.phases.end() ? nullptr : &*found;
}

}  // namespace vramfit::model
