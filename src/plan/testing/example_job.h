// A small convolutional job in one literal, for the tests of this room: batch 8 in fp32 under AdamW, 12 equal blocks.
#ifndef VRAMFIT_PLAN_TESTING_EXAMPLE_JOB_H
#define VRAMFIT_PLAN_TESTING_EXAMPLE_JOB_H

#include <string>

#include "plan/technique.h"

namespace vramfit::plan {

inline model::BlockLevel example_level(int count, std::int64_t saved_mib, std::int64_t output_mib) {
  model::BlockLevel level;
  for (int i = 0; i < count; ++i) {
    model::ModuleBlock block;
    block.name = "layers." + std::to_string(i);
    block.class_name = "Layer";
    block.saved = Bytes::mib(saved_mib);
    block.output = Bytes::mib(output_mib);
    block.forward_macs = 1e10;
    level.blocks.push_back(block);
  }
  return level;
}

inline model::StagePeak example_peak(std::string phase, std::string stage, std::int64_t activations_mib,
                                     std::int64_t gradients_mib, std::int64_t temporaries_mib) {
  model::StagePeak moment{std::move(phase), std::move(stage), {}};
  moment.holdings.weights = Bytes::mib(100);
  moment.holdings.optimizer = Bytes::mib(200);
  moment.holdings.inputs = Bytes::mib(20);
  moment.holdings.activations = Bytes::mib(activations_mib);
  moment.holdings.gradients = Bytes::mib(gradients_mib);
  moment.holdings.temporaries = Bytes::mib(temporaries_mib);
  return moment;
}

inline model::Job example_job() {
  model::Job job;
  job.parameter_bytes = Bytes::mib(100);
  job.parameters = job.parameter_bytes.count() / 4;
  job.loaders = {{0, 8, 100, "train", {{8, 3, 512, 512}}}, {1, 4, 10, "validate", {{4, 3, 512, 512}}}};
  job.levels = {example_level(12, 200, 20)};
  job.optimizer = model::OptimizerFacts{"AdamW", std::nullopt, std::nullopt, Bytes::mib(200), Bytes::mib(10)};
  job.stage_peaks = {example_peak("train", "forward", 2600, 0, 0), example_peak("train", "backward", 2400, 20, 100),
                     example_peak("train", "optimizer", 0, 100, 200), example_peak("validate", "forward", 300, 0, 0)};
  job.phases = {{"train", Bytes::mib(2920), Bytes::mib(3000), Bytes::mib(3300), 4},
                {"validate", Bytes::mib(620), Bytes::mib(3000), Bytes::mib(3300), 3}};
  job.overhead = Bytes::mib(300);
  job.work.macs[static_cast<std::size_t>(model::Number::kF32)] = 1e12;
  job.work.matmul_bytes = 1e10;
  job.work.other_bytes = 2e10;
  job.work.launches = 3000;
  job.work.optimizer_launches = 30;
  return job;
}

inline Target example_target(std::int64_t limit_mib = 2048) {
  Target target;
  target.card.name = "Example 86";
  target.card.capability = {8, 6};
  target.card.bandwidth_gbps = 400;
  target.card.rates.fp32 = 10;
  target.card.rates.fp16_tensor = 40;
  target.card.rates.bf16 = 40;
  target.limit = Bytes::mib(limit_mib);
  return target;
}

}  // namespace vramfit::plan

#endif
