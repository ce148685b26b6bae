#include "report/doctor_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "report/json_parts.h"
#include "report/schemas.h"

namespace vramfit::report {

using nlohmann::ordered_json;

namespace {

ordered_json evidence_json(const model::EvidenceItem& item) {
  return {{"file", or_null(item.file)},
          {"line", item.line > 0 ? ordered_json(item.line) : ordered_json(nullptr)},
          {"text", or_null(item.text)},
          {"reasoning", item.reasoning}};
}

ordered_json fix_json(const model::Fix& fix) {
  return {{"what", fix.what},
          {"command", or_null(fix.command)},
          {"saves_bytes", fix.saves ? ordered_json(fix.saves->count()) : ordered_json(nullptr)},
          {"time_cost", or_null(fix.time_cost)},
          {"applicability", to_string(fix.applicability)}};
}

ordered_json finding_json(const model::Finding& finding) {
  ordered_json json = {{"code", finding.code},
                       {"label", finding.label},
                       {"title", finding.title},
                       {"severity", to_string(finding.severity)},
                       {"confidence", std::round(finding.confidence * 1000) / 1000},
                       {"evidence", ordered_json::array()},
                       {"would_confirm", finding.would_confirm},
                       {"fixes", ordered_json::array()},
                       {"not_advised", ordered_json::array()}};
  for (const auto& item : finding.evidence) json["evidence"].push_back(evidence_json(item));
  for (const auto& fix : finding.fixes) json["fixes"].push_back(fix_json(fix));
  for (const auto& left : finding.withheld) json["not_advised"].push_back({{"what", left.what}, {"why", left.why}});
  return json;
}

ordered_json check_json(const model::Check& check) {
  return {{"group", check.group}, {"state", to_string(check.state)}, {"text", check.text}, {"codes", check.codes}};
}

ordered_json failed_at_json(const std::optional<model::FailedAt>& at) {
  if (!at) return nullptr;
  return {{"file", at->file},
          {"line", at->line > 0 ? ordered_json(at->line) : ordered_json(nullptr)},
          {"function", or_null(at->function)},
          {"code", or_null(at->code)}};
}

ordered_json fact_json(const model::Fact& fact) {
  ordered_json json = {{"name", fact.name}};
  if (fact.bytes) {
    json["bytes"] = fact.bytes->value.count();
    json["low_bytes"] = fact.bytes->low.count();
    json["high_bytes"] = fact.bytes->high.count();
  }
  if (fact.number) json["number"] = *fact.number;
  json["file"] = or_null(fact.at.file);
  json["line"] = fact.at.line > 0 ? ordered_json(fact.at.line) : ordered_json(nullptr);
  return json;
}

ordered_json outside_pytorch_json(const model::OutsidePyTorch& outside) {
  const auto bytes = [](const std::optional<model::PrintedBytes>& size, model::Bytes model::PrintedBytes::*which) {
    return size ? ordered_json((*size.*which).count()) : ordered_json(nullptr);
  };
  return {{"file", outside.file},
          {"line", outside.line > 0 ? ordered_json(outside.line) : ordered_json(nullptr)},
          {"process_bytes", outside.process.value.count()},
          {"reserved_bytes", outside.reserved.value.count()},
          {"held_bytes", bytes(outside.held, &model::PrintedBytes::value)},
          {"low_bytes", bytes(outside.held, &model::PrintedBytes::low)},
          {"high_bytes", bytes(outside.held, &model::PrintedBytes::high)},
          {"cards", outside.cards},
          {"text", outside.text}};
}

std::string_view sarif_level(model::Severity severity) {
  switch (severity) {
    case model::Severity::kError:
      return "error";
    case model::Severity::kWarning:
      return "warning";
    default:
      return "note";
  }
}

ordered_json sarif_location(const model::EvidenceItem& item) {
  ordered_json location = {{"physicalLocation", {{"artifactLocation", {{"uri", item.file}}}}}};
  if (item.line > 0) location["physicalLocation"]["region"] = {{"startLine", item.line}};
  location["message"] = {{"text", item.reasoning}};
  return location;
}

ordered_json sarif_result(const model::Finding& finding) {
  std::string message = finding.title + ".";
  for (const auto& item : finding.evidence) message += "\n" + item.reasoning;
  for (const auto& fix : finding.fixes)
    message += "\nFix: " + fix.what + (fix.command.empty() ? "" : ": " + fix.command);
  ordered_json result = {{"ruleId", finding.code},
                         {"level", sarif_level(finding.severity)},
                         {"message", {{"text", message}}},
                         {"locations", ordered_json::array()},
                         {"rank", std::round(finding.confidence * 1000) / 10},
                         {"properties", {{"label", finding.label}, {"confidence", finding.confidence}}}};
  for (const auto& item : finding.evidence) {
    if (!item.file.empty() && item.line > 0 && result["locations"].size() < 10) {
      result["locations"].push_back(sarif_location(item));
    }
  }
  return result;
}

ordered_json page_json(const model::CausePage& page) {
  return {{"code", page.code},       {"label", page.label}, {"title", page.title},
          {"decides", page.decides}, {"what", page.what},   {"cure", page.cure}};
}

}  // namespace

std::string diagnosis_to_json(const model::Diagnosis& diagnosis, std::string_view version) {
  ordered_json json = {{"schema", kDoctorSchema},           {"vramfit", version},
                       {"trouble", diagnosis.trouble},      {"other_failure", diagnosis.other_failure},
                       {"verdict", diagnosis.verdict},      {"failed_at", failed_at_json(diagnosis.failed_at)},
                       {"findings", ordered_json::array()}, {"checks", ordered_json::array()},
                       {"would_tell_more", diagnosis.give}, {"read", diagnosis.read},
                       {"warnings", diagnosis.warnings},    {"context_and_libraries", ordered_json::array()},
                       {"facts", ordered_json::array()}};
  for (const auto& finding : diagnosis.findings) json["findings"].push_back(finding_json(finding));
  for (const auto& check : diagnosis.checks) json["checks"].push_back(check_json(check));
  for (const auto& outside : diagnosis.outside_pytorch)
    json["context_and_libraries"].push_back(outside_pytorch_json(outside));
  for (const auto& fact : diagnosis.facts) json["facts"].push_back(fact_json(fact));
  return base::json_file(json);
}

std::string diagnosis_to_sarif(const model::Diagnosis& diagnosis, const std::vector<model::CausePage>& pages,
                               std::string_view version) {
  ordered_json rules = ordered_json::array(), results = ordered_json::array();
  for (const auto& page : pages) {
    rules.push_back({{"id", page.code},
                     {"name", page.label},
                     {"shortDescription", {{"text", page.title}}},
                     {"fullDescription", {{"text", page.what}}},
                     {"help", {{"text", page.cure}}}});
  }
  for (const auto& finding : diagnosis.findings) results.push_back(sarif_result(finding));
  ordered_json driver = {{"name", "vramfit"}, {"version", version}, {"rules", rules}};
  ordered_json run = {{"tool", {{"driver", driver}}}, {"results", results}};
  return base::json_file(ordered_json{{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                                      {"version", "2.1.0"},
                                      {"runs", ordered_json::array({run})}});
}

std::string causes_to_json(const std::vector<model::CausePage>& pages, std::string_view version) {
  ordered_json json = {{"schema", kCausesSchema}, {"vramfit", version}, {"causes", ordered_json::array()}};
  for (const auto& page : pages) json["causes"].push_back(page_json(page));
  return base::json_file(json);
}

}  // namespace vramfit::report
