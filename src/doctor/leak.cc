#include "doctor/leak.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/parse_number.h"
#include "doctor/holders.h"

namespace vramfit::doctor {

namespace {

std::optional<Leak> in_run(const model::RuntimeEvidence& runtime) {
  for (const model::Growth& growth : runtime.growth) {
    if (growth.per_step.count() <= 0 || growth.steps < 3) continue;
    std::string what = growth.holders.empty() ? "" : describe(growth.holders.front().holder);
    if (what.empty()) what = growth.lines.empty() ? "what grows" : growth.lines.front().line;
    return Leak{std::move(what), growth.per_step, growth.steps};
  }
  return std::nullopt;
}

}  // namespace

bool is_piled_up(const model::TensorGroup& held, Bytes allocated) {
  constexpr std::int64_t kMany = 8;
  return held.tensors >= kMany && held.holder.length >= kMany && held.holder.container != "tuple" &&
         share(held.bytes, allocated) >= 0.1;
}

std::int64_t blocks_piled_up(const CallSite& site) {
  if (site.rises) return site.kept + site.blocks - site.in_trace;
  return site.blocks * site.kept / std::max<std::int64_t>(site.in_trace, 1);
}

Bytes piled_up(const CallSite& site) {
  if (site.kept == 0) return Bytes(0);
  if (site.rises) return site.kept_bytes + site.older_bytes;
  return Bytes(site.in_trace > 0 ? site.bytes.count() / site.in_trace * site.kept : 0);
}

bool is_piled_up(const CallSite& site, const SnapshotFacts& facts) {
  // A trace of the last few steps has few of them, and the blocks from before it tell of the others.
  constexpr std::int64_t kFew = 3, kMany = 5;
  const bool has_older = site.rises && site.kept >= kFew && site.blocks - site.in_trace >= 2 * kMany;
  return (site.kept >= kMany || has_older) && site.kept_spread >= 0.5 && facts.steps >= 2 &&
         share(piled_up(site), facts.active) >= 0.05;
}

std::string words_of_short_cut(const Scene& scene) {
  return fmt::format(
      "the run: it was cut short after {} steps in full, too few to tell growth from what comes and goes",
      scene.runtime().judged_steps);
}

bool is_too_little_to_matter(const model::Growth& growth, const Scene& scene) {
  // The allocator's smallest block is 512 bytes, so a scalar that each step keeps is that, or a few of them. More than
  // that is too little only on a card that was named: else one with plenty of memory stands in.
  constexpr Bytes kFewScalars = Bytes(4096);
  constexpr std::int64_t kNoStepsThatAJobTakes = 1'000'000;
  const bool is_more = growth.per_step > kFewScalars && !(scene.given.card && growth.runs_out_at);
  if (scene.run_failed_for_memory() || is_more || !growth.graphs.empty()) return false;
  return !growth.runs_out_at || *growth.runs_out_at >= kNoStepsThatAJobTakes;
}

std::optional<std::string> find_bound(const model::Growth& growth, const Scene& scene) {
  constexpr std::string_view kBound = "deque(maxlen=";
  if (scene.run_failed_for_memory() || growth.of_peak || growth.per_step.count() <= 0 || !growth.graphs.empty())
    return std::nullopt;
  const auto held = std::ranges::find_if(
      growth.holders, [&](const model::TensorGroup& one) { return one.holder.container.starts_with(kBound); });
  if (held == growth.holders.end() || held->tensors <= 0 || held->has_graph) return std::nullopt;
  // Something else may grow beside it.
  const bool is_all =
      growth.lines.size() == 1 ||
      (!growth.lines.empty() && growth.lines.front().per_step.count() * 10 >= growth.per_step.count() * 9);
  if (!is_all || growth.lines.front().line != held->line) return std::nullopt;
  const auto most = base::parse_number<std::int64_t>(
      std::string_view(held->holder.container).substr(kBound.size(), held->holder.container.find(')') - kBound.size()));
  if (!most) return std::nullopt;
  // An entry may be several tensors, and then a step adds more than one of them.
  const double entry = std::max(static_cast<double>(held->bytes.count()) / static_cast<double>(held->tensors),
                                static_cast<double>(growth.per_step.count()));
  const auto entries_left = static_cast<double>(std::max<std::int64_t>(*most - held->holder.length, 0));
  const double full_at = static_cast<double>(growth.first_step + growth.steps) +
                         entries_left * entry / static_cast<double>(growth.per_step.count());
  if (growth.runs_out_at && full_at >= static_cast<double>(*growth.runs_out_at)) return std::nullopt;
  const double all = entry * static_cast<double>(*most);
  if (all >= 1e15) return std::nullopt;
  return fmt::format("bounded: {} entries at most, {}", *most, show(Bytes(static_cast<std::int64_t>(all))));
}

bool is_joined_on(const model::Growth& growth) {
  return std::ranges::any_of(growth.holders,
                             [](const model::TensorGroup& held) { return !held.holder.filled_at.empty(); });
}

bool follows_its_inputs(const model::Growth& growth, const Scene& scene) {
  if (!growth.of_peak || scene.run_failed_for_memory()) return false;
  if (is_joined_on(growth)) return false;
  const auto& inputs = scene.runtime().inputs;
  std::vector<std::int64_t> elements;
  for (const model::StepInput& input : inputs) {
    if (input.phase == growth.phase) elements.push_back(input.elements);
  }
  const std::size_t third = elements.size() / 3;
  if (third < 2) return false;
  const auto first = std::span(elements).first(third), last = std::span(elements).last(third);
  return std::ranges::min(last) > std::ranges::max(first);
}

std::optional<Leak> find_leak(const Scene& scene) {
  if (auto leak = in_run(scene.runtime())) return leak;
  // What is left of a job that ran out tells twice: who holds tensors, and which line made them. The larger pile
  // counts: a name may lead to a part of it.
  std::optional<Leak> largest;
  const auto take = [&](std::string what, Bytes bytes, std::int64_t count) {
    if (count <= 0 || (largest && largest->per_step.count() * largest->steps >= bytes.count())) return;
    largest = Leak{std::move(what), Bytes(bytes.count() / count), count};
  };
  if (const auto& oom = scene.runtime().oom) {
    for (const model::TensorGroup& held : oom->holders) {
      if (is_piled_up(held, oom->allocated)) take(describe(held.holder), held.bytes, held.tensors);
    }
  }
  for (const SnapshotFacts& facts : scene.snapshots) {
    for (const CallSite& site : facts.sites) {
      if (is_piled_up(site, facts)) take("the blocks made at " + site.line, piled_up(site), blocks_piled_up(site));
    }
  }
  return largest;
}

std::int64_t steps_bought(const Leak& leak, Bytes bytes) {
  return leak.per_step.count() > 0 ? bytes.count() / leak.per_step.count() : 0;
}

bool has_holder(const model::Growth& growth) {
  return std::ranges::any_of(growth.holders, [](const model::TensorGroup& held) { return !held.holder.name.empty(); });
}

bool is_told(const model::Holder& holder) { return holder.kind != model::HolderKind::kUnknown || !holder.name.empty(); }

bool is_of_passes(const model::Growth& growth) { return growth.unit == "pass"; }

std::string units_of(const model::Growth& growth) { return is_of_passes(growth) ? "passes" : "steps"; }

std::string rhythm_of(const model::Growth& growth) {
  if (growth.every <= 1) return show(growth.per_step) + " a " + growth.unit;
  return fmt::format("{} every {} {}", show(model::Bytes(growth.per_step.count() * growth.every)), growth.every,
                     units_of(growth));
}

std::string when_full(const model::Growth& growth) {
  if (!growth.runs_out_at) return "";
  return fmt::format("; the card is full at about {} {}{}", growth.unit, *growth.runs_out_at,
                     growth.faster > 0 ? " or sooner, as each adds more than the one before" : "");
}

void offer_for_hooks(const model::Growth& growth, Draft& draft) {
  const auto held = std::ranges::find(growth.holders, model::HolderKind::kHook,
                                      [](const model::TensorGroup& group) { return group.holder.kind; });
  if (held == growth.holders.end() || held->bytes.count() * 10 < growth.holders.front().bytes.count()) return;
  const std::string where = held->holder.filled_at.empty() ? "" : " (" + held->holder.filled_at.front() + ")";
  draft.fix({"Register the hook once, before the loop, and let it overwrite what it keeps" + where,
             "handle = module.register_forward_hook(HOOK)  # not in the loop; else handle.remove() after each step",
             std::nullopt, "none", model::Applicability::kFillIn});
}

void tell_collector(const model::Growth& growth, const model::RuntimeEvidence& runtime, Draft& draft) {
  if (!runtime.collector) return;
  if (!runtime.collector->is_on) {
    draft.because("Python's collector is off in the script (gc.disable()): cycles of objects stay for good");
    draft.fix({"Switch the collector on, or call it now and then", "gc.enable()  # or gc.collect() once an epoch",
               std::nullopt, "some milliseconds each", model::Applicability::kMayBeWrong});
  } else if (!has_holder(growth) && runtime.collector->freed.count() == 0) {
    draft.because("Python's collector was asked, and freed nothing of it: it is no cycle that waits");
  }
}

}  // namespace vramfit::doctor
