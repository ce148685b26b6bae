#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "doctor/causes/causes.h"
#include "doctor/remedies.h"

namespace vramfit::doctor {

namespace {

// Inputs that get longer all the time: VF201.
bool grows_with_steps(std::vector<model::StepInput> steps) {
  std::sort(steps.begin(), steps.end(), [](const auto& a, const auto& b) { return a.step < b.step; });
  std::size_t rises = 0;
  for (std::size_t i = 1; i < steps.size(); ++i) {
    if (steps[i].elements < steps[i - 1].elements) return false;
    rises += steps[i].elements > steps[i - 1].elements;
  }
  const auto last = std::count_if(steps.begin(), steps.end(),
                                  [&](const model::StepInput& step) { return step.elements == steps.back().elements; });
  return rises >= 2 || (rises > 0 && last >= 3);
}

// Sizes that come round every few steps, as those of buckets, are no exception to anything.
bool is_rare(const std::vector<model::StepInput>& steps, const model::StepInput& most) {
  const auto alike = std::count_if(steps.begin(), steps.end(), [&](const model::StepInput& step) {
    return step.elements * 10 >= most.elements * 9;
  });
  return alike <= 2 || static_cast<std::size_t>(alike) * 10 <= steps.size();
}

// The step with the most memory against the median one of its phase, by the size of their inputs.
void look_at_phase(const Scene& scene, std::vector<model::StepInput> steps, Draft& draft) {
  if (steps.size() < 4) return;
  if (grows_with_steps(steps)) return;
  std::sort(steps.begin(), steps.end(), [](const auto& a, const auto& b) { return a.elements < b.elements; });
  const model::StepInput& middle = steps[steps.size() / 2];
  const auto most = std::max_element(steps.begin(), steps.end(),
                                     [](const auto& a, const auto& b) { return a.peak_allocated < b.peak_allocated; });
  const bool longer = most->elements >= middle.elements * 3 / 2;
  const bool matters = most->peak_allocated.count() > middle.peak_allocated.count() * 6 / 5;
  if (!longer || !matters || !is_rare(steps, *most)) return;
  draft.weigh(scene.run_failed_for_memory() ? 0.85 : 0.6);
  draft.because(fmt::format(
      "the run: step {} of {} had inputs {} and peaked at {}; the median step had {} and {}: "
      "{:.1f} times the input",
      most->step, most->phase, most->shapes, show(most->peak_allocated), middle.shapes, show(middle.peak_allocated),
      static_cast<double>(most->elements) / static_cast<double>(middle.elements)));
  if (!scene.run_failed_for_memory()) draft.severity(model::Severity::kWarning);
}

void find_variable_length_spike_in_run(const Scene& scene, Draft& draft) {
  std::map<std::string, std::vector<model::StepInput>> phases;
  for (const model::StepInput& input : scene.runtime().inputs) {
    if (input.elements > 0) phases[input.phase].push_back(input);
  }
  for (auto& [name, steps] : phases) look_at_phase(scene, std::move(steps), draft);
}

void find_variable_length_spike(const Scene& scene, Draft& draft) {
  find_variable_length_spike_in_run(scene, draft);
  for (const model::Remarkable& remark : scene.texts.remarks) {
    if (remark.kind != model::SentenceKind::kLongSequence) continue;
    if (scene.oom != nullptr) draft.weigh(0.6).because(remark.at, "a sample longer than the rest");
  }
  for (const model::Remarkable& remark : scene.texts.remarks) {
    if (!mentions(remark.at.text, {"sequence length is longer than"}) || scene.oom == nullptr) continue;
    draft.weigh(0.6).because(remark.at, "a sample is longer than the model's own limit");
    break;
  }
  for (const MemorySeries& series : scene.series) {
    const TrendOf trend = find_trend(series);
    const bool level = trend.trend == Trend::kFlat || trend.trend == Trend::kSettles || trend.trend == Trend::kVaries;
    if (!level || scene.oom == nullptr || scene.at.evaluation || !scene.at.training) continue;
    draft.weigh(trend.trend == Trend::kVaries ? 0.5 : 0.42);
    draft.because(series.points.back().at,
                  fmt::format("memory did not grow over {} readings ({} at last), then one step failed",
                              series.points.size(), show(series, trend.last)));
    break;
  }
  const model::Remarkable* only_long = find_remark(scene, model::SentenceKind::kToldOnlyLongInput);
  const model::Remarkable* long_input =
      only_long != nullptr ? only_long : find_remark(scene, model::SentenceKind::kToldLongInput);
  const bool is_told = !scene.texts.oom_mentions.empty() || !scene.texts.memory_words.empty() || scene.oom != nullptr;
  if (long_input != nullptr && is_told && !scene.has_run()) {
    // Which inputs fail says more than what was idle when they did.
    draft.weigh(only_long != nullptr ? 0.83 : 0.52);
    draft.because(long_input->at, "inputs that are longer than the rest, says who wrote this");
  }
  if (draft.is_empty()) return;
  if (scene.oom != nullptr && scene.steps_done && *scene.steps_done > 1) {
    draft.because(*scene.steps_seen, fmt::format("it had done {} steps before", *scene.steps_done));
  }
  draft.fix({"Cut long samples to a bound", "tokenizer(text, truncation=True, max_length=LIMIT)", std::nullopt,
             "none; what is cut is lost", Applicability::kFillIn});
  draft.fix({"Batch samples of like length, by tokens instead of by samples",
             "TrainingArguments(group_by_length=True)  # or a sampler that fills to a number of tokens", std::nullopt,
             "none", Applicability::kMayBeWrong});
  if (scene.has_run()) return;
  draft.confirm("whether the same batch fails when the run is repeated with the same seed");
  ask_for_script(scene, draft);
}

}  // namespace

const Cause kVariableLengthSpike{
    "VF106",
    "variable_length_spike",
    "A rare long sample needs much more than the others",
    "steps whose inputs are much longer than the median and peak higher; memory level for many steps and then one "
    "fails",
    "Batches are padded to their longest sample. One long sample makes the whole batch long, and activations grow with "
    "the length, attention scores with its square.",
    "Truncate, group by length, batch by tokens, or put the longest batch first, so that it fails at once.",
    find_variable_length_spike};

}  // namespace vramfit::doctor
