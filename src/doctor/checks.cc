#include "doctor/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "doctor/leak.h"
#include "liveness/growth.h"

namespace vramfit::doctor {

namespace {

using model::Check;
using model::CheckState;

// Whether a group can be judged from what is there: why it is well, or what is missing.
struct Judgement {
  CheckState state = CheckState::kUnknown;
  std::string text;
};

Judgement judge_size(const Scene& scene) {
  if (scene.has_run() && !scene.run_failed_for_memory() && scene.run()->verdict == model::Verdict::kFits) {
    return {
        CheckState::kPass,
        fmt::format("the run fits{}", scene.run()->margin ? ", with " + show(*scene.run()->margin) + " to spare" : "")};
  }
  if (scene.can_reckon() && scene.terms.tried) {
    return {CheckState::kPass, fmt::format("{} live of {}, {} asked for", show(scene.terms.live),
                                           show(scene.terms.total), show(scene.terms.tried))};
  }
  return {CheckState::kUnknown, "no message with the card's numbers"};
}

Judgement judge_lifetime(const Scene& scene) {
  for (const model::Growth& growth : scene.runtime().growth) {
    if (!scene.has_run()) break;
    const std::string told = "the run: " + liveness::describe_growth(growth);
    if (follows_its_inputs(growth, scene)) return {CheckState::kPass, told + ", as its batches do"};
    if (const auto bound = find_bound(growth, scene)) return {CheckState::kPass, told + ", " + *bound};
    // What was still growing at the end has no rate yet by which it could be called little.
    const bool is_little = growth.per_step.count() > 0 && is_too_little_to_matter(growth, scene);
    if (!is_little) return {CheckState::kUnknown, told};
    return {CheckState::kPass, told + ", which no job lives to see"};
  }
  if (scene.has_run() && !scene.saw_steps() && scene.runtime().judged_passes >= kPassesToClear) {
    return {CheckState::kPass,
            fmt::format("the run: no loop keeps what it makes, over {} passes", scene.runtime().judged_passes)};
  }
  if (scene.has_run() && !scene.saw_steps()) {
    return {CheckState::kUnknown, "the run: no step was seen; no loop without steps was seen to pile anything up"};
  }
  if (scene.was_cut_within(kStepsToClear)) return {CheckState::kUnknown, words_of_short_cut(scene)};
  if (scene.has_run() && scene.runtime().measured) {
    return {CheckState::kPass, "the run: nothing grows, evaluations keep nothing, nothing is left over"};
  }
  for (const MemorySeries& series : scene.series) {
    const Trend trend = find_trend(series).trend;
    if (trend == Trend::kFlat || trend == Trend::kSettles) {
      return {CheckState::kPass, fmt::format("memory is level over {} readings of the log", series.points.size())};
    }
  }
  return {CheckState::kUnknown,
          "one moment does not show growth: give the script, a snapshot or a log with memory per step"};
}

Judgement judge_fragmentation(const Scene& scene) {
  if (scene.oom != nullptr && scene.terms.idle && scene.terms.reserved) {
    return {CheckState::kPass,
            fmt::format("{} of {} reserved are idle", show(scene.terms.idle), show(scene.terms.reserved))};
  }
  if (!scene.snapshots.empty()) {
    return {CheckState::kPass, fmt::format("{} of {} reserved are idle in the snapshot", show(scene.snapshots[0].idle),
                                           show(scene.snapshots[0].reserved))};
  }
  if (scene.has_run()) return {CheckState::kPass, "the run: reserved memory was used"};
  return {CheckState::kUnknown, "neither reserved memory nor a snapshot is given"};
}

Judgement judge_others(const Scene& scene) {
  const Size& gap = scene.terms.others ? scene.terms.others : scene.terms.outside;
  if (scene.oom != nullptr && gap && scene.terms.total) {
    return {CheckState::kPass,
            fmt::format("at most {} of {} are others'", show(std::max(gap->value, Bytes(0))), show(scene.terms.total))};
  }
  for (const model::GpuStatus& status : scene.texts.gpu_status) {
    if (status.processes_listed)
      return {CheckState::kPass, fmt::format("{} processes listed", status.processes.size())};
  }
  return {CheckState::kUnknown, "give the output of nvidia-smi at the time"};
}

Judgement judge_host(const Scene& scene) {
  if (scene.oom != nullptr && scene.oom_has_numbers)
    return {CheckState::kNotApplicable, "the card ran out, not the host"};
  if (scene.has_run())
    return {CheckState::kPass, fmt::format("the run used {} of host memory", show(scene.run()->host_peak))};
  return {CheckState::kUnknown, "give dmesg or the container's memory.events if it was killed"};
}

Judgement judge_libraries(const Scene& scene) {
  if (scene.terms.context) {
    return {CheckState::kPass, fmt::format("context and libraries: {}", show(scene.terms.context))};
  }
  if (scene.oom != nullptr && scene.oom_has_numbers) return {CheckState::kPass, "the message is PyTorch's own"};
  return {CheckState::kUnknown, "no message of PyTorch's own"};
}

Judgement judge_platform(const Scene& scene) {
  if (scene.can_reckon() && !surely_above(scene.terms.live, scene.terms.total)) {
    return {CheckState::kPass, fmt::format("a card of {}", show(scene.terms.total))};
  }
  return {CheckState::kUnknown, "the card is not named"};
}

struct Group {
  char digit;
  const char* name;
  Judgement (*judge)(const Scene&);
};

constexpr std::array kGroups = {Group{'1', "size", judge_size},
                                Group{'2', "lifetime", judge_lifetime},
                                Group{'3', "fragmentation", judge_fragmentation},
                                Group{'4', "other users", judge_others},
                                Group{'5', "host", judge_host},
                                Group{'6', "libraries", judge_libraries},
                                Group{'7', "platform", judge_platform}};

}  // namespace

std::vector<Check> make_checks(const Scene& scene, const std::vector<model::Finding>& findings) {
  std::vector<Check> checks;
  for (const Group& group : kGroups) {
    Check check;
    check.group = group.name;
    const model::Finding* strongest = nullptr;
    for (const model::Finding& finding : findings) {
      if (finding.code[2] != group.digit) continue;
      check.codes.push_back(finding.code);
      if (strongest == nullptr || finding.confidence > strongest->confidence) strongest = &finding;
    }
    if (strongest != nullptr && strongest->confidence >= 0.3) {
      check.state = strongest->confidence >= 0.5 ? CheckState::kFail : CheckState::kUnknown;
      check.text = strongest->title;
    } else {
      const Judgement judgement = group.judge(scene);
      check.state = judgement.state;
      check.text = judgement.text;
    }
    checks.push_back(std::move(check));
  }
  return checks;
}

}  // namespace vramfit::doctor
