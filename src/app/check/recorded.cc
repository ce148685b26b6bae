#include "app/check/recorded.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <span>

#include "app/check/block_stream.h"
#include "app/check/snapshot_stream.h"
#include "ingest/kineto/reader.h"
#include "ingest/snapshot/reader.h"
#include "ingest/snapshot/trace_gap.h"

namespace vramfit::app {

namespace {

using base::Result;

// A file that does not begin like a pickle is no damaged snapshot, but something else.
base::Error explain(const base::Error& error, const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return error;  // a pipe is not opened again
  std::array<char, 512> head{};
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), head.size());
  const auto bytes = std::as_bytes(std::span(head)).first(static_cast<std::size_t>(file.gcount()));
  if (bytes.empty() || ingest::sniff_snapshot(bytes)) return error;
  return {base::ErrorCode::kUsage, "this is neither a memory snapshot (a pickle) nor a Kineto trace (JSON)",
          path.string(), "torch.cuda.memory._dump_snapshot(\"snapshot.pickle\") writes a snapshot"};
}

base::Error without_history(const model::Snapshot& snapshot, int device, const std::filesystem::path& path) {
  if (!snapshot.damage.empty()) {
    return {base::ErrorCode::kCorrupt,
            fmt::format("the file is cut off or damaged ({}): nothing of its history is left", snapshot.damage),
            path.string(), "copy it again from where it was written, and compare the sizes"};
  }
  if (const auto devices = devices_with_history(snapshot);
      !devices.empty() && std::ranges::find(devices, device) == devices.end()) {
    return {base::ErrorCode::kUsage, fmt::format("the recording tells nothing of device {}", device), path.string(),
            fmt::format("--device {}: of {} it has a history", fmt::join(devices, " or "),
                        devices.size() == 1 ? "this one" : "these")};
  }
  return {base::ErrorCode::kUsage,
          fmt::format("the snapshot holds no history of device {}, only what was allocated at its end", device),
          path.string(),
          "call torch.cuda.memory._record_memory_history() at the start of the script, before the model is made"};
}

Result<Recorded> read_snapshot_file(const std::filesystem::path& path, std::optional<int> device) {
  const auto snapshot = ingest::read_snapshot(path);
  if (!snapshot) return std::unexpected(explain(snapshot.error(), path));
  Recorded recorded;
  recorded.device = device.value_or(busiest_device(*snapshot));
  recorded.stream = stream_of(*snapshot, recorded.device);
  if (!snapshot->torch_at_least.empty()) recorded.torch = snapshot->torch_at_least + " or later";
  if (recorded.stream.events.empty()) return std::unexpected(without_history(*snapshot, recorded.device, path));
  recorded.damage = snapshot->damage;
  if (!recorded.damage.empty()) return recorded;  // what came before the history can't be told without its end
  if (!recorded.stream.from_start) {
    const auto gaps = ingest::find_trace_gaps(*snapshot);
    const auto index = static_cast<std::size_t>(recorded.device);
    const std::int64_t blocks = index < gaps.size() ? gaps[index].unseen_blocks : 0;
    recorded.notes.push_back(
        fmt::format("the recording does not reach back to the start of the process (began late, or max_entries was "
                    "too small): {} blocks that it ends with came before",
                    blocks));
  }
  return recorded;
}

Result<Recorded> read_trace(const std::filesystem::path& path, std::optional<int> device) {
  const auto trace = ingest::read_kineto(path);
  if (!trace) return std::unexpected(trace.error());
  Recorded recorded;
  recorded.format = RecordedFormat::kKineto;
  std::map<int, std::size_t> counts;
  for (const model::KinetoMemory& event : trace->memory) ++counts[event.device];
  recorded.device =
      device.value_or(std::ranges::max_element(counts, {}, [](const auto& count) { return count.second; })->first);
  recorded.stream = stream_of(*trace, recorded.device);
  for (const model::KinetoDevice& one : trace->devices) {
    if (one.id == recorded.device) recorded.card = one.name;
  }
  if (trace->is_cut) recorded.damage = "the trace ends too early";
  if (!trace->memory.front().allocated) {
    recorded.notes.push_back("this release's traces tell sizes, but neither addresses nor sums (torch 1.10 does)");
  }
  return recorded;
}

// A run folder, as `vramfit run --gpu real` and VRAMFIT_RUN_DIR leave it: of its processes the one that allocated most.
Result<Recorded> read_folder(const std::filesystem::path& path, std::optional<int> device) {
  const auto facts = facts::read_facts(path);
  if (!facts) return std::unexpected(facts.error());
  Recorded recorded;
  recorded.format = RecordedFormat::kRunFolder;
  recorded.device = device.value_or(0);
  for (const facts::BlockEvents& process : facts::block_events(**facts, recorded.device)) {
    auto stream = stream_of(process);
    if (stream.events.size() > recorded.stream.events.size()) recorded.stream = std::move(stream);
  }
  if (recorded.stream.events.empty()) {
    return base::fail(base::ErrorCode::kUsage, "the folder holds no recording of a card's memory", path.string(),
                      "name a memory snapshot, a Kineto trace or a run folder of vramfit");
  }
  return recorded;
}

}  // namespace

std::string_view name_of(RecordedFormat format) {
  switch (format) {
    case RecordedFormat::kSnapshot:
      return "memory snapshot";
    case RecordedFormat::kKineto:
      return "Kineto trace";
    case RecordedFormat::kRunFolder:
      break;
  }
  return "vramfit recording";
}

Result<Recorded> read_recorded(const std::filesystem::path& path, std::optional<int> device) {
  std::error_code ignored;
  auto recorded = std::filesystem::is_directory(path, ignored) ? read_folder(path, device)
                  : ingest::sniff_kineto(path)                 ? read_trace(path, device)
                                                               : read_snapshot_file(path, device);
  if (recorded && recorded->stream.events.empty()) {
    return base::fail(base::ErrorCode::kUsage,
                      fmt::format("the recording tells nothing of device {}", recorded->device), path.string(),
                      "--device with another number, or without");
  }
  return recorded;
}

}  // namespace vramfit::app
