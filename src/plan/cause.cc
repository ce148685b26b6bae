#include "plan/cause.h"

#include <fmt/format.h>

#include <algorithm>

namespace vramfit::plan {
namespace {

using base::Bytes;
using model::Cause;

Bytes peak_of(const model::Job& job, std::string_view phase) {
  const model::PhaseFacts* facts = model::find_phase(job, phase);
  return facts == nullptr ? Bytes(0) : facts->peak_allocated + job.overhead;
}

Cause describe(const model::GatheredFacts& gathered) {
  const std::string name = gathered.variable.empty() ? "what it gathers" : "`" + gathered.variable + "`";
  Cause cause;
  cause.text =
      fmt::format("phase {} keeps {} on the card: {} more with every batch, {} after {} batches", gathered.phase, name,
                  to_string(gathered.per_batch), to_string(sum(gathered)), gathered.batches);
  cause.line = gathered.line;
  cause.remedy = "move it to the CPU there (.cpu()), or sum the metric up batch by batch";
  return cause;
}

Cause describe_graph(std::string_view phase) {
  return {fmt::format("phase {} runs with gradients on: every forward keeps its activations", phase), "",
          "put the evaluation under torch.no_grad()"};
}

// A little of a step always lives on: the last loss, a batch of inputs.
constexpr double kUsuallyKeptFromTraining = 0.1;

Cause describe_what_training_left(const model::KeptTrainingTensors& leftovers) {
  Cause cause;
  cause.text = fmt::format("phase {} runs while {} of the last training steps are still on the card", leftovers.phase,
                           to_string(leftovers.bytes));
  if (!leftovers.line.empty()) cause.line = leftovers.line + " (where most of it is made)";
  cause.remedy = "let go of it before the evaluation: del, or a function that does not return it";
  cause.is_all = false;
  return cause;
}

}  // namespace

std::optional<Cause> find_cause(const model::Job& job, Bytes limit) {
  if (job.gathered && peak_of(job, job.gathered->phase) > limit) return describe(*job.gathered);
  if (const auto& left = job.kept_from_training;
      left && peak_of(job, left->phase) > limit &&
      static_cast<double>(left->bytes.count()) > kUsuallyKeptFromTraining * static_cast<double>(limit.count())) {
    return describe_what_training_left(*left);
  }
  if (!job.validates_with_gradients) return std::nullopt;
  for (const std::string_view phase : {"validate", "test"}) {
    if (peak_of(job, phase) > limit) return describe_graph(phase);
  }
  return std::nullopt;
}

}  // namespace vramfit::plan
