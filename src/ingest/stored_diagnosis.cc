#include "ingest/stored_diagnosis.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ingest/stored_fields.h"

namespace vramfit::ingest {

using model::Applicability;
using model::CheckState;
using model::Severity;
using nlohmann::json;

namespace {

std::vector<std::string> texts(const json& row, const char* key) { return row.at(key).get<std::vector<std::string>>(); }

template <class Enum, std::size_t N>
Enum named(const json& row, const char* key, const std::array<Enum, N>& all) {
  const std::string word = text(row, key);
  for (const Enum value : all) {
    if (to_string(value) == word) return value;
  }
  throw json::other_error::create(600, "unknown word: " + word, nullptr);
}

model::EvidenceItem read_evidence(const json& row) {
  return {.file = required_text(row, "file"),
          .line = row.at("line").is_null() ? 0 : whole<std::int64_t>(row.at("line")),
          .text = required_text(row, "text"),
          .reasoning = required_text(row, "reasoning")};
}

model::Fix read_fix(const json& row) {
  model::Fix fix{.what = required_text(row, "what"),
                 .command = required_text(row, "command"),
                 .saves = std::nullopt,
                 .time_cost = {}};
  if (!row.at("saves_bytes").is_null()) fix.saves = base::Bytes(whole<std::int64_t>(row.at("saves_bytes")));
  fix.time_cost = required_text(row, "time_cost");
  fix.applicability =
      named(row, "applicability", std::array{Applicability::kAsIs, Applicability::kMayBeWrong, Applicability::kFillIn});
  return fix;
}

model::Finding read_finding(const json& row) {
  model::Finding finding;
  finding.code = required_text(row, "code");
  finding.label = required_text(row, "label");
  finding.title = required_text(row, "title");
  finding.severity =
      named(row, "severity", std::array{Severity::kError, Severity::kWarning, Severity::kHelp, Severity::kNote});
  finding.confidence = row.at("confidence").get<double>();
  for (const json& item : row.at("evidence")) finding.evidence.push_back(read_evidence(item));
  finding.would_confirm = texts(row, "would_confirm");
  for (const json& fix : row.at("fixes")) finding.fixes.push_back(read_fix(fix));
  for (const json& left : row.at("not_advised")) {
    finding.withheld.push_back({.what = required_text(left, "what"), .why = required_text(left, "why")});
  }
  return finding;
}

model::FailedAt read_failed_at(const json& row) {
  return {.file = required_text(row, "file"),
          .line = row.at("line").is_null() ? 0 : whole<int>(row.at("line")),
          .function = required_text(row, "function"),
          .code = required_text(row, "code")};
}

model::Check read_check(const json& row) {
  return {.group = required_text(row, "group"),
          .state = named(row, "state",
                         std::array{CheckState::kPass, CheckState::kFail, CheckState::kNotApplicable,
                                    CheckState::kUnknown, CheckState::kError}),
          .text = required_text(row, "text"),
          .codes = texts(row, "codes")};
}

model::OutsidePyTorch read_outside_pytorch(const json& row) {
  const auto bytes = [&](const char* key) { return base::Bytes(whole<std::int64_t>(row.at(key))); };
  model::OutsidePyTorch outside{.file = required_text(row, "file"),
                                .line = row.at("line").is_null() ? 0 : whole<std::int64_t>(row.at("line")),
                                .process = model::exactly(bytes("process_bytes")),
                                .reserved = model::exactly(bytes("reserved_bytes")),
                                .held = std::nullopt,
                                .cards = texts(row, "cards"),
                                .text = required_text(row, "text")};
  if (!row.at("held_bytes").is_null()) {
    outside.held = model::PrintedBytes{bytes("held_bytes"), bytes("low_bytes"), bytes("high_bytes")};
  }
  return outside;
}

}  // namespace

base::Result<model::Diagnosis> read_stored_diagnosis(std::string_view written) {
  try {
    const json file = json::parse(written);
    model::Diagnosis diagnosis;
    diagnosis.trouble = file.at("trouble").get<bool>();
    diagnosis.other_failure = file.value("other_failure", false);
    diagnosis.verdict = required_text(file, "verdict");
    if (const json at = file.value("failed_at", json()); !at.is_null()) diagnosis.failed_at = read_failed_at(at);
    for (const json& row : file.at("findings")) diagnosis.findings.push_back(read_finding(row));
    for (const json& row : file.at("checks")) diagnosis.checks.push_back(read_check(row));
    // Diagnoses that were stored before there were any have none.
    for (const json& row : file.value("context_and_libraries", json::array()))
      diagnosis.outside_pytorch.push_back(read_outside_pytorch(row));
    diagnosis.give = texts(file, "would_tell_more");
    diagnosis.read = texts(file, "read");
    diagnosis.warnings = texts(file, "warnings");
    return diagnosis;
  } catch (const json::exception& problem) {
    return base::fail(base::ErrorCode::kCorrupt, fmt::format("this is no diagnosis: {}", problem.what()));
  }
}

}  // namespace vramfit::ingest
