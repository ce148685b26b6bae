#include "compare/causes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

std::vector<std::int64_t> sizes_of(const EventStream& stream, const std::vector<std::size_t>& events) {
  std::vector<std::int64_t> sizes;
  for (const std::size_t at : events) sizes.push_back(std::max<std::int64_t>(stream.events[at].size, 1));
  return sizes;
}

std::vector<std::int64_t> all_sizes(const EventStream& stream, std::size_t begin, std::size_t end) {
  std::vector<std::size_t> events;
  for (std::size_t i = begin; i < end; ++i) {
    if (stream.events[i].action == TraceAction::kAlloc) events.push_back(i);
  }
  return sizes_of(stream, events);
}

// Allocations that stand in each other's place, by the ratio of their sizes: small ones too, for a job may have no
// other. Where both sides allocate as often, the place is that in the order; else, of those without a partner.
Reason find_scale(const Sides& sides, const Unmatched& unmatched) {
  auto there = all_sizes(sides.recorded, 0, sides.recorded.events.size());
  auto here = all_sizes(sides.virtual_run, sides.alignment.virtual_begin, sides.alignment.virtual_end);
  if (there.size() != here.size()) {
    there = sizes_of(sides.recorded, unmatched.recorded);
    here = sizes_of(sides.virtual_run, unmatched.virtual_run);
  }
  std::map<std::int64_t, std::size_t> ratios;  // in thousandths
  std::size_t pairs = 0;
  for (std::size_t i = 0; i < std::min(there.size(), here.size()); ++i) {
    if (there[i] == here[i]) continue;
    ++pairs;
    ++ratios[std::llround(1000.0 * static_cast<double>(there[i]) / static_cast<double>(here[i]))];
  }
  const auto most = std::ranges::max_element(ratios, {}, [](const auto& entry) { return entry.second; });
  if (most == ratios.end() || most->first == 1000 || pairs < kLeastFunctions || 2 * most->second < pairs ||
      10 * std::min(there.size(), here.size()) < 9 * std::max(there.size(), here.size())) {
    return std::nullopt;
  }
  return CheckReason{CheckCause::kScaled,
                     fmt::format("the same calls with other sizes: {} of {} blocks are {:.4g} times as large in the "
                                 "recording: another batch size, or other data",
                                 most->second, pairs, static_cast<double>(most->first) / 1000)};
}

// Whether a tail that one side has alone is most of what differs: behind many other differences it explains nothing.
bool is_most(const Alignment& alignment, std::size_t tail) {
  return 2 * tail >= alignment.only_recorded + alignment.only_virtual;
}

Reason find_shorter(const Sides& sides) {
  const Alignment& alignment = sides.alignment;
  if (alignment.hunks.empty()) return std::nullopt;
  const Hunk& last = alignment.hunks.back();
  if (last.recorded_end != sides.recorded.events.size() || last.virtual_end != alignment.virtual_end) {
    return std::nullopt;
  }
  const std::size_t recorded_tail = last.recorded_end - last.recorded_begin;
  const std::size_t virtual_tail = last.virtual_end - last.virtual_begin;
  if (!is_most(alignment, recorded_tail + virtual_tail)) return std::nullopt;
  if (virtual_tail == 0) {
    return CheckReason{CheckCause::kShorter,
                       fmt::format("the virtual run ends {} events before the recording does", recorded_tail)};
  }
  if (recorded_tail != 0) return std::nullopt;
  return CheckReason{CheckCause::kShorter,
                     fmt::format("the recording ends {} events before the virtual run does", virtual_tail)};
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

// What both sides tell enough of to be compared. Nothing can be denied of the rest.
std::vector<std::string_view> looked_at(const Sides& sides) {
  std::vector<std::string_view> looked;
  const auto names = [](const EventStream& stream, auto is_named) {
    return std::ranges::any_of(stream.callers, is_named);
  };
  const auto is_packaged = [](const Caller& caller) { return !caller.package.empty(); };
  const auto is_workspace = [](const Caller& caller) { return caller.workspace; };
  if (sides.recorded.settings && sides.virtual_run.settings) looked.emplace_back("the allocator's settings");
  if (names(sides.recorded, is_workspace) || names(sides.virtual_run, is_workspace)) looked.emplace_back("workspaces");
  if (names(sides.recorded, is_packaged) || names(sides.virtual_run, is_packaged)) looked.emplace_back("packages");
  if (!sides.recorded.library_lines.empty() && !sides.virtual_run.library_lines.empty()) {
    looked.emplace_back("their versions");
  }
  looked.emplace_back("one ratio of sizes");
  looked.emplace_back("an early end");
  if (sides.recorded.has_places && sides.virtual_run.has_places) looked.emplace_back("the order of addresses");
  return looked;
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
  const bool differs = !all_same || !sides.same_sums || !sides.same_live;
  if (reasons.empty() && differs) {
    reasons.push_back({CheckCause::kNotKnown,
                       fmt::format("not known; looked at, and no explanation: {}", fmt::join(looked_at(sides), ", "))});
  }
  return reasons;
}

}  // namespace vramfit::compare
