#include "report/history_json.h"

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "report/json_parts.h"
#include "report/schemas.h"

namespace vramfit::report {

using model::StoredRun;
using nlohmann::ordered_json;

namespace {

ordered_json devices_json(const std::vector<model::CardFigures>& devices) {
  ordered_json list = ordered_json::array();
  for (const model::CardFigures& device : devices) {
    ordered_json row = {{"index", device.index},
                        {"name", device.name},
                        {"total_bytes", or_null(device.total)},
                        {"context_bytes", or_null(device.context)},
                        {"library_bytes", or_null(device.libraries)},
                        {"allocation_retries", device.retries}};
    row.update(peaks_json(device));
    list.push_back(std::move(row));
  }
  return list;
}

ordered_json phases_json(const std::vector<model::PhaseResult>& phases) {
  ordered_json list = ordered_json::array();
  for (const model::PhaseResult& phase : phases) {
    ordered_json row = {{"name", phase.name}, {"device", phase.device}, {"steps", phase.steps}};
    row.update(peaks_json(phase.peaks));
    list.push_back(std::move(row));
  }
  return list;
}

ordered_json findings_json(const std::vector<model::StoredFinding>& findings) {
  ordered_json list = ordered_json::array();
  for (const model::StoredFinding& finding : findings) {
    list.push_back({{"code", finding.code}, {"label", finding.label}, {"text", finding.text}});
  }
  return list;
}

ordered_json start_json(const model::RunStart& start) {
  return {{"verb", start.verb},
          {"command", start.command},
          {"folder", start.folder},
          {"script", start.script},
          {"script_hash", start.script_hash},
          {"git", {{"commit", start.git.commit}, {"branch", start.git.branch}, {"has_changes", start.git.has_changes}}},
          {"host", start.host},
          {"vramfit", start.version},
          {"card", start.card},
          {"plan", start.plan},
          {"parent", or_null(start.parent)}};
}

ordered_json run_json(const StoredRun& run) {
  ordered_json json = {{"number", run.number},
                       {"uuid", run.uuid},
                       {"state", to_string(run.state)},
                       {"started_ms", run.started_ms},
                       {"ended_ms", or_null(run.ended_ms)},
                       {"tags", run.tags},
                       {"note", run.note}};
  json.update(start_json(run.start));
  json.update({{"verdict", run.end.verdict},
               {"reason", run.end.reason},
               {"exit_code", run.end.exit_code},
               {"wall_seconds", run.end.wall_seconds},
               {"torch", run.end.torch},
               {"cuda", run.end.cuda},
               {"python", run.end.python},
               {"devices", devices_json(run.end.devices)},
               {"phases", phases_json(run.end.phases)},
               {"findings", findings_json(run.end.findings)}});
  // The result is a text here, so that what the verb wrote is kept to the byte.
  if (!run.end.result.empty()) json["result"] = run.end.result;
  return json;
}

// Words of commands and paths may hold bytes that are no UTF-8: they are replaced, never a reason to fail.
std::string dump(const ordered_json& json) { return base::json_file(json); }

}  // namespace

std::string history_to_json(const std::vector<StoredRun>& runs, std::string_view version) {
  ordered_json list = ordered_json::array();
  for (const StoredRun& run : runs) list.push_back(run_json(run));
  return dump({{"schema", kRunsSchema}, {"vramfit", version}, {"runs", std::move(list)}});
}

std::string comparison_to_json(const model::Comparison& comparison, std::string_view version) {
  ordered_json runs = ordered_json::array();
  for (const StoredRun& run : comparison.runs) runs.push_back(run_json(run));
  ordered_json differences = ordered_json::array();
  for (const model::Difference& difference : comparison.differences) {
    differences.push_back({{"what", difference.what}, {"values", difference.values}});
  }
  return dump({{"schema", kCompareSchema},
               {"vramfit", version},
               {"differences", std::move(differences)},
               {"runs", std::move(runs)}});
}

}  // namespace vramfit::report
