// Jobs that techniques apply to, and what one technique by itself is foretold to do to a job.
#ifndef VRAMFIT_PLAN_TESTING_TECHNIQUE_JOBS_H
#define VRAMFIT_PLAN_TESTING_TECHNIQUE_JOBS_H

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "devices/time_model.h"
#include "plan/evaluation.h"
#include "plan/technique.h"
#include "plan/testing/example_job.h"

namespace vramfit::plan {

inline Forecast forecast_with(const Technique& technique, const model::Job& job, const Target& target,
                              const model::Change& change) {
  Forecast forecast = start_forecast(job);
  technique.predict(job, target, change, forecast);
  return forecast;
}

inline Bytes needs_with(const Technique& technique, const model::Job& job, const Target& target,
                        const model::Change& change) {
  return add_up(job, forecast_with(technique, job, target, change)).needs;
}

inline double seconds_with(const Technique& technique, const model::Job& job, const Target& target,
                           const model::Change& change) {
  return devices::estimate_step_seconds(target.card, forecast_with(technique, job, target, change).work);
}

// 100 MiB in float32: 20 million numbers of 26 million in 48 layers.
inline model::LinearLayers example_linear_layers() {
  return {26'000'000, 0, 20'000'000, 48, 100'000, 10'000, 24'000'000, true};
}

inline model::Job job_with_everything_applicable() {
  model::Job job = example_job();
  job.validates_with_gradients = true;
  job.gathered = model::GatheredFacts{"validate", "kept", "train.py:9 in test", Bytes::mib(20), 10, true};
  job.oom = model::OomFacts{"train", Bytes::mib(64), Bytes::mib(1200), Bytes::mib(1700)};
  job.phases[1].peak_reserved = Bytes::mib(3200);
  job.kept_gradients = model::KeptGradients{"train.py:31 in train", false};
  job.wide_loss = model::WideLoss{8192, 50304, Bytes::mib(200)};
  job.network = model::NetworkFacts{"timm", "resnet152", {"resnet101", "resnet50"}};
  job.teacher = model::TeacherFacts{"BigNet", Bytes::mib(60), true};
  job.linear_layers = example_linear_layers();
  job.compiler = model::CompilerFacts{1.0};
  job.card_transforms = {{"Compose", "train"}};
  job.convolution_layers = model::ConvolutionLayers{26'000'000, 53, {3, 512, 512}, true};
  job.sparse_embeddings = model::SparseEmbeddings{Bytes::mib(40), Bytes::mib(2), 1, "AdamW", false, ""};
  job.attention = model::AttentionFacts{Bytes::mib(300), 12, Bytes(0), Bytes::mib(300), Bytes(0)};
  return job;
}

// Only evaluates, and that is what runs out.
inline model::Job evaluating_job() {
  model::Job job = example_job();
  job.optimizer.reset();
  job.loaders = {{0, 4, 10, "test", {{4, 3, 512, 512}}}};
  job.stage_peaks = {example_peak("load", "other", 0, 0, 0), example_peak("test", "forward", 2600, 0, 40)};
  for (model::StagePeak& moment : job.stage_peaks) {
    moment.holdings.optimizer = {};
    moment.holdings.weights = job.parameter_bytes = Bytes::mib(400);
  }
  job.phases = {{"test", Bytes::mib(2760), Bytes::mib(3000), Bytes::mib(3300), 3}};
  return job;
}

// Stacks its batches of 16 itself.
inline model::Job evaluating_job_without_loader() {
  model::Job job = evaluating_job();
  job.loaders.clear();
  job.evaluated_at_once = 16;
  return job;
}

// What a run with the technique alone showed of `job`: these activations and weights in its evaluation.
inline void add_measured(model::Job& job, std::string_view technique, Bytes activations, Bytes weights) {
  std::vector<model::StagePeak> moments = job.stage_peaks;
  for (model::StagePeak& moment : moments) {
    if (is_evaluation(moment)) moment.holdings.activations = activations;
    moment.holdings.weights = weights;
  }
  job.measured[std::string(technique)] = std::move(moments);
}

}  // namespace vramfit::plan

#endif
