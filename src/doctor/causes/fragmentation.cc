#include <fmt/format.h>

#include <algorithm>

#include "doctor/causes/causes.h"
#include "doctor/leak.h"
#include "doctor/remedies.h"
#include "model/number_text.h"
#include "model/owner_names.h"

namespace vramfit::doctor {

namespace {

// Requests up to 10 MiB ask for a segment of 2 or 20 MiB, whatever their size: a little idle memory of the other pool,
// or in pieces, is no sign of anything. Releases up to 1.3 print the request itself.
bool is_class_size(const Size& tried) {
  return tried && (tried->value <= model::Bytes::mib(10) || tried->contains(model::Bytes::mib(20)));
}

// All of what is idle, in one piece, would just do: some of it always lies in pieces that nothing joins.
bool is_barely_enough(const model::PrintedBytes& idle, const model::PrintedBytes& tensor) {
  return idle.value.count() * 10 < tensor.value.count() * 11;
}

// The part of the card that neither PyTorch nor a context of this process's own holds.
double part_of_others(const Terms& terms) {
  constexpr Bytes kOwnContext = Bytes::mib(400);
  if (terms.others) return share(terms.others, terms.total);
  return terms.outside && terms.total ? share(terms.outside->value - kOwnContext, terms.total->value) : 0;
}

void find_fragmentation_in_message(const Scene& scene, Draft& draft) {
  const Terms& terms = scene.terms;
  if (scene.oom == nullptr || !terms.tried || !terms.idle || !terms.reserved) return;
  if (terms.allowed || surely_above(terms.tried, terms.total)) return;
  if (has_room(terms)) return;
  const double idle = share(terms.idle, terms.reserved);
  const bool idle_alone = may_reach(terms.idle, terms.tensor);
  const bool with_free = terms.free && may_reach(*terms.idle + *terms.free, terms.tensor);
  double weight = 0;
  if (idle_alone) {
    weight = idle >= 0.1 ? 0.8 : is_class_size(terms.tried) ? (idle >= 0.06 ? 0.5 : 0.25) : idle >= 0.03 ? 0.6 : 0.35;
  } else if (with_free) {
    weight = idle >= 0.1 ? 0.45 : 0.25;  // VF101: what is free lies elsewhere than what is idle
  } else if (idle > 0.1) {
    weight = 0.33;
  }
  if (weight == 0) return;
  // No more than the idle memory can be won: a few percent are gone again with the next larger batch.
  if (share(terms.idle, terms.total) < 0.02) weight = std::min(weight, 0.35);
  if (share(terms.idle, terms.total) < 0.05) weight = std::min(weight, 0.45);
  if (idle_alone && !is_class_size(terms.tried) && is_barely_enough(*terms.idle, *terms.tensor))
    weight = std::min(weight, 0.6);
  const double of_others = part_of_others(terms);
  if (of_others > 0.25) weight = std::min(weight, 0.45);  // VF401
  if (scene.in_force.expandable_segments || scene.in_force.malloc_async) weight = std::min(weight * 0.3, 0.25);
  if (terms.private_pools && may_reach(terms.private_pools, terms.tensor)) weight = std::min(weight, 0.5);
  if (scene.at.graph_capture) weight = std::min(weight, 0.45);
  draft.weigh(weight);
  draft.because(
      scene.oom_line(),
      fmt::format("{} asked for; {} reserved - {} allocated = {} idle ({} of reserved){}", show(terms.tensor),
                  show(terms.reserved), show(terms.allocated), show(terms.idle), percent(idle),
                  idle_alone  ? ": enough in sum, but in no one piece"
                  : with_free ? fmt::format("; with {} free it would be enough in one piece", show(terms.free))
                              : fmt::format("; even with {} free it would not be enough", show(terms.free))));
  if (of_others > 0.25)
    draft.because(
        fmt::format("others hold {} of the card, which is more than any cure for holes wins", percent(of_others)));
  if (scene.in_force.expandable_segments) draft.because("expandable segments are on, which leaves few such holes");
}

// The proof: the recorded program, replayed at other settings.
void look_at_replay(const SnapshotFacts& facts, const model::ReplayResult& replay, Draft& draft) {
  for (const model::ReplayTrial& trial : replay.search) {
    if (trial.is_own || !trial.fits || replay.own.fits) continue;
    draft.weigh(replay.proof.is_same ? 0.95 : 0.87);
    draft.because(model::SourceLine{facts.file, 0, ""},
                  fmt::format("replayed with {}, the same program fits: {} reserved at its peak",
                              trial.settings.empty() ? "the defaults" : trial.settings, show(trial.peak_reserved)));
    draft.fix({"Use the setting with which its replay fits", "export PYTORCH_CUDA_ALLOC_CONF=" + trial.settings,
               std::nullopt,
               fmt::format("{} calls of the driver instead of {}", trial.driver_allocations + trial.driver_frees,
                           replay.own.driver_allocations + replay.own.driver_frees),
               model::Applicability::kAsIs});
    break;
  }
  for (const model::ReplayOwner& owner : replay.fragmentation.owners) {
    if (owner.pinned_alone.count() == 0) continue;
    draft.because(model::SourceLine{facts.file, 0, ""},
                  fmt::format("{} blocks made at {} ({}) keep {} from going back", owner.blocks, owner.where,
                              show(owner.live), show(owner.pinned_alone)));
    break;
  }
}

void find_fragmentation_in_snapshots(const Scene& scene, Draft& draft) {
  for (std::size_t i = 0; i < scene.snapshots.size(); ++i) {
    const SnapshotFacts& facts = scene.snapshots[i];
    if (!facts.failed_size) continue;
    const Bytes usable = facts.idle - facts.idle_in_private;
    // Without any hole it would fail as well.
    if (*facts.failed_size > usable + facts.device_free.value_or(Bytes(0))) continue;
    const bool enough = usable >= *facts.failed_size;
    if (enough && facts.largest_idle < *facts.failed_size) {
      draft.weigh(facts.expandable ? 0.5 : 0.9);
      draft.because(model::SourceLine{facts.file, 0, ""},
                    fmt::format("{} asked for; {} idle in {} pieces, the largest {}", show(*facts.failed_size),
                                show(usable), facts.idle_blocks, show(facts.largest_idle)));
    } else if (share(usable, facts.reserved) > 0.15 && facts.largest_idle < *facts.failed_size) {
      draft.weigh(0.45).because(model::SourceLine{facts.file, 0, ""},
                                fmt::format("{} of {} reserved are idle, the largest piece is {}", show(usable),
                                            show(facts.reserved), show(facts.largest_idle)));
    }
    if (scene.given.snapshots[i].replay && !draft.is_empty())
      look_at_replay(facts, *scene.given.snapshots[i].replay, draft);
  }
}

// Retries and splits that the statistics counted.
void look_at_summaries(const Scene& scene, Draft& draft) {
  for (const model::MemorySummary& summary : scene.texts.summaries) {
    const auto retries = summary.counters.find("num_alloc_retries");
    const auto split = summary.statistics.find("inactive_split_bytes.all");
    const auto reserved = summary.statistics.find("reserved_bytes.all");
    if (split == summary.statistics.end() || reserved == summary.statistics.end()) continue;
    const double idle = share(Size(split->second.current), Size(reserved->second.current));
    const std::int64_t count = retries == summary.counters.end() ? 0 : retries->second;
    if (idle < 0.15 || (count == 0 && scene.oom == nullptr)) continue;
    draft.weigh(std::min(0.75, 0.4 + idle));
    draft.because(summary.at,
                  fmt::format("{} of {} reserved are inactive splits ({}); the cache was emptied and asked "
                              "again {} times",
                              show(split->second.current), show(reserved->second.current), percent(idle), count));
    if (scene.oom == nullptr) draft.severity(model::Severity::kWarning);
  }
}

void find_fragmentation_in_run(const Scene& scene, Draft& draft) {
  if (!scene.has_run()) return;
  model::Bytes fragmented;
  for (const model::OwnerRow& row : scene.run()->owners_at_peak) {
    if (row.device == scene.run()->peak_device && row.owner == model::owner::kFragmented) fragmented += row.bytes;
  }
  const model::Bytes tried = scene.run()->oom ? scene.run()->oom->tried : model::Bytes(0);
  if (!scene.run_failed_for_memory() || fragmented < tried || fragmented.count() == 0) return;
  draft.weigh(0.7).because(
      fmt::format("the run: {} were cached in pieces when {} was asked for", show(fragmented), show(tried)));
}

// No more than the idle memory is won. Where something piles up, that lasts for so many more of its steps.
void bound_by_leak(const Scene& scene, Draft& draft) {
  constexpr std::int64_t kWorthIt = 5;  // a cure that buys less than a fifth of the steps that were done is none
  const auto leak = find_leak(scene);
  if (!leak || leak->per_step.count() <= 0) return;
  Bytes idle = value_of(scene.terms.idle);
  for (const SnapshotFacts& facts : scene.snapshots) idle = std::max(idle, facts.idle);
  const std::int64_t bought = steps_bought(*leak, idle);
  if (bought * kWorthIt >= leak->steps) return;
  draft.bound(0.4).because(fmt::format("without holes it would last {} more of the {} steps that {} has piled up by {}",
                                       bought, leak->steps, leak->what, show(leak->per_step)));
}

// A log in which what is allocated rises up to the failure: the card is full then too, holes or not.
void bound_by_growing_log(const Scene& scene, Draft& draft) {
  if (scene.oom == nullptr || scene.terms.idle == std::nullopt) return;
  for (const MemorySeries& series : scene.series) {
    const TrendOf trend = find_trend(series);
    const bool is_live = series.what == "allocated" && !series.is_peak && !series.is_share;
    if (!is_live || trend.trend != Trend::kGrows || model::is_evaluation(series.phase)) continue;
    if (!find_rising_input(series).empty()) continue;
    const double rise = (trend.last - trend.first) / static_cast<double>(series.points.size() - 1);
    draft.bound(0.45).because(
        series.points.back().at,
        fmt::format(
            "what is allocated rises by {} from one reading to the next: without holes it would last for {:.1f} "
            "readings more",
            show(series, rise), static_cast<double>(scene.terms.idle->value.count()) / rise));
    return;
  }
}

void find_fragmentation(const Scene& scene, Draft& draft) {
  find_fragmentation_in_snapshots(scene, draft);
  find_fragmentation_in_message(scene, draft);
  look_at_summaries(scene, draft);
  find_fragmentation_in_run(scene, draft);
  if (draft.is_empty()) return;
  bound_by_leak(scene, draft);
  bound_by_growing_log(scene, draft);
  offer_expandable_segments(scene, draft);
  const bool replayed = !scene.snapshots.empty() && scene.given.snapshots.front().replay;
  if (!scene.snapshots.empty() && !replayed) {
    draft.fix({"Try every setting on the recorded program",
               "vramfit replay " + scene.snapshots.front().file + " --search", std::nullopt, "none",
               Applicability::kAsIs});
  }
  draft.fix({"Give the cache back between phases with different sizes",
             "torch.cuda.empty_cache()  # before validation, not in every step", std::nullopt,
             "each call waits for the card", Applicability::kMayBeWrong});
  ask_for_snapshot(scene, draft);
}

}  // namespace

const Cause kFragmentation{
    "VF301",
    "fragmentation",
    "Enough memory is reserved and idle, but in pieces that are too small",
    "idle reserved memory at least as large as the request while no one piece is; expandable segments off",
    "PyTorch reserves memory in segments and reuses them. After tensors of many sizes, free pieces lie between live "
    "ones, "
    "and a segment goes back to the driver only when all of it is free. Then a large request fails although the sum of "
    "the pieces would do.",
    "expandable_segments:True; fewer different sizes (pad, bucket); empty_cache between phases. `vramfit replay "
    "--search` "
    "proves which setting helps on your own snapshot.",
    find_fragmentation};

}  // namespace vramfit::doctor
