#include "report/run_json.h"

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "report/json_members.h"
#include "report/json_parts.h"
#include "report/modules_json.h"
#include "report/runtime_evidence_json.h"
#include "report/schemas.h"

namespace vramfit::report {

using nlohmann::ordered_json;

namespace {

ordered_json device_json(const model::RunResult& result, const model::DeviceResult& device) {
  const model::CardFigures figures = figures_of(result, device);
  ordered_json json = {{"name", device.name},
                       {"index", device.index},
                       {"total_bytes", or_null(figures.total)},
                       {"occupied_bytes", device.occupied.count()},
                       {"context_bytes", or_null(figures.context)},
                       {"context_uncertainty_bytes", device.context_uncertainty.count()},
                       {"library_bytes", or_null(figures.libraries)}};
  json.update(peaks_json(figures));
  json["allocation_retries"] = device.retries;
  if (device.needs) {
    json["needs_bytes"] = device.needs->bytes.count();
    json["needs_without_retry_bytes"] =
        device.needs->without_retry ? ordered_json(device.needs->without_retry->count()) : ordered_json(nullptr);
    json["needs_resolution_bytes"] = device.needs->resolution.count();
    json["needs_runs"] = device.needs->runs;
  }
  return json;
}

ordered_json phase_json(const model::PhaseResult& phase) {
  ordered_json json = {{"name", phase.name}, {"device", phase.device}, {"steps", phase.steps}};
  json.update(peaks_json(phase.peaks));
  return json;
}

ordered_json stack_json(const std::vector<model::StackFrame>& stack) {
  ordered_json frames = ordered_json::array();
  for (const model::StackFrame& frame : stack) {
    frames.push_back({{"file", frame.file}, {"line", frame.line}, {"function", frame.function}, {"code", frame.code}});
  }
  return frames;
}

ordered_json oom_json(const model::Oom& oom) {
  ordered_json json = {{"tried_bytes", oom.tried.count()},
                       {"message", oom.message},
                       {"phase", or_null(oom.phase)},
                       {"caught", oom.caught},
                       {"stack", stack_json(oom.stack)}};
  if (oom.loading) {
    json["loading"] = {{"how", oom.loading->how},
                       {"root", oom.loading->root},
                       {"module", or_null(oom.loading->module)},
                       {"on_card_bytes", oom.loading->on_card.count()},
                       {"to_come_bytes", nullptr}};
    if (oom.loading->to_come) json["loading"]["to_come_bytes"] = oom.loading->to_come->count();
  }
  return json;
}

ordered_json error_json(const model::ScriptError& error) {
  ordered_json json = {{"type", error.type}, {"message", error.message}, {"stack", stack_json(error.stack)}};
  if (!error.remedy.empty()) json["remedy"] = error.remedy;
  return json;
}

ordered_json remarks_json(const std::vector<model::Remark>& remarks) {
  ordered_json list = ordered_json::array();
  for (const model::Remark& remark : remarks) list.push_back({{"text", remark.text}, {"count", remark.count}});
  return list;
}

// A JSON list of what `convert` makes of each element.
ordered_json owner_json(const model::OwnerRow& row) {
  return {{"owner", row.owner},         {"name", or_null(row.name)}, {"device", row.device},
          {"bytes", row.bytes.count()}, {"blocks", row.blocks},      {"line", or_null(row.line)}};
}

ordered_json line_json(const model::LineRow& row) {
  return {{"line", row.line}, {"device", row.device}, {"bytes", row.bytes.count()}, {"blocks", row.blocks}};
}

ordered_json dependence_json(const model::DataDependence& read) {
  return {{"what", read.what}, {"line", or_null(read.line)}, {"count", read.count}};
}

ordered_json point_json(const model::TimelinePoint& point) {
  return {{"at_ns", point.at_ns},
          {"device", point.device},
          {"phase", point.phase},
          {"allocated_bytes", point.allocated.count()},
          {"reserved_bytes", point.reserved.count()},
          {"used_bytes", point.used ? ordered_json(point.used->count()) : ordered_json(nullptr)},
          {"mark", or_null(point.mark)}};
}

ordered_json framework_json(const model::FrameworkMemory& memory) {
  return {{"name", memory.name},
          {"version", or_null(memory.version)},
          {"device", memory.device},
          {"peak_bytes", memory.peak.count()},
          {"pool_bytes", memory.pool ? ordered_json(memory.pool->count()) : ordered_json(nullptr)}};
}

ordered_json server_json(const model::ServerMemory& memory) {
  const auto bytes_or_null = [](const auto& bytes) {
    return bytes ? ordered_json(bytes->count()) : ordered_json(nullptr);
  };
  return {{"name", memory.name},
          {"version", or_null(memory.version)},
          {"device", memory.device},
          {"weights_bytes", bytes_or_null(memory.weights)},
          {"activation_bytes", bytes_or_null(memory.activations)},
          {"outside_bytes", bytes_or_null(memory.outside)},
          {"graph_bytes", bytes_or_null(memory.graphs)},
          {"kv_cache_bytes", bytes_or_null(memory.kv_cache)},
          {"kv_tokens", memory.kv_tokens ? ordered_json(*memory.kv_tokens) : ordered_json(nullptr)}};
}

ordered_json files_json(const model::FilesResult& files) {
  ordered_json json = {{"mode", files.is_private ? "private" : "shared"}, {"mechanism", or_null(files.mechanism)}};
  if (files.is_private) {
    json["created"] = files.created;
    json["changed"] = files.changed;
    json["removed"] = files.removed;
    json["written_bytes"] = files.written.count();
    json["held_bytes"] = files.held.count();
    json["full"] = files.is_full;
    json["entries"] = list_json(files.entries, [](const model::FileEntry& entry) -> ordered_json {
      return {{"path", entry.path}, {"change", to_string(entry.change)}, {"bytes", entry.bytes.count()}};
    });
    json["read_only"] = files.read_only;
    json["kept"] = or_null(files.kept);
  }
  json["network"] = files.network;
  json["network_attempts"] = files.network_attempts;
  return json;
}

ordered_json reach_json(const model::Reach& reach) {
  const auto looked = [](const model::LookedAt& at) -> ordered_json {
    return {{"loader", at.loader},
            {"samples", at.samples},
            {"of", at.of ? ordered_json(*at.of) : ordered_json(nullptr)},
            {"differ", at.differ}};
  };
  return {{"whole", reach.whole},
          {"watched", reach.watched},
          {"batches", reach.batches},
          {"steps", reach.steps},
          {"peak_at_batch", reach.peak_at},
          {"seconds", reach.seconds},
          {"lines_run_share", reach.lines_run ? ordered_json(*reach.lines_run) : ordered_json(nullptr)},
          {"looked_at", list_json(reach.looked, looked)}};
}

ordered_json unreached_json(const model::Unreached& lines) {
  return {{"file", lines.file}, {"line", lines.line}, {"last_line", lines.last_line}, {"place", lines.place},
          {"code", lines.code}, {"when", lines.when}, {"card", to_string(lines.card)}};
}

// The words for the verdicts that say that it fits; null for others.
ordered_json words_json(const model::RunResult& result) {
  const bool ran = result.verdict == model::Verdict::kFits || result.verdict == model::Verdict::kBorderline;
  if (!ran || (result.oom && !result.oom->caught)) return nullptr;
  return words_for_fits(result.reach);
}

ordered_json loss_json(const model::DataLoss& loss) {
  const model::LossDescription& kind = describe(loss.kind);
  return {{"kind", kind.key},
          {"severity", to_string(kind.weight)},
          {"text", sentence_of(loss)},
          {"detail", or_null(loss.detail)},
          {"count", loss.count}};
}

}  // namespace

ordered_json run_json(const model::RunResult& result, std::string_view version) {
  ordered_json json = {{"schema", kRunSchema},
                       {"vramfit", version},
                       {"verdict", to_string(result.verdict)},
                       {"verdict_words", words_json(result)},
                       {"reason", or_null(result.reason)},
                       {"exit_code", result.exit_code},
                       {"timed_out", result.timed_out},
                       {"interrupted", result.interrupted},
                       {"torch", or_null(result.torch)},
                       {"cuda", or_null(result.cuda)},
                       {"python", or_null(result.python)},
                       {"wall_seconds", result.wall_seconds},
                       {"host_peak_bytes", result.host_peak.count()},
                       {"processes", result.processes}};
  json["estimated_step_seconds"] = result.estimated_step ? ordered_json({{"seconds", result.estimated_step->seconds},
                                                                         {"low", result.estimated_step->low},
                                                                         {"high", result.estimated_step->high},
                                                                         {"source", "model"}})
                                                         : ordered_json(nullptr);
  json["margin_bytes"] = result.margin ? ordered_json(result.margin->count()) : ordered_json(nullptr);
  json["peak_device"] = result.peak_device;
  json["peak_phase"] = or_null(result.peak_phase);
  json["devices"] =
      list_json(result.devices, [&](const model::DeviceResult& device) { return device_json(result, device); });
  json["phases"] = list_json(result.phases, phase_json);
  json["owners_at_peak"] = list_json(result.owners_at_peak, owner_json);
  json["lines_at_peak"] = list_json(result.lines_at_peak, line_json);
  json["frameworks"] = list_json(result.frameworks, framework_json);
  json["servers"] = list_json(result.servers, server_json);
  json["oom"] = result.oom ? oom_json(*result.oom) : ordered_json(nullptr);
  json["error"] = result.error ? error_json(*result.error) : ordered_json(nullptr);
  json["reach"] = reach_json(result.reach);
  json["unreached"] = list_json(result.reach.unreached, unreached_json);
  json["open"] = result.reach.open;
  json["cuts"] = result.cuts;
  json["plan_applied"] = result.plan_applied;
  json["plan_refused"] = result.plan_refused;
  json["plan_promised"] = result.plan_promised;
  json["depends_on_data"] = list_json(result.depends_on_data, dependence_json);
  json["not_modelled"] = remarks_json(result.not_modelled);
  json["assumed"] = remarks_json(result.assumed);
  json["measured"] = result.measured;
  json["untested"] = result.untested;
  json["warnings"] = remarks_json(result.warnings);
  json["losses"] = list_json(result.losses, loss_json);
  json["files"] = result.files ? files_json(*result.files) : ordered_json(nullptr);
  json["timeline"] = list_json(result.timeline, point_json);
  if (result.modules) json.update(modules_to_json(*result.modules));
  json["evidence"] = evidence_to_json(result.evidence);
  return json;
}

std::string run_to_json(const model::RunResult& result, std::string_view version) {
  return base::json_file(run_json(result, version));
}

}  // namespace vramfit::report
