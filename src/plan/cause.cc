#include "plan/cause.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/number_text.h"
#include "plan/forecast.h"

namespace vramfit::plan {
namespace {

using base::Bytes;
using model::ScriptCause;

Bytes peak_of(const model::Job& job, std::string_view phase) {
  const model::PhaseFacts* facts = model::find_phase(job, phase);
  return facts == nullptr ? Bytes(0) : facts->peak_allocated + job.overhead;
}

constexpr std::string_view kNoGraph = "put the evaluation under torch.no_grad()";

ScriptCause describe(const model::GatheredFacts& gathered) {
  const std::string name = gathered.variable.empty() ? "what it gathers" : "`" + gathered.variable + "`";
  ScriptCause cause;
  cause.text =
      fmt::format("phase {} keeps {} on the card: {} more with every batch, {} after {} batches", gathered.phase, name,
                  to_string(gathered.per_batch), to_string(sum(gathered)), gathered.batches);
  cause.line = gathered.line;
  if (gathered.keeps_graphs) {
    cause.text += ", with the graph of each forward";
    cause.remedy = kNoGraph;
    return cause;
  }
  cause.remedy = "move it to the CPU there (.cpu()), or sum the metric up batch by batch";
  return cause;
}

ScriptCause describe_graph(std::string_view phase) {
  return {fmt::format("phase {} runs with gradients on: every forward keeps its activations", phase), "",
          std::string(kNoGraph)};
}

// A little of a step always lives on: the last loss, a batch of inputs.
constexpr double kUsuallyKeptFromTraining = 0.1;

ScriptCause describe_what_training_left(const model::KeptTrainingTensors& kept) {
  ScriptCause cause;
  cause.text = fmt::format("phase {} runs while {} of the last training steps are still on the card", kept.phase,
                           to_string(kept.bytes));
  if (!kept.line.empty()) cause.line = kept.line + " (where most of it is made)";
  cause.remedy = "let go of it before the evaluation: del, or a function that does not return it";
  cause.is_all = false;
  return cause;
}

// Cached between tensors, beside what a step's tensors take: a card that is this full is not sure to hold it.
constexpr double kSureToHold = 0.9;

ScriptCause describe(const model::KeptGraphs& kept, Bytes limit) {
  ScriptCause cause;
  cause.text = fmt::format("`{}` keeps the graph of every training step: {} more with each", kept.variable,
                           to_string(kept.per_step));
  cause.line = kept.line;
  cause.remedy = "add a number or a detached tensor there: .item(), .detach()";
  const bool is_known = kept.needs_without > Bytes(0);
  if (is_known) cause.text += fmt::format("; a step without them takes about {}", to_string(kept.needs_without));
  cause.is_all = is_known && kept.needs_without <= scaled(limit, kSureToHold);
  return cause;
}

}  // namespace

std::optional<ScriptCause> find_cause(const model::Job& job, Bytes limit) {
  if (job.kept_graphs && peak_of(job, model::phase::kTrain) > limit) return describe(*job.kept_graphs, limit);
  if (job.gathered && peak_of(job, job.gathered->phase) > limit) return describe(*job.gathered);
  if (const auto& left = job.kept_from_training;
      left && peak_of(job, left->phase) > limit &&
      static_cast<double>(left->bytes.count()) > kUsuallyKeptFromTraining * static_cast<double>(limit.count())) {
    return describe_what_training_left(*left);
  }
  if (!job.validates_with_gradients) return std::nullopt;
  for (const std::string_view phase : {model::phase::kValidate, model::phase::kTest}) {
    if (peak_of(job, phase) > limit) return describe_graph(phase);
  }
  return std::nullopt;
}

}  // namespace vramfit::plan
