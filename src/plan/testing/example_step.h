// Training steps made up of modules that hold so much and hand on so much: for tests of recomputation.
#ifndef VRAMFIT_PLAN_TESTING_EXAMPLE_STEP_H
#define VRAMFIT_PLAN_TESTING_EXAMPLE_STEP_H

#include <algorithm>
#include <string>

#include "model/job.h"

namespace vramfit::plan {

// Adds modules one after another; what each needs beside what it holds is gone when it ends.
class StepBuilder {
 public:
  // A module without any inside: returns its index.
  std::size_t add(std::string name, int parent, model::Bytes saved, model::Bytes output,
                  model::Bytes forward_extra = {}, model::Bytes backward_extra = {}) {
    model::StepModule module;
    module.name = std::move(name);
    module.parent = parent;
    module.freed = saved - output;
    module.forward_peak = level_ + saved + forward_extra;
    module.after_peak = level_ + saved;
    module.backward_peak = level_ + saved + backward_extra;
    module.repeat_rise = backward_extra;  // gradients are there when it is run again
    module.repeat_peak = module.forward_peak + module.repeat_rise;
    level_ += saved;
    step_.modules.push_back(std::move(module));
    return step_.modules.size() - 1;
  }

  // Around all that is added until close().
  std::size_t open(std::string name, int parent) {
    model::StepModule module;
    module.name = std::move(name);
    module.parent = parent;
    module.freed = -level_;
    step_.modules.push_back(std::move(module));
    return step_.modules.size() - 1;
  }

  void close(std::size_t index, model::Bytes output) {
    model::StepModule& outer = step_.modules[index];
    outer.freed += level_ - output;
    outer.after_peak = level_;
    for (std::size_t i = index + 1; i < step_.modules.size(); ++i) {
      const model::StepModule& inner = step_.modules[i];
      outer.forward_peak = std::max({outer.forward_peak, inner.forward_peak, inner.after_peak});
      outer.backward_peak = std::max(outer.backward_peak, inner.backward_peak);
    }
    outer.repeat_peak = outer.forward_peak;
  }

  model::StepModules take(model::Bytes loss = {}) {
    step_.end_peak = level_ + loss;
    step_.peak = step_.end_peak;
    for (const model::StepModule& module : step_.modules) {
      step_.peak = std::max({step_.peak, module.forward_peak, module.after_peak, module.backward_peak});
    }
    return step_;
  }

 private:
  model::StepModules step_;
  model::Bytes level_;
};

inline model::StepModules example_chain(int count, std::int64_t held_mib, std::int64_t output_mib) {
  StepBuilder builder;
  for (int i = 0; i < count; ++i) {
    builder.add("m" + std::to_string(i), -1, model::Bytes::mib(held_mib), model::Bytes::mib(output_mib));
  }
  return builder.take();
}

inline model::StepModules example_stages(int stages, int each, std::int64_t held_mib, std::int64_t output_mib) {
  StepBuilder builder;
  for (int i = 0; i < stages; ++i) {
    const std::string name = "s" + std::to_string(i);
    const std::size_t stage = builder.open(name, -1);
    for (int k = 0; k < each; ++k) {
      builder.add(name + ".m" + std::to_string(k), static_cast<int>(stage), model::Bytes::mib(held_mib),
                  model::Bytes::mib(output_mib));
    }
    builder.close(stage, model::Bytes::mib(output_mib));
  }
  return builder.take();
}

}  // namespace vramfit::plan

#endif
