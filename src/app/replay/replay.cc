#include "app/replay/replay.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <string_view>

#include "allocator/replay.h"
#include "allocator/search.h"
#include "app/replay/results.h"
#include "base/shell_word.h"
#include "devices/overhead.h"
#include "ingest/snapshot/reader.h"
#include "job/platforms.h"
#include "watch/recording.h"

namespace vramfit::app {

namespace {

using allocator::OwnRules;
using allocator::ReplayOptions;
using base::Bytes;

int first_traced(const model::Snapshot& snapshot) {
  for (std::size_t device = 0; device < snapshot.traces.size(); ++device) {
    if (!snapshot.traces[device].empty()) return static_cast<int>(device);
  }
  return 0;
}

// What PyTorch may reserve, and how that is known.
struct Capacity {
  std::optional<std::uint64_t> bytes;
  std::string source;
};

Capacity capacity_of(const ReplayRequest& request, const OwnRules& own) {
  if (request.capacity) {
    return {static_cast<std::uint64_t>(request.capacity->count()), "as given"};
  }
  if (request.card) {
    devices::OverheadOptions options;
    options.total = request.card->total;
    options.cuda_major = job::cuda_major_of_wheel(own.rules.version.major, own.rules.version.minor);
    const model::EmulatedCard card = devices::emulate(request.card->card, options);
    constexpr int kUsual = 2;  // cuBLAS and cuDNN
    const Bytes held = devices::total_of(devices::find_overhead(request.card->card, options), kUsual);
    const Bytes left = card.total - held;
    return {static_cast<std::uint64_t>(std::max<std::int64_t>(left.count(), 0)),
            fmt::format("{} with {}, less {} for its context and libraries", card.card.name, to_string(card.total),
                        to_string(held))};
  }
  if (own.program.capacity) return {own.program.capacity, "reserved and free when the recording ran out of memory"};
  return {std::nullopt, "no OOM in the recording and no card named: memory without end"};
}

base::Result<allocator::Settings> asked_settings(const ReplayRequest& request, const OwnRules& own) {
  return allocator::parse_settings(fmt::format("{}", fmt::join(request.settings, ",")), own.rules, own.settings);
}

void search(const OwnRules& own, const ReplayOptions& options, const model::Snapshot& snapshot,
            base::ProgressSink& progress, model::ReplayResult& result) {
  const auto grid = allocator::settings_grid(own.settings, own.rules);
  const auto trials = allocator::search_settings(own.program, options, grid, {}, [&](std::size_t i, std::size_t all) {
    progress.update(fmt::format("replaying under other settings: {} of {}", i + 1, all));
  });
  for (const allocator::SettingsTrial& trial : trials) {
    result.search.push_back(to_model(snapshot, result.device, trial.settings, trial.run, trial.needs));
    result.search.back().is_own = trial.settings == own.settings;
    result.needs_are_unknown |= !trial.needs && options.capacity;
  }
}

// What can't be read as a snapshot is a damaged one, or none: it begins as pickles and packed files do, or not.
base::Error explain(base::Error error, const std::filesystem::path& file) {
  if (error.code != base::ErrorCode::kCorrupt) return error;
  std::string head(16, '\0');
  std::ifstream(file, std::ios::binary).read(head.data(), static_cast<std::streamsize>(head.size()));
  if (watch::sniff_watch_recording(head)) {
    return {base::ErrorCode::kUsage, "this is a recording of `vramfit watch`, not a snapshot", file.string(),
            fmt::format("vramfit watch --replay {}", base::quote_for_shell(file.string()))};
  }
  const bool begins_as_one = head.starts_with('\x80') || head.starts_with("\x1f\x8b") || head.starts_with("PK");
  error.what =
      fmt::format("{}: {}", begins_as_one ? "the snapshot is damaged" : "this is no memory snapshot", error.what);
  return error;
}

}  // namespace

base::Result<model::ReplayResult> replay(const ReplayRequest& request, base::ProgressSink& progress) {
  progress.update("reading " + request.file.filename().string());
  const auto snapshot = ingest::read_snapshot(request.file);
  if (!snapshot) return std::unexpected(explain(snapshot.error(), request.file));
  return replay(*snapshot, request, progress);
}

base::Result<model::ReplayResult> replay(const model::Snapshot& snapshot, const ReplayRequest& request,
                                         base::ProgressSink& progress) {
  std::optional<allocator::TorchVersion> version;
  if (request.torch) {
    const auto parsed = allocator::parse_torch_version(*request.torch);
    if (!parsed) return std::unexpected(parsed.error());
    version = *parsed;
  }
  model::ReplayResult result;
  result.file = request.file.string();
  result.device = request.device.value_or(first_traced(snapshot));
  result.damage = snapshot.damage;
  progress.update("replaying the recording under its own settings");
  const auto own = allocator::find_own_rules(snapshot, result.device, version);
  if (!own && !snapshot.damage.empty()) {
    return base::fail(base::ErrorCode::kCorrupt,
                      fmt::format("the snapshot is damaged ({}): {}", snapshot.damage, own.error().what), result.file,
                      "copy it anew, or record another");
  }
  if (!own) return std::unexpected(own.error());
  if (!own->settings.is_native) {
    return base::fail(base::ErrorCode::kUnsupported, "the recording used the cudaMallocAsync backend", {},
                      "only PyTorch's native allocator can be replayed");
  }
  result.torch = fmt::format("{}.{}", own->rules.version.major, own->rules.version.minor);
  result.untested = job::describe_later_torch(own->rules.version.major, own->rules.version.minor);
  result.events = static_cast<std::int64_t>(snapshot.traces[static_cast<std::size_t>(result.device)].size());
  result.seeded_blocks = own->program.seeded_blocks;
  result.seeded = Bytes(own->program.seeded_bytes);
  result.unmatched_entries = own->program.unmatched_entries;
  result.recorded_peak = Bytes(static_cast<std::int64_t>(own->program.recorded_peak));
  result.proof = to_model(own->proof);

  const Capacity capacity = capacity_of(request, *own);
  if (capacity.bytes) result.capacity = Bytes(static_cast<std::int64_t>(*capacity.bytes));
  result.capacity_source = capacity.source;
  ReplayOptions options;
  options.rules = own->rules;
  options.settings = own->settings;
  options.capacity = capacity.bytes;
  options.is_exact = !request.card && !request.capacity;
  options.keeps_worst_state = request.settings.empty();
  const auto needs = [&] {
    return capacity.bytes ? std::optional(allocator::find_least_capacity(own->program, options)) : std::nullopt;
  };
  const allocator::ReplayRun as_it_was = allocator::replay(own->program, options);
  options.is_exact = false;
  result.own = to_model(snapshot, result.device, own->settings, as_it_was, needs());
  result.own.is_own = true;
  if (request.settings.empty()) {
    result.fragmentation = to_model(snapshot, own->program, as_it_was, own->settings);
  } else {
    const auto asked = asked_settings(request, *own);
    if (!asked) return std::unexpected(asked.error());
    options.settings = *asked;
    options.keeps_worst_state = true;
    const allocator::ReplayRun run = allocator::replay(own->program, options);
    result.asked = to_model(snapshot, result.device, *asked, run, needs());
    result.fragmentation = to_model(snapshot, own->program, run, *asked);
  }
  options.keeps_worst_state = false;
  if (request.search) search(*own, options, snapshot, progress, result);
  progress.clear();
  return result;
}

}  // namespace vramfit::app
