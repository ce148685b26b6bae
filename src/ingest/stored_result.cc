#include "ingest/stored_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ingest/plan_changes.h"
#include "ingest/stored_evidence.h"
#include "ingest/stored_fields.h"
#include "ingest/stored_modules.h"
#include "ingest/stored_patch.h"

namespace vramfit::ingest {

using base::Bytes;
using nlohmann::json;

namespace {

// Figures that nothing measured are null; model::figures_of knows them by all of a run's cards having none.
Bytes bytes(const json& object, const char* key) { return Bytes(whole_if_known(object, key).value_or(0)); }

// A verdict or standing by its word in the file.
template <class Enum, std::size_t N>
Enum named(const std::string& word, const std::array<Enum, N>& all) {
  for (const Enum value : all) {
    if (to_string(value) == word) return value;
  }
  throw json::other_error::create(600, "unknown word: " + word, nullptr);
}

// None for null, and for a field that the file's version did not have yet.
template <class Value>
std::optional<Value> maybe_whole(const json& row, const char* key) {
  const auto found = row.find(key);
  return found == row.end() || found->is_null() ? std::nullopt : std::optional<Value>(whole<std::int64_t>(*found));
}

// `otherwise` for null too: JSON has neither infinity nor what is no number.
double number_or(const json& row, const char* key, double otherwise) {
  const auto found = row.find(key);
  return found == row.end() || found->is_null() ? otherwise : found->get<double>();
}

// The object by that name; null where there is none.
const json* object_in(const json& row, const char* key) {
  const auto found = row.find(key);
  return found == row.end() || found->is_null() ? nullptr : &*found;
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
  if (row.contains("needs_bytes")) {
    device.needs = model::Needs{.bytes = bytes(row, "needs_bytes"),
                                .without_retry = maybe_whole<Bytes>(row, "needs_without_retry_bytes"),
                                .resolution = bytes(row, "needs_resolution_bytes"),
                                .runs = whole_or(row, "needs_runs", 0)};
  }
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

// The changes of a plan that was written as the plan file has it.
std::vector<model::Change> read_changes(const json& row) {
  const json* techniques = object_in(row, "techniques");
  if (techniques == nullptr) return {};
  auto changes = parse_changes(*techniques, "a plan of the result");
  if (!changes) throw json::other_error::create(600, base::to_string(changes.error()), nullptr);
  return std::move(*changes);
}

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

model::FrameworkMemory read_framework(const json& row) {
  return {text(row, "name"), text(row, "version"), whole_or(row, "device", 0), bytes(row, "peak_bytes"),
          maybe_whole<Bytes>(row, "pool_bytes")};
}

model::ServerMemory read_server(const json& row) {
  model::ServerMemory memory{.name = text(row, "name"), .version = text(row, "version")};
  memory.device = whole_or(row, "device", 0);
  memory.weights = maybe_whole<Bytes>(row, "weights_bytes");
  memory.activations = maybe_whole<Bytes>(row, "activation_bytes");
  memory.outside = maybe_whole<Bytes>(row, "outside_bytes");
  memory.graphs = maybe_whole<Bytes>(row, "graph_bytes");
  memory.kv_cache = maybe_whole<Bytes>(row, "kv_cache_bytes");
  memory.kv_tokens = maybe_whole<std::int64_t>(row, "kv_tokens");
  return memory;
}

model::FileEntry read_file_entry(const json& row) {
  using enum model::FileChange;
  return {text(row, "path"), named(text(row, "change"), std::array{kCreated, kChanged, kRemoved}), bytes(row, "bytes")};
}

model::FilesResult read_files(const json& row) {
  model::FilesResult files{.is_private = text(row, "mode") == "private", .mechanism = text(row, "mechanism")};
  files.created = whole_or(row, "created", std::int64_t{0});
  files.changed = whole_or(row, "changed", std::int64_t{0});
  files.removed = whole_or(row, "removed", std::int64_t{0});
  files.written = bytes(row, "written_bytes");
  files.held = bytes(row, "held_bytes");
  files.is_full = row.value("full", false);
  files.entries = rows(row, "entries", read_file_entry);
  files.read_only = rows(row, "read_only", read_word);
  files.kept = text(row, "kept");
  files.network = row.value("network", false);
  files.network_attempts = whole_or(row, "network_attempts", std::int64_t{0});
  return files;
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
  result.processes = whole_or(file, "processes", 0);
  result.margin = maybe_whole<Bytes>(file, "margin_bytes");
  if (const json* step = object_in(file, "estimated_step_seconds")) {
    result.estimated_step =
        model::StepTime{number_or(*step, "seconds", 0), number_or(*step, "low", 0), number_or(*step, "high", 0)};
  }
  result.peak_device = whole_or(file, "peak_device", 0);
  result.peak_phase = text(file, "peak_phase");
  result.devices = rows(file, "devices", read_device);
  result.phases = rows(file, "phases", read_phase);
  result.owners_at_peak = rows(file, "owners_at_peak", read_owner);
  result.lines_at_peak = rows(file, "lines_at_peak", read_line);
  result.frameworks = rows(file, "frameworks", read_framework);
  result.servers = rows(file, "servers", read_server);
  read_failure(file, result);
  read_reach(file, result.reach);
  result.cuts = rows(file, "cuts", read_word);
  result.plan_applied = rows(file, "plan_applied", read_word);
  result.plan_refused = rows(file, "plan_refused", read_word);
  result.plan_promised = rows(file, "plan_promised", read_word);
  result.depends_on_data = rows(file, "depends_on_data", read_dependence);
  result.not_modelled = rows(file, "not_modelled", read_remark);
  result.assumed = rows(file, "assumed", read_remark);
  result.measured = rows(file, "measured", read_word);
  result.untested = rows(file, "untested", read_word);
  result.warnings = rows(file, "warnings", read_remark);
  result.losses = rows(file, "losses", read_loss);
  if (const json* files = object_in(file, "files")) result.files = read_files(*files);
  result.timeline = rows(file, "timeline", read_point);
  result.evidence = read_run_evidence(file);
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
  equivalence.differences = rows(row, "differences", read_word);
  equivalence.effects = rows(row, "effects", read_word);
  equivalence.gradient_distance = number_or(row, "gradient_distance", 0.0);
  equivalence.update_distance = number_or(row, "update_distance", 0.0);
  return equivalence;
}

model::PlanRow read_plan(const json& row) {
  using model::PlanStanding;
  model::PlanRow plan;
  plan.plan.name = text(row, "name");
  plan.plan.changes = read_changes(row);
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
  const json& time = row.at("time");
  plan.time_factor = time.value("factor", 1.0);
  plan.time_low = number_or(time, "low", 1.0);
  plan.time_high = number_or(time, "high", 1.0);
  plan.is_tight = row.value("tight", false);
  plan.effect = text(row, "effect");
  plan.consequences = rows(row, "consequences", read_word);
  plan.reason = text(row, "reason");
  if (const auto known = row.find("equivalence"); known != row.end() && known->is_object()) {
    plan.equivalence = read_equivalence(*known);
  }
  plan.patch = read_stored_patch(row);
  return plan;
}

model::HardwareRow read_hardware(const json& row) {
  return {.key = text(row, "card"),
          .name = text(row, "name"),
          .count = whole_or(row, "count", 1),
          .with_plan = row.value("with_plan", false),
          .needs = bytes(row, "needs_bytes"),
          .memory = bytes(row, "memory_bytes"),
          .price = number_or(row, "price_factor", 0.0),
          .time_factor = number_or(row, "time_factor", 1.0),
          .time_low = number_or(row, "time_low", 1.0),
          .time_high = number_or(row, "time_high", 1.0),
          .proven = row.value("proven", false)};
}

model::Floor read_floor(const json& row) {
  model::Floor floor;
  floor.context = bytes(row, "context_bytes");
  floor.weights = bytes(row, "weights_bytes");
  floor.moved = bytes(row, "moved_bytes");
  floor.gradients = bytes(row, "gradients_bytes");
  floor.optimizer = bytes(row, "optimizer_bytes");
  floor.transient = bytes(row, "transient_bytes");
  floor.owner = text(row, "owner");
  floor.remedies = rows(row, "remedies", [](const json& remedy) {
    return model::FloorRemedy{text(remedy, "text"), bytes(remedy, "frees_bytes"), bytes(remedy, "leaves_bytes")};
  });
  floor.cards = rows(row, "cards", [](const json& cards) {
    return model::FloorCards{text(cards, "card"), whole_or(cards, "count", std::int64_t{0}),
                             bytes(cards, "each_bytes")};
  });
  return floor;
}

model::LargestBatch read_largest_batch(const json& row) {
  return {.size = whole_or(row, "size", std::int64_t{0}),
          .own = whole_or(row, "own", std::int64_t{0}),
          .is_exact = row.value("exact", false),
          .is_all_data = row.value("all_data", false)};
}

// What stands beside the plans: what takes an edit, other cards, what the training can't do without.
void read_beside_plans(const json& row, model::FitResult& fit) {
  fit.foreseen = rows(row, "foreseen", read_plan);
  fit.front = rows(row, "front", read_plan);
  fit.advice = rows(row, "advice", read_word);
  fit.hardware = rows(row, "hardware", read_hardware);
  if (const json* floor = object_in(row, "floor")) fit.floor = read_floor(*floor);
  if (const json* largest = object_in(row, "largest_batch")) fit.largest_batch = read_largest_batch(*largest);
  if (const json* free_run = object_in(row, "free_run")) fit.free_run = read_run(*free_run);
  fit.goal = model::find_goal(text(row, "goal")).value_or(model::FitGoal::kSameTraining);
  fit.was_interrupted = row.value("interrupted", false);
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
  read_beside_plans(row, fit);
  fit.plans = rows(row, "plans", read_plan);
  fit.lost = rows(row, "lost", read_plan);
  fit.techniques = rows(row, "techniques", [](const json& technique) {
    return model::TechniqueRow{text(technique, "id"), text(technique, "standing"), text(technique, "reason")};
  });
  fit.cheapest_known = row.value("cheapest_known", false);
  fit.only_foreseen = row.value("only_foreseen", std::size_t{0});
  fit.plan_file = text(row, "plan_file");
  fit.prove_command = text(row, "prove_command");
  fit.patch_command = text(row, "patch_command");
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
