#include <fmt/format.h>

#include <algorithm>

#include "doctor/causes/causes.h"
#include "doctor/holders.h"
#include "doctor/remedies.h"

namespace vramfit::doctor {

namespace {

constexpr std::int64_t kManyGrowingSteps = 6;

void find_leak_growth_in_run(const Scene& scene, Draft& draft) {
  for (const model::Growth& growth : scene.runtime().growth) {
    if (growth.steps < 3 || growth.per_step.count() <= 0 || growth.of_peak || growth.phase == "validate" ||
        growth.phase == "test")
      continue;
    // A few steps may be a list that is bounded.
    draft.weigh(growth.steps < kManyGrowingSteps ? 0.55 : scene.run_failed_for_memory() ? 0.9 : 0.8);
    if (!scene.run_failed_for_memory()) draft.severity(model::Severity::kWarning);
    const std::string rhythm =
        growth.every > 1
            ? fmt::format("{} every {} steps", show(model::Bytes(growth.per_step.count() * growth.every)), growth.every)
            : show(growth.per_step) + " a step";
    draft.because(fmt::format("the run: memory at the end of a step rose {} over {} steps of {}{}{}", rhythm,
                              growth.steps, growth.phase,
                              growth.levels.empty() ? "" : fmt::format(", to {}", show(growth.levels.back())),
                              growth.runs_out_at ? fmt::format("; out at step {}", *growth.runs_out_at) : ""));
    for (const model::GrowingLine& line : growth.lines) {
      if (line.per_step.count() * 10 < growth.per_step.count()) continue;
      draft.because(fmt::format("{} of it a step is made at {}", show(line.per_step), line.line));
    }
    for (const model::HeldTensors& held : growth.holders) {
      draft.because(fmt::format("kept alive by {}: {} tensors, {}{}", describe(held.holder), held.tensors,
                                show(held.bytes), held.has_graph ? ", each with its graph" : ""));
    }
  }
}

// A report of the moment shows no steps, but a container of many tensors of one kind is made by many.
void look_at_what_holds(const Scene& scene, Draft& draft) {
  constexpr std::int64_t kMany = 8;
  if (!scene.runtime().oom || scene.runtime().measured || scene.at.evaluation) return;
  for (const model::HeldTensors& held : scene.runtime().oom->holders) {
    const double part = share(held.bytes, scene.runtime().oom->allocated);
    const bool piled = held.tensors >= kMany && held.holder.length >= kMany && held.holder.container != "tuple";
    if (!piled || part < 0.1) continue;
    draft.weigh(std::min(0.88, 0.6 + part / 2));
    draft.because(fmt::format("the report: {} held {} tensors of {} when it ran out, {} ({} of what was allocated){}{}",
                              describe(held.holder), held.tensors, held.shape, show(held.bytes), percent(part),
                              held.line.empty() ? "" : ", made at " + held.line,
                              held.has_graph ? ", each with its graph" : ""));
  }
}

// Live blocks of one stack, spread over the whole trace and hardly ever freed.
void find_leak_growth_in_snapshots(const Scene& scene, Draft& draft) {
  for (const SnapshotFacts& facts : scene.snapshots) {
    for (const CallSite& site : facts.sites) {
      const bool piles_up = site.in_trace >= 5 && site.spread >= 0.5 && site.freed * 4 <= site.in_trace;
      const double part = share(site.bytes, facts.active);
      if (!piles_up || part < 0.05 || facts.steps < 2) continue;
      draft.weigh(std::min(0.9, 0.6 + part / 2));
      draft.because(
          model::SourceLine{facts.file, 0, ""},
          fmt::format("{} live blocks of {} ({} of what is live) were made at {}, spread over {} of the trace; "
                      "{} of that line were freed",
                      site.blocks, show(site.bytes), percent(part), site.line, percent(site.spread), site.freed));
      break;
    }
  }
}

void look_at_growing_series(const Scene& scene, Draft& draft) {
  for (const MemorySeries& series : scene.series) {
    const TrendOf trend = find_trend(series);
    if (trend.trend != Trend::kGrows || series.phase == "validate" || series.phase == "test") continue;
    // A running maximum rises with every longer sample too.
    draft.weigh(series.is_peak ? 0.62 : series.points.size() >= 6 ? 0.82 : 0.7);
    draft.because(series.points.front().at, fmt::format("{} was {} here", series.what, show(trend.first)));
    draft.because(
        series.points.back().at,
        fmt::format("and {} after {} readings: {} more, rising through both halves, about {} from one reading "
                    "to the next",
                    show(trend.last), series.points.size(), show(trend.last - trend.first),
                    show(model::Bytes((trend.last - trend.first).count() /
                                      static_cast<std::int64_t>(series.points.size() - 1)))));
    break;
  }
}

// Only that it ran for long before it failed: a hint that the steady state was not the problem.
void look_at_steps(const Scene& scene, Draft& draft) {
  if (scene.oom == nullptr || !scene.steps_done || *scene.steps_done < 20 || !draft.is_empty()) return;
  if (scene.at.evaluation || scene.at.inference) return;
  draft.weigh(0.3).because(
      *scene.steps_seen,
      fmt::format("{} steps passed before it failed: a steady job fails in its first steps", *scene.steps_done));
}

void find_leak_growth(const Scene& scene, Draft& draft) {
  find_leak_growth_in_run(scene, draft);
  look_at_what_holds(scene, draft);
  find_leak_growth_in_snapshots(scene, draft);
  look_at_growing_series(scene, draft);
  look_at_steps(scene, draft);
  if (draft.is_empty()) return;
  draft.fix({"Keep numbers, not tensors, of past steps", "losses.append(loss.item())  # not losses.append(loss)",
             std::nullopt, "a wait for the card in each step; collect loss.detach() and read it now and then",
             Applicability::kMayBeWrong});
  draft.fix({"Drop what the next step does not need", "del outputs, loss  # at the end of the step", std::nullopt,
             "none", Applicability::kFillIn});
  if (scene.has_run() && scene.runtime().measured) return;
  ask_for_script(scene, draft);
  ask_for_snapshot(scene, draft);
}

}  // namespace

const Cause kLeakGrowth{
    "VF201",
    "leak_growth",
    "Memory grows from step to step",
    "what is alive at the end of a step rises through the whole run; one line's blocks pile up and are never freed",
    "Something keeps tensors of past steps: a list of losses or outputs, a cache, a hook, an attribute. Each step adds "
    "a "
    "little, and after many of them the card is full. A tensor with a graph keeps the activations of its step too.",
    "Find who holds them (vramfit doctor runs the script and names the variable); store .item() or .detach().cpu().",
    find_leak_growth};

}  // namespace vramfit::doctor
