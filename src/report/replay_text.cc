#include "report/replay_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "report/layout.h"

namespace vramfit::report {

namespace {

using model::ReplayResult;
using model::ReplayTrial;

constexpr std::size_t kShownTrials = 10;
constexpr std::size_t kShownOwners = 6;

// The words of the table for a setting: "split 128" for max_split_size_mb:128.
std::string short_name(const ReplayTrial& trial) {
  constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"expandable_segments:True", "expandable"},   {"max_split_size_mb:", "split "},
      {"max_non_split_rounding_mb:", "rounding "},  {"large_segment_size_mb:", "segment "},
      {"roundup_power2_divisions:", "divisions "},  {"garbage_collection_threshold:", "collect "},
      {"per_process_memory_fraction:", "fraction "}};
  std::string text = trial.settings.empty() ? "defaults" : trial.settings;
  for (const auto& [key, word] : kWords) {
    if (const auto at = text.find(key); at != std::string::npos) text.replace(at, key.size(), word);
  }
  for (std::size_t at = text.find(','); at != std::string::npos; at = text.find(',', at + 2)) text.insert(at + 1, " ");
  return trial.is_own ? text + " (own)" : text;
}

std::string quoted(const ReplayTrial& trial) {
  return trial.settings.empty() ? "PyTorch's default settings" : trial.settings;
}

std::string doubt(const ReplayResult& result) {
  if (!result.damage.empty()) return "the file is damaged, and what it lacks may need more";
  const model::ReplayProof& proof = result.proof;
  return fmt::format("the replay agrees with {} of {} segments and {} of {} blocks only", proof.same_segments,
                     proof.segments, proof.same_blocks, proof.blocks);
}

std::string verdict_of(const ReplayResult& result, const ReplayTrial& trial) {
  if (!result.capacity) {
    return fmt::format(
        "[?] {} reserved at the most with {}; name a card (--gpu) or a size (--capacity) to hear "
        "whether that fits",
        to_string(trial.peak_reserved), quoted(trial));
  }
  if (trial.fits) {
    std::string text = fmt::format("{} fits with {}", result.is_certain() ? "[✓]" : "[?]", quoted(trial));
    if (!result.is_certain()) text += fmt::format(" as far as the replay goes: {}", doubt(result));
    if (trial.needs)
      text +=
          fmt::format("{} {} to spare", result.is_certain() ? ":" : ";", to_string(*result.capacity - *trial.needs));
    return text;
  }
  std::string text = fmt::format("[✗] does not fit with {}", quoted(trial));
  if (trial.needs) text += fmt::format(": {} short", to_string(*trial.needs - *result.capacity));
  return text;
}

std::string recording(const ReplayResult& result) {
  std::string text = "\nRecording\n";
  text += indented_line(fmt::format("{} events on device {}, {} reserved at the most", result.events, result.device,
                                    to_string(result.recorded_peak)));
  text +=
      indented_line("settings: " + (result.own.settings.empty() ? std::string("the defaults") : result.own.settings));
  const model::ReplayProof& proof = result.proof;
  if (proof.is_same) {
    text += indented_line(
        fmt::format("proof: replayed by the rules of torch {}, all {} segments and {} blocks in use lie where "
                    "they were recorded",
                    result.torch, proof.segments, proof.blocks));
  } else {
    text += indented_line(
        fmt::format("not proven: replayed by the rules of torch {}, {} of {} segments and {} of {} blocks in "
                    "use lie where they were recorded ({} reserved at the end, {} recorded); what follows is "
                    "that much less certain",
                    result.torch, proof.same_segments, proof.segments, proof.same_blocks, proof.blocks,
                    to_string(proof.replayed_reserved), to_string(proof.recorded_reserved)));
  }
  if (!result.untested.empty()) text += indented_line(result.untested);
  if (result.seeded_blocks > 0) {
    text += indented_line(
        fmt::format("the recording began late: {} blocks ({}) were there already; under other settings they "
                    "are put back first, in order of address",
                    result.seeded_blocks, to_string(result.seeded)));
  }
  if (!result.damage.empty()) text += indented_line("the file is damaged: " + result.damage);
  text += indented_line("may be reserved: " + (result.capacity
                                                   ? to_string(*result.capacity) + " (" + result.capacity_source + ")"
                                                   : result.capacity_source));
  return text;
}

std::vector<std::string> row(const ReplayResult& result, const ReplayTrial& trial) {
  const std::string fits = !result.capacity ? "" : trial.fits ? "yes" : "no";
  return {short_name(trial),
          fits,
          trial.needs ? to_string(*trial.needs) : "",
          to_string(trial.peak_reserved),
          std::to_string(trial.driver_allocations + trial.driver_frees),
          std::to_string(trial.retries)};
}

std::string trials(const ReplayResult& result, bool verbose) {
  std::vector<const ReplayTrial*> shown;
  if (result.search.empty()) {
    shown.push_back(&result.own);
    if (result.asked) shown.push_back(&*result.asked);
  }
  const std::size_t most = verbose ? result.search.size() : std::min(kShownTrials, result.search.size());
  for (std::size_t i = 0; i < most; ++i) shown.push_back(&result.search[i]);
  const auto has_own = [](const ReplayTrial* trial) { return trial->is_own; };
  if (!result.search.empty() && std::none_of(shown.begin(), shown.end(), has_own)) shown.push_back(&result.own);
  std::vector<std::vector<std::string>> rows = {{"settings", "fits", "needs", "reserved", "calls", "flushes"}};
  for (const ReplayTrial* trial : shown) rows.push_back(row(result, *trial));
  std::string text = "\nReplays\n";
  text += table({{Align::kLeft, 34}, {}, {Align::kRight}, {Align::kRight}, {Align::kRight}, {Align::kRight}}, rows);
  if (result.search.size() > most)
    text += indented_line(fmt::format("… and {} more; -v shows all", result.search.size() - most));
  text += indented_line(
      "needs: the least that must be reservable. calls: to the driver, to get and give back memory. flushes: "
      "the whole cache given back and all streams waited for.");
  if (!result.search.empty()) {
    text += indented_line("the best in full: PYTORCH_CUDA_ALLOC_CONF=" + result.search.front().settings);
  }
  if (result.needs_are_unknown) text += indented_line("The recording is too long to find out what each settings need.");
  return text;
}

std::string oom(const ReplayTrial& trial) {
  if (!trial.oom) return "";
  std::string text = "\nWhere it runs out\n";
  const model::ReplayOom& one = *trial.oom;
  text +=
      indented_line(fmt::format("{} for {}: {} in use, {} reserved", to_string(one.tried),
                                one.requested.count() > 0 ? "a request of " + to_string(one.requested) : "a request",
                                to_string(one.allocated), to_string(one.reserved)));
  if (!one.where.empty()) text += indented_line(fmt::format("event {}, {}", one.entry, one.where));
  return text;
}

std::string fragmentation(const model::Fragmentation& from) {
  if (from.reserved.count() == 0) return "";
  std::string text = fmt::format("\nMemory {}\n", from.is_at_oom ? "when it runs out" : "when the most was reserved");
  text += indented_line(fmt::format("{} reserved: {} in use, {} free", to_string(from.reserved), to_string(from.live),
                                    to_string(from.free)));
  text += indented_line(
      fmt::format("of the free: {} empty_cache() can give back, {} lie between live blocks{}; the largest "
                  "hole is {}",
                  to_string(from.returnable), to_string(from.pinned),
                  from.in_pools.count() > 0 ? ", " + to_string(from.in_pools) + " in private pools" : "",
                  to_string(from.largest_hole)));
  if (from.pinned.count() == 0 || from.owners.empty()) return text;
  std::vector<std::vector<std::string>> rows = {{"holes held alone", "with others", "own bytes", "blocks", "by"}};
  for (std::size_t i = 0; i < std::min(kShownOwners, from.owners.size()); ++i) {
    const model::ReplayOwner& one = from.owners[i];
    rows.push_back({to_string(one.pinned_alone), to_string(one.pinned_shared), to_string(one.live),
                    std::to_string(one.blocks), one.where});
  }
  text += "\nWhose blocks hold the holes\n";
  text += table({{Align::kRight}, {Align::kRight}, {Align::kRight}, {Align::kRight}, {Align::kLeft, 34}}, rows);
  const model::ReplayOwner& first = from.owners.front();
  if (first.pinned_alone.count() > 0) {
    text += indented_line(fmt::format("Freeing the {} {} of {} would release {}.", to_string(first.live),
                                      first.blocks == 1 ? "block" : "in blocks", first.where,
                                      to_string(first.pinned_alone)));
  }
  return text;
}

}  // namespace

std::string replay_to_text(const ReplayResult& result, bool verbose) {
  const ReplayTrial& judged = result.asked ? *result.asked : result.own;
  std::string text = wrap(verdict_of(result, judged), kPageWidth, 4) + "\n";
  if (!result.search.empty() && result.capacity) {
    const ReplayTrial& best = result.search.front();
    if (best.fits && !judged.fits) text += wrap(verdict_of(result, best), kPageWidth, 4) + "\n";
    if (!best.fits) text += wrap("[✗] no settings that were tried make it fit", kPageWidth, 4) + "\n";
  }
  return text + recording(result) + trials(result, verbose) + oom(judged) + fragmentation(result.fragmentation);
}

}  // namespace vramfit::report
