#include <fmt/format.h>

#include <algorithm>

#include "doctor/causes/causes.h"
#include "doctor/holders.h"
#include "doctor/leak.h"
#include "doctor/remedies.h"
#include "model/number_text.h"

namespace vramfit::doctor {

namespace {

constexpr std::int64_t kManySteps = 6;

bool is_graph_held(const model::Growth& growth) {
  if (growth.of_peak) return false;
  return !growth.graphs.empty() || std::any_of(growth.holders.begin(), growth.holders.end(),
                                               [](const model::TensorGroup& held) { return held.has_graph; });
}

bool retains_graph(const model::RuntimeEvidence& runtime) { return runtime.retain_graph || runtime.create_graph; }

// How much, who keeps it, and when it is too much.
std::string headline_of_graphs(const model::Growth& growth) {
  std::string title =
      fmt::format("Graphs of past {} are kept alive, {} a {}", units_of(growth), show(growth.per_step), growth.unit);
  const auto held = std::ranges::find_if(
      growth.holders, [](const model::TensorGroup& one) { return one.has_graph && is_told(one.holder); });
  if (held != growth.holders.end()) {
    title +=
        fmt::format(": {} holds them{}", describe(held->holder), held->line.empty() ? "" : ", made at " + held->line);
  } else if (!growth.graphs.empty()) {
    title += fmt::format(": behind {}", describe(growth.graphs.front().holder));
  }
  return title + when_full(growth);
}

void find_graph_retained_in_run(const Scene& scene, Draft& draft) {
  const model::RuntimeEvidence& runtime = scene.runtime();
  for (const model::Growth& growth : runtime.growth) {
    if (growth.steps < 3 || !is_graph_held(growth) || model::is_evaluation(growth.phase)) continue;
    // A few steps may be a list that is bounded.
    const bool is_little = is_too_little_to_matter(growth, scene);
    const double sure = is_little                       ? 0.45
                        : growth.steps < kManySteps     ? 0.6
                        : scene.run_failed_for_memory() ? 0.94
                                                        : 0.85;
    draft.weigh(scene.was_cut_within(kStepsToBlame) ? std::min(sure, kCutTooShort) : sure);
    if (scene.was_cut_within(kStepsToBlame)) draft.because(words_of_short_cut(scene));
    if (!scene.run_failed_for_memory()) draft.severity(model::Severity::kWarning);
    draft.title(headline_of_graphs(growth));
    draft.because(fmt::format("the run: memory rose {} a {} over {} {} of {}, and what is kept has a graph",
                              show(growth.per_step), growth.unit, growth.steps, units_of(growth),
                              is_of_passes(growth) ? "a loop" : growth.phase));
    for (const model::TensorGroup& held : growth.holders) {
      if (!held.has_graph) continue;
      draft.because(
          fmt::format("{} made at {} ({}), kept by {}, and with each its graph and the activations of its step",
                      held.tensors == 1 ? "1 tensor" : fmt::format("{} tensors", held.tensors), held.line,
                      held.operation, describe_with_line(held.holder)));
    }
    if (is_little)
      draft.because("so little that no job fills the card with it: what adds up is the host's part of graphs");
    tell_collector(growth, runtime, draft);
    for (const model::GrowingGraph& graph : growth.graphs) {
      draft.because(fmt::format("the graph behind {} grew from {} to {} nodes", describe_with_line(graph.holder),
                                graph.nodes_before, graph.nodes_after));
    }
  }
  // Where nothing grows and nothing failed, a graph that is kept for one more pass harms nobody.
  const bool grows = !runtime.growth.empty();
  if (retains_graph(runtime) && (grows || scene.run_failed_for_memory())) {
    draft.weigh(grows ? 0.9 : 0.5);
    if (!scene.run_failed_for_memory()) draft.severity(model::Severity::kWarning);
    draft.because(fmt::format("the run: backward({}=True) at {}",
                              runtime.create_graph ? "create_graph" : "retain_graph", runtime.retain_graph_line));
  }
}

void find_graph_retained_in_snapshots(const Scene& scene, Draft& draft) {
  for (const SnapshotFacts& facts : scene.snapshots) {
    model::Bytes forward;
    std::int64_t lines = 0;
    for (const CallSite& site : facts.sites) {
      const bool piles_up = site.in_trace >= 3 && site.spread >= 0.4 && site.freed * 2 <= site.in_trace;
      if (!piles_up || !mentions(site.words, {"nn/modules", "functional.py", " forward"})) continue;
      if (mentions(site.words, {"backward", "/optim/"})) continue;
      forward += site.bytes;
      ++lines;
    }
    const double part = share(forward, facts.active);
    if (part < 0.3 || lines < 2 || facts.steps < 2) continue;
    draft.weigh(std::min(0.88, 0.6 + part / 3));
    draft.because(
        model::SourceLine{facts.file, 0, ""},
        fmt::format("activations of {} lines of forward passes pile up over the trace: {}, {} of what is live", lines,
                    show(forward), percent(part)));
  }
}

// Numbers instead of tensors do not help where it is the object that keeps whatever it is given.
bool offer_for_object(const model::Growth& growth, Draft& draft) {
  for (const model::TensorGroup& held : growth.holders) {
    const auto remedy = held.has_graph ? remedy_of_object(held.holder) : std::nullopt;
    if (!remedy) continue;
    draft.fix({remedy->what, remedy->how, std::nullopt, "none", Applicability::kFillIn});
    return true;
  }
  return false;
}

// Source in the text that keeps a graph, where memory is seen or said to grow: a sum of losses is the commonest leak.
void look_at_source(const Scene& scene, Draft& draft) {
  const model::Remarkable* named = find_remark(scene, model::SentenceKind::kToldGraph);
  const model::Remarkable* kept = named != nullptr ? named : find_remark(scene, model::SentenceKind::kKeepsGraph);
  if (kept == nullptr) return;
  const bool grows = std::ranges::any_of(
      scene.series, [](const MemorySeries& series) { return find_trend(series).trend == Trend::kGrows; });
  const bool is_host = std::ranges::any_of(scene.texts.told, [&](const model::ToldSentence& told) {
    return told.kind == model::ToldKind::kRises && is_of_host(scene, told);
  });
  const bool is_told = std::ranges::any_of(
      scene.texts.told, [](const model::ToldSentence& told) { return told.kind == model::ToldKind::kRises; });
  if (!grows && !is_told) return;
  draft.weigh(grows || (named != nullptr && !is_host) ? 0.85
              : is_host                               ? 0.55
                                                      : 0.65)
      .because(kept->at, "what this keeps for the next round has the graph of this one");
  if (!scene.has_failure()) draft.severity(model::Severity::kWarning);
}

void find_graph_retained(const Scene& scene, Draft& draft) {
  find_graph_retained_in_run(scene, draft);
  find_graph_retained_in_snapshots(scene, draft);
  look_at_source(scene, draft);
  if (scene.oom != nullptr) {
    if (const StackEntry* retained = scene.stack.in_code({"retain_graph=true", "create_graph=true"})) {
      draft.weigh(0.72).because(*retained, "the graph is kept after the backward pass, with all it saved");
    }
    const StackEntry* kept = scene.stack.in_own_code({"loss +=", "losses.append(loss)", "loss_sum +=", "total_loss +=",
                                                      "running_loss +=", "outputs.append(", "loss_list.append("});
    // Where gradients are off, what is gathered has no graph: VF205.
    if (kept != nullptr && !scene.at.evaluation &&
        !mentions(kept->frame.code, {".item()", ".detach()", "float(", ".cpu()"})) {
      draft.weigh(0.6).because(*kept, "a tensor with its graph is added up or stored here");
    }
  }
  if (draft.is_empty()) return;
  for (const model::Growth& growth : scene.runtime().growth) {
    offer_for_hooks(growth, draft);
    if (offer_for_object(growth, draft)) return;
  }
  draft.fix({"Store numbers or detached tensors", "total += loss.item()  # or loss.detach()", std::nullopt,
             ".item() waits for the card; .detach() does not", Applicability::kMayBeWrong});
  if (!scene.has_run() || retains_graph(scene.runtime())) {
    draft.fix({"Drop retain_graph; sum the losses and call backward once", "(loss_a + loss_b).backward()", std::nullopt,
               "none: faster", Applicability::kMayBeWrong});
  }
  draft.fix({"Cut the graph of a state that is carried on", "hidden = hidden.detach()", std::nullopt, "none",
             Applicability::kMayBeWrong});
}

}  // namespace

const Cause kGraphRetained{
    "VF203",
    "graph_retained",
    "Graphs of past steps are kept alive, with everything they saved",
    "growth whose tensors have a graph; retain_graph or create_graph; activations of several steps alive",
    "A tensor that requires grad refers to its graph, and the graph to all activations saved for its backward pass. "
    "`total += loss`, a list of losses, a hidden state carried on, or backward(retain_graph=True) keeps whole steps.",
    ".item() or .detach() for what is kept; no retain_graph unless a second backward pass follows.",
    find_graph_retained};

}  // namespace vramfit::doctor
