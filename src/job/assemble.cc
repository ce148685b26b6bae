#include "job/assemble.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <utility>

#include "base/out_of_memory.h"
#include "devices/overhead.h"
#include "devices/time_model.h"
#include "facts/explanation.h"
#include "job/real_card.h"
#include "job/verdict.h"
#include "liveness/growth.h"
#include "model/number_text.h"
#include "model/owner_names.h"

namespace vramfit::job {

using base::Bytes;
using facts::CardFacts;
using model::DeviceResult;
using model::RunResult;

namespace {

DeviceResult describe_card(const FinishedRun& run, const CardFacts& facts) {
  if (!facts.accounted) return describe_real_card(facts);
  DeviceResult device;
  device.index = facts.device;
  device.peaks = facts.peaks;
  device.context = facts.context;
  device.libraries = facts.libraries;
  const model::EmulatedCard& card = run.cards[static_cast<std::size_t>(facts.device)];
  device.name = card.card.name;
  device.total = card.total;
  device.occupied = card.occupied;
  const Bytes contexts(card.context_uncertainty.count() * std::max(1, facts.contexts));
  device.context_uncertainty = devices::uncertainty_of(contexts, device.libraries);
  device.retries = facts.accounted->refused;
  return device;
}

// The card that ran out, or else the one with the least room.
int fullest_card(const std::vector<DeviceResult>& devices, const std::vector<CardFacts>& cards, bool ran_out) {
  const auto out =
      std::ranges::find_if(cards, [](const CardFacts& card) { return card.last_out_of_memory.has_value(); });
  if (ran_out && out != cards.end()) return out->device;
  const auto room = [](const DeviceResult& device) { return device.total - device.peaks.device; };
  const auto least = std::ranges::min_element(devices, {}, room);
  return least != devices.end() ? least->index : 0;
}

bool died_of_oom(const RunResult& result, const base::Ended& ended) {
  if (ended.exit_code == 0 || ended.timed_out || ended.interrupted) return false;
  if (result.oom) return true;
  // An exception that is not PyTorch's own may say that the card was full: a context or a library found no room.
  if (result.error) return base::says_out_of_memory(result.error->message);
  return result.evidence.oom.has_value();
}

// What the hooks said of the out-of-memory error, completed by the recorder's numbers. If they said nothing, it is made
// of the numbers alone.
void describe_oom(RunResult& result, bool died) {
  const std::optional<model::OomState>& recorded = result.evidence.oom;
  if (!result.oom && !recorded && !died) return;
  if (!result.oom) {
    result.oom.emplace();
    if (died && result.error) {
      result.oom->message = result.error->message;
      result.oom->stack = result.error->stack;
    }
  }
  if (recorded) {
    result.oom->tried = recorded->tried;
    if (result.oom->phase.empty()) result.oom->phase = recorded->phase;
  }
  result.oom->caught = !died;
}

// What each card held at the moment that matters, and for the fullest card the phase of that moment.
void take_explanation(facts::Explanation explanation, RunResult& result) {
  result.peak_phase = explanation.phases[result.peak_device];
  result.owners_at_peak = std::move(explanation.owners);
  result.lines_at_peak = std::move(explanation.lines);
  result.timeline = std::move(explanation.timeline);
  result.evidence = std::move(explanation.evidence);
}

Bytes cached_on(const RunResult& result, int device) {
  for (const model::OwnerRow& row : result.owners_at_peak) {
    if (row.device == device && row.owner == model::owner::kCached) return row.bytes;
  }
  return Bytes(0);
}

ExitEvidence gather_evidence(const RunResult& result, const FinishedRun& run, bool died) {
  ExitEvidence evidence;
  evidence.exit_zero = run.ended.exit_code == 0;
  evidence.killed = run.ended.shell_code() == 128 + SIGKILL;
  evidence.timed_out = run.ended.timed_out;
  evidence.interrupted = run.ended.interrupted && !run.answers_so_far;
  evidence.exit_zero |= run.ended.interrupted && run.answers_so_far;
  evidence.exit_zero |= run.ended.exit_code && !result.error && run.facts->told.counted_on;
  evidence.uncaught_oom = died;
  evidence.caught_oom = result.oom && !died;
  evidence.plan_refused = !result.plan_refused.empty();
  if (!result.losses.empty()) {
    const model::DataLoss& worst = result.losses.front();
    if (describe(worst.kind).weight == model::LossSeverity::kWrongAnswerPossible) evidence.loss = sentence_of(worst);
  }
  for (std::size_t i = 0; i < result.devices.size(); ++i) {
    const DeviceResult& device = result.devices[i];
    const std::optional<facts::AccountedUse>& accounted = run.facts->cards[i].accounted;
    if (device.peaks.device > device.occupied) evidence.reached_card = true;
    if (!accounted && device.peaks.reserved.count() > 0) evidence.reached_card = true;
    if (device.index != result.peak_device || device.total.count() == 0) continue;
    evidence.uncertainty = device.context_uncertainty;
    evidence.margin = device.total - device.peaks.device + cached_on(result, device.index);
    if (accounted) evidence.shortfall = accounted->shortfall;
  }
  return evidence;
}

// Times are worked out from the card's figures: on a virtual card, what was measured means nothing.
std::shared_ptr<const model::ModuleTable> describe_modules(const FinishedRun& run) {
  const auto seconds = [&](int device, model::Number number, double flops, double bytes) -> std::optional<double> {
    const auto index = static_cast<std::size_t>(device);
    if (device < 0 || index >= run.cards.size()) return std::nullopt;
    return devices::estimate_operator_seconds(run.cards[index].card, number, flops, bytes);
  };
  auto table = run.facts->module_table(seconds);
  return table ? std::make_shared<const model::ModuleTable>(std::move(*table)) : nullptr;
}

std::optional<model::StepTime> estimate_step(const FinishedRun& run, int device) {
  const auto index = static_cast<std::size_t>(device);
  if (device < 0 || index >= run.cards.size()) return std::nullopt;
  const model::StepWork& work = run.facts->work_on(device);
  if (work.operators == nullptr || total_macs(work) <= 0) return std::nullopt;
  const devices::Interval time =
      devices::interval_of_seconds(devices::estimate_step_seconds(run.cards[index].card, work));
  return model::StepTime{time.value, time.low, time.high};
}

// Growth of the training, or of a loop without steps.
bool is_told(const model::Growth& growth) {
  return (growth.phase == model::phase::kTrain || growth.unit == "pass") &&
         growth.steps >= liveness::kFewestStepsToWarn;
}

// The step at which the card would be full.
void judge_growth(RunResult& result) {
  for (model::Growth& growth : result.evidence.growth) {
    if (!is_told(growth)) continue;
    const auto device = std::ranges::find(result.devices, growth.device, &DeviceResult::index);
    if (device != result.devices.end() && device->total.count() > 0 && !result.oom) {
      growth.runs_out_at = find_end_on(growth, *device, device->total);
    }
  }
  tell_growth(result);
}

model::Reach describe_reach(const FinishedRun& run, const RunResult& result) {
  model::Reach reach = run.facts->reach;
  reach.whole &= !run.ended.interrupted && !run.ended.timed_out;
  for (const model::PhaseResult& phase : result.phases) {
    if (phase.name == model::phase::kTrain) reach.steps = std::max(reach.steps, phase.steps);
  }
  for (const model::Growth& growth : result.evidence.growth) {
    if (!reach.whole && growth.phase == model::phase::kTrain && growth.steps >= liveness::kFewestStepsToWarn) {
      reach.open.emplace_back(growth.begins_at ? "memory grew in late steps" : "memory was still growing");
      break;
    }
  }
  if (run.ended.interrupted) reach.open.emplace_back("it was interrupted");
  if (run.ended.exit_code.value_or(0) != 0 && !result.error && run.facts->told.counted_on) {
    reach.open.push_back(
        fmt::format("it ended with exit code {} after a loop of it was counted on", *run.ended.exit_code));
  }
  return reach;
}

void add_once(std::vector<std::string>& list, std::string text) {
  if (std::ranges::find(list, text) == list.end()) list.push_back(std::move(text));
}

// A job on a real card writes to the user's own files.
constexpr const char* kCutForReal =
    "the job was cut short on a real card: what it saved (checkpoints, logs) is of a training that did not run to its "
    "end";

void add_real_card(const CardFacts& card, RunResult& result) {
  if (card.accounted) return;
  if (std::string sentence = describe_measuring(card); !sentence.empty())
    result.measured.push_back(std::move(sentence));
  if (std::string sentence = describe_mixture(card); !sentence.empty()) result.warnings.push_back({sentence, 1});
}

// What the hooks said, in the words of the result.
void take_told(const facts::Told& told, RunResult& result) {
  for (const auto& [text, into] : {std::pair(&told.torch, &result.torch), std::pair(&told.cuda, &result.cuda),
                                   std::pair(&told.python, &result.python)}) {
    if (!text->empty()) *into = *text;
  }
  result.cuts = told.cuts;
  for (const auto& technique : told.plan_applied) add_once(result.plan_applied, technique.id + ": " + technique.text);
  for (const auto& technique : told.plan_effects) {
    add_once(result.plan_applied, technique.id + ", not as without it: " + technique.text);
  }
  for (const auto& technique : told.plan_refused) add_once(result.plan_refused, technique.id + ": " + technique.text);
  result.depends_on_data = told.depends_on_data;
  result.not_modelled = told.not_modelled;
  result.assumed.insert(result.assumed.end(), told.assumed.begin(), told.assumed.end());
  result.warnings = told.warnings;
  result.losses = told.losses;
  result.oom = told.oom;
  result.error = told.error;
  result.frameworks = told.frameworks;
  result.servers = told.servers;
}

}  // namespace

RunResult assemble(const FinishedRun& run) {
  const facts::RunFacts& facts = *run.facts;
  RunResult result;
  result.torch = run.torch;
  result.cuda = run.cuda;
  result.python = run.python;
  result.exit_code = run.ended.shell_code();
  result.timed_out = run.ended.timed_out;
  result.interrupted = run.ended.interrupted;
  result.wall_seconds = run.ended.wall_seconds;
  result.waited_seconds = run.ended.waited_seconds;
  result.host_peak = Bytes(run.ended.peak_resident_bytes);
  result.assumed = run.assumed;
  result.untested = run.untested;
  take_told(facts.told, result);
  result.evidence.oom = facts.evidence.oom;
  for (const CardFacts& card : facts.cards) {
    result.devices.push_back(describe_card(run, card));
    add_real_card(card, result);
    result.phases.insert(result.phases.end(), card.phases.begin(), card.phases.end());
  }
  if (run.cards.empty() && !result.cuts.empty()) result.warnings.push_back({kCutForReal, 1});
  for (const facts::Process& process : facts.processes) result.processes += process.has_recorded ? 1 : 0;

  const bool died = died_of_oom(result, run.ended);
  result.peak_device = fullest_card(result.devices, facts.cards, died);
  take_explanation(facts::explain(facts, died), result);
  describe_oom(result, died);
  result.modules = describe_modules(run);
  result.estimated_step = estimate_step(run, result.peak_device);
  result.reach = describe_reach(run, result);
  judge_growth(result);
  const ExitEvidence evidence = gather_evidence(result, run, died);
  const Judgement judgement = judge(evidence);
  result.verdict = judgement.verdict;
  result.reason = judgement.reason;
  const bool has_margin = result.verdict == model::Verdict::kFits || result.verdict == model::Verdict::kBorderline;
  if (has_margin && !died && evidence.margin) result.margin = evidence.margin;
  return result;
}

void tell_growth(RunResult& result) {
  std::vector<model::Remark> told;
  for (const model::Growth& growth : result.evidence.growth) {
    if (is_told(growth)) told.push_back({liveness::describe_growth(growth), 1, model::RemarkKind::kGrowth});
  }
  const auto old = std::ranges::find(result.warnings, model::RemarkKind::kGrowth, &model::Remark::kind);
  const auto place = old - result.warnings.begin();
  std::erase_if(result.warnings, [](const auto& warning) { return warning.kind == model::RemarkKind::kGrowth; });
  result.warnings.insert(result.warnings.begin() + place, told.begin(), told.end());
}

std::optional<std::int64_t> find_end_on(const model::Growth& growth, const DeviceResult& device, Bytes total) {
  // PyTorch gives back what it only caches before it fails.
  const Bytes cached = device.peaks.reserved - device.peaks.allocated;
  return liveness::find_end(growth, total - device.peaks.device + cached);
}

}  // namespace vramfit::job
