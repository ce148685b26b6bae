#include "compare/causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace vramfit::compare {

namespace {

using model::CheckCause;
using model::CheckReason;
using model::TraceAction;
using Reason = std::optional<CheckReason>;

constexpr std::int64_t kSmall = 1 << 20;  // sizes below this say little about batches
constexpr std::size_t kLeastFunctions = 3;
constexpr std::string_view kTorch = "torch";

// Allocations that have no partner on the other side: who asked for them is what tells them apart. Who frees a block is
// often somebody else.
struct Unmatched {
  std::vector<std::size_t> recorded, virtual_run;
  bool is_any = false;  // of all calls
  std::size_t count() const { return recorded.size() + virtual_run.size(); }
};

Unmatched find_unmatched(const Sides& sides) {
  Unmatched found;
  const auto add = [&](const EventStream& stream, std::size_t at, std::vector<std::size_t>& to) {
    const TraceAction action = stream.events[at].action;
    found.is_any |= !is_segment(action);
    if (action == TraceAction::kAlloc) to.push_back(at);
  };
  const Alignment& alignment = sides.alignment;
  std::vector<bool> has_partner(sides.virtual_run.events.size());
  for (std::size_t i = 0; i < alignment.partner.size(); ++i) {
    if (alignment.partner[i] == kNobody) {
      add(sides.recorded, i, found.recorded);
    } else {
      has_partner[alignment.partner[i]] = true;
    }
  }
  for (std::size_t j = alignment.virtual_begin; j < alignment.virtual_end; ++j) {
    if (!has_partner[j]) add(sides.virtual_run, j, found.virtual_run);
  }
  return found;
}

const Caller& caller_of(const EventStream& stream, std::size_t event) {
  return stream.callers[stream.events[event].caller];
}

Reason find_settings(const Sides& sides) {
  if (!sides.recorded.settings || !sides.virtual_run.settings) return std::nullopt;
  const model::AllocatorSettings &there = *sides.recorded.settings, &here = *sides.virtual_run.settings;
  if (there.conf == here.conf && there.expandable_segments == here.expandable_segments &&
      there.max_split_size == here.max_split_size &&
      there.garbage_collection_threshold == here.garbage_collection_threshold &&
      there.roundup_power2_divisions == here.roundup_power2_divisions) {
    return std::nullopt;
  }
  const auto name = [](const model::AllocatorSettings& settings) {
    if (!settings.conf.empty()) return settings.conf;
    return std::string(settings.expandable_segments ? "expandable_segments:True" : "the defaults");
  };
  return CheckReason{CheckCause::kSettings,
                     fmt::format("the allocator's settings differ: recorded with {}, run with {}; set "
                                 "PYTORCH_CUDA_ALLOC_CONF as it was",
                                 name(there), name(here))};
}

// How many functions of each package were called through on both sides, and how many of them from other lines.
struct Versions {
  std::size_t functions = 0, moved = 0;
  std::string example;
};

std::map<std::string, Versions> compare_versions(const Sides& sides) {
  std::map<std::string, Versions> packages;
  for (const auto& [function, there] : sides.recorded.library_lines) {
    const auto found = sides.virtual_run.library_lines.find(function);
    if (found == sides.virtual_run.library_lines.end()) continue;
    const std::set<std::int32_t>& here = found->second;
    Versions& package = packages[function.substr(0, function.find_first_of("/ "))];
    ++package.functions;
    if (std::ranges::any_of(there, [&](std::int32_t line) { return here.contains(line); })) continue;
    ++package.moved;
    if (package.example.empty()) {
      package.example = fmt::format("{} at line {} there, {} here", function, *there.begin(), *here.begin());
    }
  }
  std::erase_if(packages, [](const auto& entry) {
    const Versions& versions = entry.second;
    return versions.functions < kLeastFunctions || 2 * versions.moved < versions.functions;
  });
  return packages;
}

void add_versions(const Sides& sides, std::vector<CheckReason>& reasons) {
  for (const auto& [package, versions] : compare_versions(sides)) {
    const bool is_torch = package == kTorch;
    reasons.push_back({is_torch ? CheckCause::kTorchVersion : CheckCause::kPackage,
                       fmt::format("recorded with another version of {}: {} of {} of its functions in the stacks have "
                                   "other lines ({}){}",
                                   is_torch ? "PyTorch" : package, versions.moved, versions.functions, versions.example,
                                   is_torch ? "; --torch chooses one" : "")});
  }
}

// The package that asked for most of what only one side has.
Reason find_package(const Sides& sides, const Unmatched& unmatched) {
  std::map<std::string, std::pair<std::size_t, std::size_t>> counts;
  for (const std::size_t i : unmatched.recorded) ++counts[caller_of(sides.recorded, i).package].first;
  for (const std::size_t j : unmatched.virtual_run) ++counts[caller_of(sides.virtual_run, j).package].second;
  counts.erase("");
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second.first + entry.second.second; });
  if (most == counts.end()) return std::nullopt;
  const auto& [package, count] = *most;
  if (2 * (count.first + count.second) < unmatched.count()) return std::nullopt;
  return CheckReason{
      CheckCause::kPackage,
      fmt::format("of the {} blocks that only one side has, {} were asked for by {} ({} recorded, {} in the run): "
                  "another version of it, or another use",
                  unmatched.count(), count.first + count.second, package, count.first, count.second)};
}

Reason find_workspace(const Sides& sides, const Unmatched& unmatched) {
  std::size_t count = 0;
  std::int64_t largest = 0;
  const auto look = [&](const EventStream& stream, const std::vector<std::size_t>& events) {
    for (const std::size_t at : events) {
      if (!caller_of(stream, at).workspace) continue;
      ++count;
      largest = std::max(largest, stream.events[at].size);
    }
  };
  look(sides.recorded, unmatched.recorded);
  look(sides.virtual_run, unmatched.virtual_run);
  if (count == 0 || 2 * count < unmatched.count()) return std::nullopt;
  return CheckReason{
      CheckCause::kWorkspace,
      fmt::format("{} of the {} blocks that only one side has are workspaces of cuDNN or cuBLAS, the largest of {}",
                  count, unmatched.count(), to_string(base::Bytes(largest)))};
}

// Large allocations that stand in each other's place, by the ratio of their sizes.
Reason find_scale(const Sides& sides, const Unmatched& unmatched) {
  std::map<std::int64_t, std::size_t> ratios;  // in thousandths
  const auto large = [&](const EventStream& stream, const std::vector<std::size_t>& events) {
    std::vector<std::int64_t> sizes;
    for (const std::size_t at : events) {
      const Event& event = stream.events[at];
      if (event.size >= kSmall) sizes.push_back(event.size);
    }
    return sizes;
  };
  const auto there = large(sides.recorded, unmatched.recorded), here = large(sides.virtual_run, unmatched.virtual_run);
  const std::size_t pairs = std::min(there.size(), here.size());
  for (std::size_t i = 0; i < pairs; ++i) {
    ++ratios[std::llround(1000.0 * static_cast<double>(there[i]) / static_cast<double>(here[i]))];
  }
  const auto most = std::ranges::max_element(ratios, {}, [](const auto& entry) { return entry.second; });
  if (most == ratios.end() || most->first == 1000 || pairs < kLeastFunctions || 2 * most->second < pairs ||
      10 * pairs < 9 * std::max(there.size(), here.size())) {
    return std::nullopt;
  }
  return CheckReason{CheckCause::kScaled,
                     fmt::format("the same calls with other sizes: {} of {} large blocks are {:.4g} times as large in "
                                 "the recording: another batch size, or other data",
                                 most->second, pairs, static_cast<double>(most->first) / 1000)};
}

Reason find_shorter(const Sides& sides) {
  const Alignment& alignment = sides.alignment;
  if (alignment.hunks.empty()) return std::nullopt;
  const Hunk& last = alignment.hunks.back();
  if (last.recorded_end != sides.recorded.events.size() || last.virtual_end != alignment.virtual_end) {
    return std::nullopt;
  }
  if (last.virtual_begin == last.virtual_end) {
    return CheckReason{CheckCause::kShorter, fmt::format("the virtual run ends {} events before the recording does",
                                                         last.recorded_end - last.recorded_begin)};
  }
  if (last.recorded_begin != last.recorded_end) return std::nullopt;
  return CheckReason{CheckCause::kShorter, fmt::format("the recording ends {} events before the virtual run does",
                                                       last.virtual_end - last.virtual_begin)};
}

Reason find_order(const Sides& sides, bool calls_are_same) {
  if (!calls_are_same || (sides.places.same == sides.places.of && sides.same_sums)) return std::nullopt;
  const AddressOrder there = find_address_order(sides.recorded), here = find_address_order(sides.virtual_run);
  const std::size_t others = sides.places.of - sides.places.same;
  if (there != here && there != AddressOrder::kUnknown) {
    return CheckReason{CheckCause::kAddressOrder,
                       fmt::format("the recorded driver hands out addresses otherwise ({}; the run: {}), so {} blocks "
                                   "lie elsewhere: --address-order {}",
                                   to_string(there), to_string(here), others, to_string(there))};
  }
  if (!sides.recorded.from_start) {
    return CheckReason{CheckCause::kAddressOrder,
                       fmt::format("{} blocks lie elsewhere: segments from before the recording began take part, "
                                   "whose addresses only the real driver knows",
                                   others)};
  }
  return std::nullopt;
}

}  // namespace

std::vector<CheckReason> find_causes(const Sides& sides) {
  const Unmatched unmatched = find_unmatched(sides);
  const bool all_same = sides.alignment.is_equal();
  const bool calls_are_same = !unmatched.is_any;
  std::vector<CheckReason> reasons;
  const auto add = [&](Reason reason) {
    if (reason) reasons.push_back(std::move(*reason));
  };
  if (!all_same || !sides.same_sums || sides.places.same != sides.places.of) add(find_settings(sides));
  add(find_order(sides, calls_are_same));
  if (unmatched.is_any) {
    add(find_workspace(sides, unmatched));
    add(find_package(sides, unmatched));
    add(find_scale(sides, unmatched));
    add(find_shorter(sides));
    add_versions(sides, reasons);
  }
  if (sides.alignment.moved > 0) {
    reasons.push_back({CheckCause::kReordering,
                       fmt::format("{} events come in another order: memory was given back, or asked for, a little "
                                   "earlier or later",
                                   sides.alignment.moved)});
  }
  const bool differs = !all_same || !sides.same_sums;
  if (reasons.empty() && differs) {
    reasons.push_back({CheckCause::kNotKnown,
                       "not known: no settings, workspaces, packages, versions, ratio of sizes or order of addresses "
                       "that were compared explain it"});
  }
  return reasons;
}

}  // namespace vramfit::compare
