#include "facts/job_builder.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "facts/allocation_stream.h"
#include "facts/module_calls.h"
#include "facts/recordings.h"
#include "liveness/step_memory.h"
#include "model/number_text.h"

namespace vramfit::facts {
namespace {

using base::Bytes;

bool is_within(std::string_view scope, std::string_view module) {
  return scope == module || (scope.starts_with(module) && scope.size() > module.size() && scope[module.size()] == '.');
}

// Multiply-adds and order of the modules' forwards, by scope, from the last recorded forward of training.
struct ScopeWork {
  double macs = 0;
  std::size_t first_seen = 0;
};

std::map<std::string, ScopeWork> count_forward_by_scope(std::span<const model::Recording> recordings) {
  std::map<std::string, ScopeWork> scopes;
  std::size_t seen = 0;
  double steps = 0;
  for (const model::Recording& recording : recordings) {
    for (const vf_record& record : recording.records) {
      if (record.phase != VF_PHASE_TRAIN) continue;
      if (record.kind == VF_RECORD_STEP) ++steps;
      if (record.stage != VF_STAGE_FORWARD || record.scope == 0) continue;
      ScopeWork& scope = scopes[std::string(recording.text(record.scope))];
      if (scope.first_seen == 0) scope.first_seen = ++seen;
      if (record.kind == VF_RECORD_MATMUL || record.kind == VF_RECORD_CONVOLUTION) {
        scope.macs += static_cast<double>(record.a);
      }
    }
  }
  for (auto& [name, scope] : scopes) scope.macs /= std::max(1.0, steps);
  return scopes;
}

// Adds the counted work to the blocks and puts them into the order in which they ran.
void add_forward_work(const RunFacts& facts, model::Job& job) {
  const auto scopes = count_forward_by_scope(recordings_of(facts));
  for (model::BlockLevel& level : job.levels) {
    std::map<std::string, std::size_t> order;
    for (model::ModuleBlock& block : level.blocks) {
      std::size_t first = scopes.size() + 1;
      for (const auto& [name, scope] : scopes) {
        if (!is_within(name, block.name)) continue;
        block.forward_macs += scope.macs;
        first = std::min(first, scope.first_seen);
      }
      order[block.name] = first;
    }
    std::ranges::stable_sort(level.blocks, {}, [&](const model::ModuleBlock& block) { return order.at(block.name); });
  }
}

// What an evaluation piled up is told apart from what it holds anyway: no smaller batch makes less of it. What the
// script makes of the pile after the last batch goes with it.
void set_gathered_apart(model::Job& job) {
  if (!job.gathered) return;
  for (model::StagePeak& moment : job.stage_peaks) {
    if (moment.phase != job.gathered->phase) continue;
    model::Holdings& holdings = moment.holdings;
    const auto take = [&](Bytes& from, Bytes most) {
      const Bytes taken = std::min(from, std::max(most, Bytes(0)));
      from -= taken;
      holdings.gathered += taken;
    };
    take(holdings.activations, sum(*job.gathered));
    if (moment.stage != model::stage::kForward)
      take(holdings.temporaries, holdings.temporaries - job.gathered->per_batch);
  }
}

void add_phases(const model::RunResult& result, model::Job& job) {
  for (const model::PhaseResult& phase : result.phases) {
    if (phase.device != result.peak_device) continue;
    job.phases.push_back({phase.name, phase.peaks.allocated, phase.peaks.reserved, phase.peaks.device, phase.steps});
  }
  for (const model::DeviceResult& device : result.devices) {
    if (device.index == result.peak_device) job.overhead = device.peaks.device - device.peaks.reserved;
  }
}

void add_stream(const RunFacts& facts, const model::RunResult& result, model::Job& job) {
  auto stream = find_allocation_stream(facts, job.device, result.torch);
  if (stream == nullptr) return;
  add_up_calls(*stream, job.levels);
  job.streams[""] = std::move(stream);
}

// The least that a step took at its most, once the first one had made the optimizer's state: little has piled up then.
void price_without_graphs(const RunFacts& facts, model::Job& job) {
  const liveness::CardHistory* history = facts.history_of(job.device);
  if (!job.kept_graphs || history == nullptr) return;
  std::optional<Bytes> least;
  for (const liveness::StepPeak& step : liveness::find_step_peaks(*history)) {
    if (step.phase != VF_PHASE_TRAIN || step.number < 1) continue;
    least = least ? std::min(*least, step.allocated) : step.allocated;
  }
  if (least) job.kept_graphs->needs_without = *least + job.overhead;
}

}  // namespace

model::Job build_job(const RunFacts& facts, const model::RunResult& result) {
  model::Job job;
  read_notes(facts, job);
  add_phases(result, job);
  job.device = result.peak_device;
  job.stage_peaks = find_stage_peaks(facts, job.device);
  add_stream(facts, result, job);
  job.kept_from_training = find_kept_training_tensors(facts, job.device);
  price_without_graphs(facts, job);
  set_gathered_apart(job);
  job.work = facts.work_on(job.device);
  add_forward_work(facts, job);
  job.step_modules = find_step_modules(facts, job.device);
  if (job.parameter_bytes == Bytes(0)) {
    for (const model::StagePeak& moment : job.stage_peaks) {
      job.parameter_bytes = std::max(job.parameter_bytes, moment.holdings.weights);
    }
  }
  return job;
}

}  // namespace vramfit::facts
