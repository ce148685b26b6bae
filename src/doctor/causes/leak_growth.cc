#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "doctor/all_clear.h"
#include "doctor/causes/causes.h"
#include "doctor/holders.h"
#include "doctor/leak.h"
#include "doctor/remedies.h"
#include "model/number_text.h"

namespace vramfit::doctor {

namespace {

constexpr std::int64_t kManyGrowingSteps = 6;

// How sure it is that something piles up. A few steps may be a list that is bounded; what a step needs may rise with
// its inputs. A loop without steps may be one that only makes ready what is used later.
double weight_of(const model::Growth& growth, const Scene& scene) {
  const bool ran_out = scene.run_failed_for_memory();
  if (scene.was_cut_within(kStepsToBlame)) return kCutTooShort;
  if (is_of_passes(growth)) return !has_holder(growth) ? 0.35 : ran_out ? 0.86 : 0.7;
  if ((growth.of_peak && !is_joined_on(growth)) || growth.steps < kManyGrowingSteps) return 0.55;
  return ran_out ? 0.9 : 0.8;
}

// How much a step, who holds it, which line makes it, and when it is too much: what there is to say in one sentence.
std::string headline(const model::Growth& growth) {
  std::string title = is_of_passes(growth)
                          ? fmt::format("Memory grows with each pass of a loop, by {}", rhythm_of(growth))
                          : fmt::format("{} from step to step, by {}",
                                        growth.of_peak ? "What a step needs grows" : "Memory grows", rhythm_of(growth));
  const auto held =
      std::ranges::find_if(growth.holders, [](const model::TensorGroup& one) { return is_told(one.holder); });
  if (held != growth.holders.end())
    title += (growth.of_peak ? " with " : ": ") + describe(held->holder) + (growth.of_peak ? "" : " holds it");
  if (growth.of_peak && held != growth.holders.end() && !held->line.empty()) {
    title += fmt::format(", made at {}", held->line);
  } else if (!growth.lines.empty() && !growth.lines.front().line.empty()) {
    title += fmt::format("{} made at {}", held != growth.holders.end() ? "," : ":", growth.lines.front().line);
  } else if (held != growth.holders.end() && !held->line.empty()) {
    title += fmt::format(", made at {}", held->line);
  }
  return title + when_full(growth);
}

void tell_growth(const model::Growth& growth, Draft& draft) {
  draft.because(fmt::format("the run: {} rose {} over {} {} of {}{}{}",
                            growth.of_peak         ? "what a step needs at its most"
                            : is_of_passes(growth) ? "memory"
                                                   : "memory at the end of a step",
                            rhythm_of(growth), growth.steps, units_of(growth),
                            is_of_passes(growth) ? "a loop" : growth.phase,
                            growth.levels.empty() ? "" : fmt::format(", to {}", show(growth.levels.back())),
                            growth.runs_out_at ? fmt::format("; out at {} {}", growth.unit, *growth.runs_out_at) : ""));
  for (const model::GrowingLine& line : growth.lines) {
    if (line.per_step.count() * 10 < growth.per_step.count()) continue;
    draft.because(fmt::format("{} of it a {} is made at {}", show(line.per_step), growth.unit, line.line));
  }
  for (const model::TensorGroup& held : growth.holders) {
    draft.because(fmt::format("kept alive by {}: {} tensors, {}{}{}", describe_with_line(held.holder), held.tensors,
                              show(held.bytes), held.line.empty() ? "" : ", made at " + held.line,
                              held.has_graph ? ", each with its graph" : ""));
  }
}

void find_leak_growth_in_run(const Scene& scene, Draft& draft) {
  const model::Growth* most = nullptr;
  for (const model::Growth& growth : scene.runtime().growth) {
    const bool is_evaluation = model::is_evaluation(growth.phase);
    if (growth.steps < 3 || growth.per_step.count() <= 0 || (is_evaluation && !is_of_passes(growth))) continue;
    if (is_too_little_to_matter(growth, scene) || follows_its_inputs(growth, scene)) continue;
    if (find_bound(growth, scene)) continue;
    draft.weigh(weight_of(growth, scene));
    if (!scene.run_failed_for_memory()) draft.severity(model::Severity::kWarning);
    if (most == nullptr || growth.per_step > most->per_step) most = &growth;
    tell_growth(growth, draft);
    if (scene.was_cut_within(kStepsToBlame)) draft.because(words_of_short_cut(scene));
    tell_collector(growth, scene.runtime(), draft);
  }
  if (most != nullptr) draft.title(headline(*most));
}

// A report of the moment shows no steps, but a container of many tensors of one kind is made by many.
void look_at_what_holds(const Scene& scene, Draft& draft) {
  if (!scene.runtime().oom || scene.runtime().measured || scene.at.evaluation) return;
  for (const model::TensorGroup& held : scene.runtime().oom->holders) {
    const double part = share(held.bytes, scene.runtime().oom->allocated);
    if (!is_piled_up(held, scene.runtime().oom->allocated)) continue;
    draft.weigh(std::min(0.88, 0.6 + part / 2));
    draft.because(fmt::format("the report: {} held {} tensors of {} when it ran out, {} ({} of what was allocated){}{}",
                              describe_with_line(held.holder), held.tensors, held.shape, show(held.bytes),
                              percent(part), held.line.empty() ? "" : ", made at " + held.line,
                              held.has_graph ? ", each with its graph" : ""));
  }
}

// The line, what a step adds, and when that is too much, as far as the trace tells steps. One block a round, where not.
std::string headline_of_site(const CallSite& site, const SnapshotFacts& facts, const std::optional<model::Card>& card) {
  if (site.kept <= 0) return "";
  const std::int64_t kept_per_step = facts.steps > 0 ? site.kept_bytes.count() / facts.steps : 0;
  const bool has_steps = facts.steps >= 2 && site.kept * 2 >= facts.steps;
  const Bytes added(has_steps ? kept_per_step : site.kept_bytes.count() / site.kept);
  if (added.count() <= 0) return "";
  std::string title = fmt::format("Memory grows from step to step, by about {} {}: made at {}", show(added),
                                  has_steps ? "a step" : "a round", site.line);
  const std::int64_t taken = piled_up(site).count() / added.count();
  if (facts.ooms > 0) {
    title += fmt::format("; the card was full after about {} {}", taken, has_steps ? "steps" : "rounds");
  } else if (card && card->memory > facts.reserved) {
    title += fmt::format("; a {} is full at about {} {}", card->name, has_steps ? "step" : "round",
                         taken + (card->memory - facts.reserved).count() / added.count());
  }
  return title;
}

// Live blocks of one stack, spread over the whole trace, that have come to stay.
void find_leak_growth_in_snapshots(const Scene& scene, Draft& draft) {
  for (const SnapshotFacts& facts : scene.snapshots) {
    for (const CallSite& site : facts.sites) {
      const double part = share(piled_up(site), facts.active);
      if (!is_piled_up(site, facts)) continue;
      draft.weigh(std::min(0.9, 0.6 + part / 2));
      draft.because(
          model::SourceLine{facts.file, 0, ""},
          fmt::format("{} live blocks of {} ({} of what is live) were made at {}, spread over {} of the trace, and {}",
                      blocks_piled_up(site), show(piled_up(site)), percent(part), site.line, percent(site.spread),
                      site.rises ? "what stays of that line rises all through it"
                                 : "blocks of their sizes are hardly ever freed there"));
      if (std::string title = headline_of_site(site, facts, scene.given.card); !title.empty())
        draft.title(std::move(title));
      break;
    }
  }
}

void look_at_growing_series(const Scene& scene, Draft& draft) {
  for (const MemorySeries& series : scene.series) {
    const TrendOf trend = find_trend(series);
    if (trend.trend != Trend::kGrows || model::is_evaluation(series.phase)) continue;
    if (tries_sizes(series)) continue;
    // What is loaded piece by piece fills the card, up to its last piece.
    if (mentions(series.points.front().at.text, {"loading"}) &&
        mentions(series.points.front().at.text, {"shard", "layer"}))
      continue;
    // A running maximum rises with every longer sample too.
    const std::string input = find_rising_input(series);
    draft.weigh(!input.empty() ? 0.45 : series.is_peak ? 0.62 : series.points.size() >= 6 ? 0.82 : 0.7);
    if (!input.empty()) draft.because(series.points.back().at, "but what it computes gets larger too: " + input);
    draft.because(series.points.front().at, fmt::format("{} was {} here", series.what, show(series, trend.first)));
    draft.because(
        series.points.back().at,
        fmt::format("and {} after {} readings: {} more, rising through both halves, about {} from one reading "
                    "to the next",
                    show(series, trend.last), series.points.size(), show(series, trend.last - trend.first),
                    show(series, (trend.last - trend.first) / static_cast<double>(series.points.size() - 1))));
    break;
  }
}

// What the user saw, beside a message or without one.
void look_at_rise_that_is_told(const Scene& scene, Draft& draft) {
  for (const model::ToldSentence& told : scene.texts.told) {
    if (told.kind != model::ToldKind::kRises || is_of_host(scene, told) || is_denied_later(scene.texts, told)) continue;
    if (scene.oom != nullptr && told.at.file != scene.oom->at.file) continue;
    draft.weigh(0.6).because(told.at, "who wrote this saw it rise with time");
    if (!scene.has_failure()) draft.severity(model::Severity::kWarning);
    return;
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

// The remedy that fits what the tensors lie in.
std::optional<Remedy> remedy_of_container(const model::Growth& growth, const model::Holder& holder) {
  const std::string words = lowered(holder.name + " " + fmt::format("{}", fmt::join(holder.chain, " ")));
  const std::string& container = holder.container;
  if (words.contains("lru_cache")) {
    return Remedy{"Bound the cache, or empty it between epochs",
                  "@functools.lru_cache(maxsize=8)  # or NAME.cache_clear()"};
  }
  if (holder.kind == model::HolderKind::kClosure) {
    return Remedy{"Bind the number, not the tensor, into the function",
                  "value = loss.item()\ncallbacks.append(lambda: value)"};
  }
  if (holder.kind == model::HolderKind::kException) {
    return Remedy{"Keep the text of an error, not the error: its traceback holds the frames",
                  "failures.append(str(error))"};
  }
  if (container.starts_with("deque(maxlen=")) {
    return Remedy{"Lower the queue's bound: the card is full before it is", "collections.deque(maxlen=FEWER)"};
  }
  if (container == "deque") {
    return Remedy{"Bound the queue, or take out of it what is put in",
                  "collections.deque(maxlen=N)  # or Queue(maxsize=N)"};
  }
  if (growth.of_peak && container.empty() && !holder.filled_at.empty()) {
    return Remedy{"Bound what is joined on to itself", "NAME = torch.cat([NAME, new])[-N:]"};
  }
  const bool is_row = container == "list" || container == "set" || container == "ndarray";
  if (is_row && !holder.filled_at.empty()) {
    return Remedy{"Keep numbers there, or copies on the host", "NAME.append(value.item())  # or value.detach().cpu()"};
  }
  if (words.contains("optimizer") || words.contains("scheduler")) {
    return Remedy{"Let go of the old optimizer, and of the schedulers that hold it",
                  "schedulers = [NEW]  # not .append(NEW)"};
  }
  if (container == "dict" || container == "OrderedDict") {
    return Remedy{"Bound what is kept by key, or keep it in host memory",
                  "cache[key] = value.cpu()  # and drop the oldest"};
  }
  const bool is_nameless = holder.kind == model::HolderKind::kUnknown || holder.kind == model::HolderKind::kGraph;
  if (is_nameless && !has_holder(growth)) {
    return Remedy{"No name leads to it: a cycle that waits for the collector, or C++; see which",
                  "import gc; gc.collect()  # once an epoch; memory falls: a cycle"};
  }
  return std::nullopt;
}

// What cures the kind of holder that was found. True: it is about an object that numbers instead of tensors don't help.
bool offer_for_holders(const model::Growth& growth, Draft& draft) {
  for (const model::TensorGroup& held : growth.holders) {
    if (held.bytes.count() * 10 < growth.holders.front().bytes.count()) break;
    const auto of_object = remedy_of_object(held.holder);
    if (!of_object && held.holder.kind == model::HolderKind::kHook) {
      offer_for_hooks(growth, draft);
      return false;
    }
    const auto remedy = of_object ? of_object : remedy_of_container(growth, held.holder);
    if (!remedy) continue;
    const std::string where = held.holder.filled_at.empty() ? "" : " (" + held.holder.filled_at.front() + ")";
    draft.fix({remedy->what + where, remedy->how, std::nullopt, "none", Applicability::kFillIn});
    return of_object.has_value();
  }
  return false;
}

// TensorFlow has no tensors with a graph to detach: its own graph grows with each operation that is made.
bool is_of_tensorflow(const Scene& scene) {
  bool is_told = false;
  for (const model::TextFile& file : scene.texts.files) {
    const std::string sample = lowered(file.sample);
    if (mentions(sample, {"torch"})) return false;
    is_told = is_told || mentions(sample, {"tensorflow", "keras", "tf.", "import tf"});
  }
  return is_told && !scene.has_run();
}

void offer_for_tensorflow(Draft& draft) {
  draft.fix({"Make models and operations once, before the loop; clear what is left between models",
             "tf.keras.backend.clear_session(); gc.collect()", std::nullopt, "models are made anew",
             Applicability::kFillIn});
  draft.fix({"Call the model itself for single batches: predict() makes a data set and a function each time",
             "model(batch, training=False)  # not model.predict(batch) in a loop", std::nullopt, "none: faster",
             Applicability::kMayBeWrong});
  draft.fix({"Let no operation be made within the loop: then the one that is raises an error",
             "tf.compat.v1.get_default_graph().finalize()  # TensorFlow 1", std::nullopt, "none",
             Applicability::kMayBeWrong});
}

void offer_numbers(Draft& draft) {
  draft.fix({"Keep numbers, not tensors, of past steps", "losses.append(loss.item())  # not losses.append(loss)",
             std::nullopt, "a wait for the card in each step; collect loss.detach() and read it now and then",
             Applicability::kMayBeWrong});
}

void find_leak_growth(const Scene& scene, Draft& draft) {
  find_leak_growth_in_run(scene, draft);
  look_at_what_holds(scene, draft);
  find_leak_growth_in_snapshots(scene, draft);
  look_at_growing_series(scene, draft);
  look_at_rise_that_is_told(scene, draft);
  look_at_steps(scene, draft);
  if (draft.is_empty()) return;
  if (is_of_tensorflow(scene)) return offer_for_tensorflow(draft);
  if (find_told_growth_of_evaluation(scene) != nullptr) {
    if (!speaks_of_no_grad(scene)) offer_no_grad(scene, draft);
    draft.fix({"Move each batch's results to the host, or keep numbers of them alone",
               "outputs.append(output.detach().cpu())  # metrics too under torch.no_grad()", std::nullopt, "little",
               Applicability::kFillIn});
  }
  bool is_cured = false;
  for (const model::Growth& growth : scene.runtime().growth) is_cured |= offer_for_holders(growth, draft);
  if (is_cured) return;
  const bool is_offered = std::ranges::any_of(scene.runtime().growth, [](const model::Growth& growth) {
    return !growth.holders.empty() && !growth.holders.front().holder.filled_at.empty();
  });
  if (!is_offered) offer_numbers(draft);
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
