// Prints what the readers of pickles and snapshots read, for tests and measurements:
//   vramfit_snapshot_dump pickle FILE     every container once, by number: shared and cyclic references are seen
//   vramfit_snapshot_dump snapshot FILE   the snapshot, ids resolved
//   vramfit_snapshot_dump count FILE      how many of each there are, and what reading them took
// Exit 1: the reader refused the file; the error is on stderr.
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json_text.h"
#include "ingest/pickle/machine.h"
#include "ingest/pickle/numbers.h"
#include "ingest/snapshot/container.h"
#include "ingest/snapshot/reader.h"

namespace {

using namespace vramfit;
using ingest::pickle::Kind;
using ingest::pickle::Object;
using ingest::pickle::Value;
using nlohmann::json;

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

class PickleDump {
 public:
  explicit PickleDump(const ingest::pickle::Machine& machine) : machine_(machine) {}

  json dump(const Value& root) {
    json result;
    result["root"] = value(root);
    while (!pending_.empty()) {
      const std::uint32_t slot = pending_.back();
      pending_.pop_back();
      const Object& object = *machine_.heap().find(slot);
      json items = json::array();
      for (const Value& item : object.items) items.push_back(value(item));
      constexpr const char* kNames[] = {"list",   "tuple", "dict",       "set",      "frozenset",
                                        "global", "call",  "persistent", "extension"};
      result["objects"][std::to_string(slot)] = {{"kind", kNames[static_cast<int>(object.kind)]}, {"items", items}};
    }
    return result;
  }

 private:
  json value(const Value& value) {
    const auto text = [&] { return machine_.strings().text(value.text()); };
    switch (value.kind) {
      case Kind::kNone:
        return json::array({"none"});
      case Kind::kBool:
        return json::array({"bool", value.bits != 0});
      case Kind::kInt:
        return json::array({"int", std::to_string(value.number())});
      case Kind::kBigInt:
        return json::array({"int", ingest::pickle::to_hex(text())});
      case Kind::kFloat:
        return json::array({"float", fmt::format("{:016x}", value.bits)});
      case Kind::kString:
        return json::array({"str", hex(text())});
      case Kind::kBytes:
        return json::array({"bytes", hex(text())});
      case Kind::kByteArray:
        return json::array({"bytearray", hex(text())});
      default:
        break;
    }
    if (seen_.emplace(value.slot(), true).second) pending_.push_back(value.slot());
    return json::array({"ref", value.slot()});
  }

  const ingest::pickle::Machine& machine_;
  std::map<std::uint32_t, bool> seen_;
  std::vector<std::uint32_t> pending_;
};

json stack_json(const model::Snapshot& snapshot, model::StackId id) {
  json frames = json::array();
  for (const model::FrameId frame_id : snapshot.stack(id)) {
    const model::Frame& frame = snapshot.frame(frame_id);
    frames.push_back({snapshot.text(frame.file), frame.line, snapshot.text(frame.function)});
  }
  return frames;
}

json pool_json(const model::PoolId& pool) { return {pool.first, pool.second}; }

json segment_json(const model::Snapshot& snapshot, const model::Segment& segment) {
  json blocks = json::array();
  for (const model::Block& block : segment.blocks) {
    blocks.push_back({{"address", block.address},
                      {"size", block.size},
                      {"requested_size", block.requested_size},
                      {"state", model::block_state_name(block.state)},
                      {"history", block.history == 0 ? 0 : snapshot.histories[block.history - 1].size()},
                      {"frames", stack_json(snapshot, block.stack)}});
  }
  return {{"device", segment.device},
          {"address", segment.address},
          {"total_size", segment.total_size},
          {"allocated_size", segment.allocated_size},
          {"active_size", segment.active_size},
          {"requested_size", segment.requested_size},
          {"stream", segment.stream},
          {"segment_type", segment.is_large ? "large" : "small"},
          {"segment_pool_id", pool_json(segment.pool)},
          {"is_expandable", segment.is_expandable},
          {"frames", stack_json(snapshot, segment.stack)},
          {"blocks", blocks}};
}

json trace_json(const model::Snapshot& snapshot, const std::vector<model::TraceEntry>& trace) {
  json entries = json::array();
  for (const model::TraceEntry& entry : trace) {
    const model::TraceContext& context = snapshot.context(entry.context);
    entries.push_back({{"action", model::trace_action_name(entry.action)},
                       {"addr", entry.addr},
                       {"size", entry.size},
                       {"stream", entry.stream},
                       {"time_us", entry.time_us},
                       {"compile_context", snapshot.text(context.compile_context)},
                       {"user_metadata", snapshot.text(context.user_metadata)},
                       {"pool_id", context.pool ? pool_json(*context.pool) : json()},
                       {"frames", stack_json(snapshot, entry.stack)}});
  }
  return entries;
}

json about(const model::Snapshot& snapshot) {
  json result = {{"torch_at_least", snapshot.torch_at_least}, {"unknown", json::object()}, {"unread", json::object()}};
  for (const auto& [name, field] : snapshot.unknown) result["unknown"][name] = {field.count, field.examples};
  for (const auto& [name, unread] : snapshot.unread) result["unread"][name] = unread.count;
  if (snapshot.truncated_at) result["truncated_at"] = *snapshot.truncated_at;
  if (snapshot.truncated_at) result["damage"] = snapshot.damage;
  return result;
}

json snapshot_json(const model::Snapshot& snapshot) {
  json result = about(snapshot);
  for (const char* name : {"segments", "host_segments", "device_traces", "external_annotations"})
    result[name] = json::array();
  for (const auto& segment : snapshot.segments) result["segments"].push_back(segment_json(snapshot, segment));
  for (const auto& segment : snapshot.host_segments) result["host_segments"].push_back(segment_json(snapshot, segment));
  for (const auto& trace : snapshot.traces) result["device_traces"].push_back(trace_json(snapshot, trace));
  result["host_traces"] = trace_json(snapshot, snapshot.host_trace);
  for (const auto& annotation : snapshot.annotations) {
    result["external_annotations"].push_back({{"name", snapshot.text(annotation.name)},
                                              {"stage", annotation.is_start ? "START" : "END"},
                                              {"device", annotation.device},
                                              {"time_us", annotation.time_us}});
  }
  if (snapshot.settings) {
    json& settings = result["allocator_settings"] = json::object();
    for (const auto& [name, text] : snapshot.settings->raw) settings[name] = json::parse(text);
  }
  return result;
}

// The most memory this process ever had: of itself alone, unlike what wait4() says of a child.
std::int64_t peak_resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6)) * 1024;
  }
  return 0;
}

json count_json(const model::Snapshot& snapshot) {
  json result = about(snapshot);
  std::size_t entries = snapshot.host_trace.size(), blocks = 0;
  for (const auto& trace : snapshot.traces) entries += trace.size();
  for (const auto& segment : snapshot.segments) blocks += segment.blocks.size();
  result.update({{"segments", snapshot.segments.size()},
                 {"blocks", blocks},
                 {"trace_entries", entries},
                 {"frames", snapshot.frames.size()},
                 {"stacks", snapshot.stack_starts.size() - 2},
                 {"contexts", snapshot.contexts.size()},
                 {"strings", snapshot.strings.size()},
                 {"peak_resident_bytes", peak_resident_bytes()}});
  return result;
}

int refuse(const base::Error& error) {
  fmt::print(stderr, "{}\n", base::to_string(error));
  return 1;
}

int dump_pickle(const char* path) {
  auto storage = ingest::pickle::FileStorage::open(path);
  if (!storage) return refuse(storage.error());
  auto opened = ingest::snapshot::open_container(*storage);
  if (!opened) return refuse(opened.error());
  ingest::pickle::Input input(*opened->source);
  ingest::pickle::Folder folder;
  ingest::pickle::Machine machine(input, folder);
  const auto root = machine.run();
  if (!root) return refuse(root.error());
  fmt::print("{}\n", PickleDump(machine).dump(*root).dump());
  return 0;
}

int dump_snapshot(const char* path, bool is_count) {
  const auto snapshot = ingest::read_snapshot(path);
  if (!snapshot) return refuse(snapshot.error());
  const json result = is_count ? count_json(*snapshot) : snapshot_json(*snapshot);
  fmt::print("{}\n", base::json_line(result));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc == 3 ? argv[1] : "";
  if (mode == "pickle") return dump_pickle(argv[2]);
  if (mode == "snapshot" || mode == "count") return dump_snapshot(argv[2], mode == "count");
  fmt::print(stderr, "usage: vramfit_snapshot_dump pickle|snapshot|count FILE\n");
  return 2;
}
