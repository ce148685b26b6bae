#include "ingest/history_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "ingest/stored_fields.h"

namespace vramfit::ingest {
namespace {

using base::Bytes;
using base::ErrorCode;
using base::Result;
using model::StoredRun;
using nlohmann::json;

constexpr const char* kRemedy = "`vramfit runs --export FILE` writes such files";

model::Peaks read_row_peaks(const json& row) {
  return {Bytes(whole<std::int64_t>(row.at("peak_allocated_bytes"))),
          Bytes(whole<std::int64_t>(row.at("peak_reserved_bytes"))),
          Bytes(whole<std::int64_t>(row.at("peak_device_bytes")))};
}

model::CardFigures read_row_device(const json& row) {
  const auto bytes = [&](const char* key) {
    const json& value = row.at(key);
    return value.is_null() ? std::nullopt : std::optional(Bytes(whole<std::int64_t>(value)));
  };
  model::CardFigures device;
  device.index = whole<int>(row.at("index"));
  device.name = row.at("name").get<std::string>();
  device.total = bytes("total_bytes");
  device.context = bytes("context_bytes");
  device.libraries = bytes("library_bytes");
  device.retries = whole<std::int64_t>(row.at("allocation_retries"));
  device.allocated = bytes("peak_allocated_bytes");
  device.reserved = bytes("peak_reserved_bytes");
  device.device = bytes("peak_device_bytes");
  return device;
}

// Earlier versions wrote 0 for what nothing had measured: of a run none of whose cards was used all figures.
void forget_figures(std::vector<model::CardFigures>& cards) {
  for (model::CardFigures& card : cards) {
    card = {.name = std::move(card.name), .index = card.index, .total = card.total, .retries = card.retries};
  }
}

model::RunStart read_start(const json& run) {
  model::RunStart start;
  start.verb = run.at("verb").get<std::string>();
  start.command = run.at("command").get<std::vector<std::string>>();
  start.folder = run.at("folder").get<std::string>();
  start.script = run.at("script").get<std::string>();
  start.script_hash = run.at("script_hash").get<std::string>();
  const json& git = run.at("git");
  start.git = {git.at("commit").get<std::string>(), git.at("branch").get<std::string>(),
               git.at("has_changes").get<bool>()};
  start.host = run.at("host").get<std::string>();
  start.version = run.at("vramfit").get<std::string>();
  start.card = run.at("card").get<std::string>();
  start.plan = run.at("plan").get<std::string>();
  if (!run.at("parent").is_null()) start.parent = whole<std::int64_t>(run.at("parent"));
  return start;
}

model::RunEnd read_end(const json& run) {
  model::RunEnd end;
  end.verdict = run.at("verdict").get<std::string>();
  end.reason = run.at("reason").get<std::string>();
  end.exit_code = whole<int>(run.at("exit_code"));
  end.wall_seconds = run.at("wall_seconds").get<double>();
  end.torch = run.at("torch").get<std::string>();
  end.cuda = run.at("cuda").get<std::string>();
  end.python = run.at("python").get<std::string>();
  for (const json& row : run.at("devices")) end.devices.push_back(read_row_device(row));
  const auto is_used = [](const model::CardFigures& card) { return card.device && card.device->count() > 0; };
  if (std::ranges::none_of(end.devices, is_used)) forget_figures(end.devices);
  for (const json& row : run.at("phases")) {
    end.phases.push_back({.name = row.at("name").get<std::string>(),
                          .device = whole<int>(row.at("device")),
                          .peaks = read_row_peaks(row),
                          .steps = whole<std::int64_t>(row.at("steps"))});
  }
  for (const json& row : run.at("findings")) {
    end.findings.push_back(
        {row.at("code").get<std::string>(), row.at("label").get<std::string>(), row.at("text").get<std::string>()});
  }
  end.result = run.value("result", "");
  return end;
}

StoredRun read_stored_run(const json& run) {
  StoredRun stored;
  stored.number = whole<std::int64_t>(run.at("number"));
  stored.uuid = run.at("uuid").get<std::string>();
  const auto state = model::parse_run_state(run.at("state").get<std::string>());
  if (!state || stored.uuid.empty()) throw std::out_of_range("state or uuid");
  stored.state = *state;
  stored.started_ms = whole<std::int64_t>(run.at("started_ms"));
  if (!run.at("ended_ms").is_null()) stored.ended_ms = whole<std::int64_t>(run.at("ended_ms"));
  stored.tags = run.at("tags").get<std::vector<std::string>>();
  stored.note = run.at("note").get<std::string>();
  stored.start = read_start(run);
  stored.end = read_end(run);
  return stored;
}

}  // namespace

Result<std::vector<StoredRun>> parse_history(std::string_view text, const std::string& where) {
  const json file = json::parse(text, nullptr, false);
  if (!file.is_object() || !file.contains("runs") || !file["runs"].is_array()) {
    return base::fail(ErrorCode::kCorrupt, "this is no file of exported runs", where, kRemedy);
  }
  std::vector<StoredRun> runs;
  for (const json& run : file["runs"]) {
    try {
      runs.push_back(read_stored_run(run));
    } catch (const std::exception& problem) {  // a field that is missing or of another type: the library throws
      return base::fail(ErrorCode::kCorrupt, fmt::format("run {} of the file: {}", runs.size() + 1, problem.what()),
                        where, kRemedy);
    }
  }
  return runs;
}

}  // namespace vramfit::ingest
