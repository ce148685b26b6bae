#include "ingest/stored_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "ingest/stored_fields.h"
#include "ingest/stored_modules.h"

namespace vramfit::ingest {

using base::Bytes;
using nlohmann::json;

namespace {

Bytes bytes(const json& object, const char* key) { return Bytes(whole_or(object, key, std::int64_t{0})); }

// A verdict or standing by its word in the file.
template <class Enum, std::size_t N>
Enum named(const std::string& word, const std::array<Enum, N>& all) {
  for (const Enum value : all) {
    if (to_string(value) == word) return value;
  }
  throw json::other_error::create(600, "unknown word: " + word, nullptr);
}

template <class Read>
auto rows(const json& object, const char* key, Read read) {
  std::vector<decltype(read(object))> list;
  if (const auto found = object.find(key); found != object.end()) {
    for (const json& row : *found) list.push_back(read(row));
  }
  return list;
}

model::Peaks read_peaks(const json& row) {
  return {bytes(row, "peak_allocated_bytes"), bytes(row, "peak_reserved_bytes"), bytes(row, "peak_device_bytes")};
}

model::DeviceResult read_device(const json& row) {
  model::DeviceResult device;
  device.name = text(row, "name");
  device.index = whole_or(row, "index", 0);
  device.total = bytes(row, "total_bytes");
  device.occupied = bytes(row, "occupied_bytes");
  device.context = bytes(row, "context_bytes");
  device.context_uncertainty = bytes(row, "context_uncertainty_bytes");
  device.libraries = bytes(row, "library_bytes");
  device.peaks = read_peaks(row);
  device.retries = whole_or(row, "allocation_retries", std::int64_t{0});
  return device;
}

model::PhaseResult read_phase(const json& row) {
  return {text(row, "name"), whole_or(row, "device", 0), read_peaks(row), whole_or(row, "steps", std::int64_t{0})};
}

model::OwnerRow read_owner(const json& row) {
  return {text(row, "owner"),         text(row, "name"),   text(row, "line"),
          whole_or(row, "device", 0), bytes(row, "bytes"), whole_or(row, "blocks", std::int64_t{0})};
}

model::LineRow read_line(const json& row) {
  return {text(row, "line"), whole_or(row, "device", 0), bytes(row, "bytes"), whole_or(row, "blocks", std::int64_t{0})};
}

model::TimelinePoint read_point(const json& row) {
  model::TimelinePoint point{.at_ns = whole_or(row, "at_ns", std::int64_t{0}),
                             .device = whole_or(row, "device", 0),
                             .phase = text(row, "phase"),
                             .allocated = bytes(row, "allocated_bytes"),
                             .reserved = bytes(row, "reserved_bytes"),
                             .mark = text(row, "mark")};
  if (const auto used = row.find("used_bytes"); used != row.end() && !used->is_null()) {
    point.used = Bytes(whole<std::int64_t>(*used));
  }
  return point;
}

model::StackFrame read_frame(const json& row) {
  return {text(row, "file"), whole_or(row, "line", 0), text(row, "function"), text(row, "code")};
}

model::Remark read_remark(const json& row) { return {text(row, "text"), row.value("count", std::int64_t{1})}; }

// A kind that a later version knows is kept with its words.
model::DataLoss read_loss(const json& row) {
  const auto* kind = model::find_loss(text(row, "kind"));
  if (kind == nullptr)
    return {model::LossKind::kNoteKindUnknown, row.value("count", std::int64_t{1}), text(row, "text")};
  return {kind->kind, row.value("count", std::int64_t{1}), text(row, "detail")};
}

model::DataDependence read_dependence(const json& row) {
  return {text(row, "what"), text(row, "line"), row.value("count", std::int64_t{1})};
}

std::string read_word(const json& row) { return row.get<std::string>(); }

void read_failure(const json& file, model::RunResult& result) {
  if (const auto oom = file.find("oom"); oom != file.end() && !oom->is_null()) {
    result.oom = model::Oom{bytes(*oom, "tried_bytes"), text(*oom, "message"), text(*oom, "phase"),
                            oom->value("caught", false), rows(*oom, "stack", read_frame)};
    if (const auto loading = oom->find("loading"); loading != oom->end()) {
      result.oom->loading = model::LoadingFacts{text(*loading, "how"),
                                                text(*loading, "root"),
                                                text(*loading, "module"),
                                                bytes(*loading, "on_card_bytes"),
                                                {}};
      if (const auto left = loading->find("to_come_bytes"); left != loading->end() && left->is_number()) {
        result.oom->loading->to_come = Bytes(whole<std::int64_t>(*left));
      }
    }
  }
  if (const auto error = file.find("error"); error != file.end() && !error->is_null()) {
    result.error = model::ScriptError{.type = text(*error, "type"),
                                      .message = text(*error, "message"),
                                      .stack = rows(*error, "stack", read_frame),
                                      .remedy = text(*error, "remedy")};
  }
}

model::UsesCard read_uses_card(const json& row) {
  constexpr auto& kWords = model::notes::kUsesCardWords;
  const auto found = std::ranges::find(kWords, text(row, "card"));
  return found == kWords.end() ? model::UsesCard::kUnknown : static_cast<model::UsesCard>(found - kWords.begin());
}

model::Unreached read_unreached(const json& row) {
  return {text(row, "file"),  whole_or(row, "line", 0), whole_or(row, "last_line", 0),
          text(row, "place"), text(row, "code"),        text(row, "when"),
          read_uses_card(row)};
}

// Results of versions that did not say are taken as they were meant: what fits, fits.
void read_reach(const json& file, model::Reach& reach) {
  const auto written = file.find("reach");
  reach.whole = written == file.end() || written->value("whole", false);
  if (written == file.end()) return;
  reach.watched = written->value("watched", false);
  reach.batches = written->value("batches", std::int64_t{0});
  reach.steps = written->value("steps", std::int64_t{0});
  reach.peak_at = written->value("peak_at_batch", std::int64_t{0});
  reach.seconds = written->value("seconds", 0.0);
  if (const auto share = written->find("lines_run_share"); share != written->end() && share->is_number()) {
    reach.lines_run = share->get<double>();
  }
  reach.looked = rows(*written, "looked_at", [](const json& row) {
    const auto of = row.find("of");
    const bool is_known = of != row.end() && of->is_number();
    return model::LookedAt{whole_or(row, "loader", 0), whole_or(row, "samples", std::int64_t{0}),
                           is_known ? std::optional(whole<std::int64_t>(*of)) : std::nullopt,
                           row.value("differ", false)};
  });
  reach.unreached = rows(file, "unreached", read_unreached);
  reach.open = rows(file, "open", read_word);
}

model::RunResult read_run(const json& file) {
  using model::Verdict;
  model::RunResult result;
  result.verdict = named(text(file, "verdict"), std::array{Verdict::kFits, Verdict::kBorderline, Verdict::kOutOfMemory,
                                                           Verdict::kFailed, Verdict::kNoCard});
  result.reason = text(file, "reason");
  result.exit_code = whole_or(file, "exit_code", 0);
  result.timed_out = file.value("timed_out", false);
  result.interrupted = file.value("interrupted", false);
  result.torch = text(file, "torch");
  result.cuda = text(file, "cuda");
  result.python = text(file, "python");
  result.wall_seconds = file.value("wall_seconds", 0.0);
  result.host_peak = bytes(file, "host_peak_bytes");
  result.peak_device = whole_or(file, "peak_device", 0);
  result.peak_phase = text(file, "peak_phase");
  result.devices = rows(file, "devices", read_device);
  result.phases = rows(file, "phases", read_phase);
  result.owners_at_peak = rows(file, "owners_at_peak", read_owner);
  result.lines_at_peak = rows(file, "lines_at_peak", read_line);
  read_failure(file, result);
  read_reach(file, result.reach);
  result.cuts = rows(file, "cuts", read_word);
  result.plan_applied = rows(file, "plan_applied", read_word);
  result.plan_refused = rows(file, "plan_refused", read_word);
  result.depends_on_data = rows(file, "depends_on_data", read_dependence);
  result.not_modelled = rows(file, "not_modelled", read_remark);
  result.assumed = rows(file, "assumed", read_remark);
  result.measured = rows(file, "measured", read_word);
  result.untested = rows(file, "untested", read_word);
  result.warnings = rows(file, "warnings", read_remark);
  result.losses = rows(file, "losses", read_loss);
  result.timeline = rows(file, "timeline", read_point);
  result.modules = read_modules(file);
  return result;
}

model::Equivalence read_equivalence(const json& row) {
  using model::Sameness;
  model::Equivalence equivalence;
  equivalence.sameness = named(
      text(row, "class"), std::array{Sameness::kNotChecked, Sameness::kEqual, Sameness::kRounding, Sameness::kPrecision,
                                     Sameness::kStatistics, Sameness::kOther, Sameness::kNotANumber});
  equivalence.text = text(row, "text");
  equivalence.steps = whole_or(row, "steps", 0);
  equivalence.checked = row.value("checked", false);
  return equivalence;
}

model::PlanRow read_plan(const json& row) {
  using model::PlanStanding;
  model::PlanRow plan;
  plan.plan.name = text(row, "name");
  plan.standing =
      named(text(row, "standing"), std::array{PlanStanding::kFits, PlanStanding::kBorderline, PlanStanding::kDoesNotFit,
                                              PlanStanding::kRefused, PlanStanding::kBroke, PlanStanding::kTimedOut,
                                              PlanStanding::kTrainsElse, PlanStanding::kNotRun});
  const json& predicted = row.at("predicted");
  plan.predicted = bytes(predicted, "needs_bytes");
  plan.predicted_peak = predicted.contains("peak_bytes") ? bytes(predicted, "peak_bytes") : plan.predicted;
  plan.predicted_error = predicted.value("error", 0.0);  // older results have none
  if (plan.predicted_error > 0) {
    plan.predicted_low = bytes(predicted, "low_bytes");
    plan.predicted_high = bytes(predicted, "high_bytes");
  }
  plan.predicted_by = text(predicted, "by");
  if (const auto proven = row.find("proven"); proven != row.end() && !proven->is_null()) {
    plan.proven = read_peaks(*proven);
    plan.retries = proven->value("allocation_retries", std::int64_t{0});
    plan.wall_seconds = proven->value("wall_seconds", 0.0);
  }
  plan.time_factor = row.at("time").value("factor", 1.0);
  plan.effect = text(row, "effect");
  plan.consequences = rows(row, "consequences", read_word);
  plan.reason = text(row, "reason");
  if (const auto known = row.find("equivalence"); known != row.end() && known->is_object()) {
    plan.equivalence = read_equivalence(*known);
  }
  return plan;
}

model::FitResult read_fit(const json& row) {
  using model::FitVerdict;
  model::FitResult fit;
  fit.verdict =
      named(text(row, "verdict"), std::array{FitVerdict::kFitsAlready, FitVerdict::kPlanFits, FitVerdict::kNothingFits,
                                             FitVerdict::kNeedsEdit, FitVerdict::kNotProven, FitVerdict::kOutOfTime,
                                             FitVerdict::kInterrupted, FitVerdict::kJobFailed});
  fit.reason = text(row, "reason");
  fit.card = text(row, "card");
  fit.card_index = whole_or(row, "card_index", 0);
  fit.cards = whole_or(row, "cards", 1);
  fit.limit = bytes(row, "limit_bytes");
  if (const auto cause = row.find("cause"); cause != row.end() && !cause->is_null()) {
    fit.cause = model::ScriptCause{
        .text = text(*cause, "text"), .line = text(*cause, "line"), .remedy = text(*cause, "remedy")};
  }
  fit.plans = rows(row, "plans", read_plan);
  fit.lost = rows(row, "lost", read_plan);
  fit.techniques = rows(row, "techniques", [](const json& technique) {
    return model::TechniqueRow{text(technique, "id"), text(technique, "standing"), text(technique, "reason")};
  });
  fit.cheapest_known = row.value("cheapest_known", false);
  fit.only_foreseen = row.value("only_foreseen", std::size_t{0});
  fit.plan_file = text(row, "plan_file");
  fit.prove_command = text(row, "prove_command");
  fit.train_command = text(row, "train_command");
  fit.seconds = row.value("seconds", 0.0);
  fit.budget_seconds = row.value("budget_seconds", 0.0);
  fit.runs = whole_or(row, "runs", 0);
  fit.candidates = row.value("candidates", std::size_t{0});
  fit.ruled_out = row.value("ruled_out", std::size_t{0});
  // Its sentence names the first plan and what was proven of it.
  if (fit.verdict == FitVerdict::kPlanFits && (fit.plans.empty() || !fit.plans.front().proven)) {
    throw json::other_error::create(600, "a plan fits, and none is proven", nullptr);
  }
  return fit;
}

}  // namespace

base::Result<StoredResult> read_stored_result(std::string_view written) {
  try {
    const json file = json::parse(written);
    StoredResult result{.run = read_run(file), .fit = std::nullopt};
    if (const auto fit = file.find("fit"); fit != file.end()) result.fit = read_fit(*fit);
    return result;
  } catch (const json::exception& problem) {
    return base::fail(base::ErrorCode::kCorrupt, fmt::format("this is no run's result: {}", problem.what()));
  }
}

}  // namespace vramfit::ingest
